// What waits, and what becomes of an answer: the state behind every view.
// Rule: the server's word about a prompt always wins over ours; new prompts are added below, never above, and
// nothing is taken away while a finger is on the glass.

import { call, get, NoLine, part } from "./api";
import { touched } from "./calm";
import { Feed, type LineState, type WatchRequest } from "./feed";
import { empty, type Filled } from "./form";
import { answers, forgetAll, forgetAnswer, keepAnswer, whenForgotten, type KeptAnswer } from "./kept";
import type { AnswerReply, AnswerRequest, DeviceView, LiveNews, Page, PromptStory, PromptView, SessionView } from "./types";
import { line } from "./visible";
import { agentName, bounce, DONE, fate, project, sentence, standing } from "./words";

export interface Mine {
  request: AnswerRequest;
  label: string;
  /** `sending`: no reply yet. `waiting`: there is no line. `told`: the server has it. */
  stage: "sending" | "waiting" | "told";
}

export interface Note {
  text: string;
  tone: "good" | "bad" | "late";
}

export class Card {
  prompt: PromptStory | PromptView = $state.raw()!;
  mine: Mine | null = $state.raw(null);
  note: Note | null = $state.raw(null);
  /** One line instead of a card: there is nothing to decide any more. */
  slim = $state(false);
  /** What was typed and picked so far; it survives a look elsewhere. */
  filled: Filled = $state(empty());
  edited: string | null = $state(null);
  doneAt = 0;

  constructor(prompt: PromptStory | PromptView) {
    this.prompt = prompt;
  }

  get open(): boolean {
    return this.prompt.state === "open";
  }

  /** May a button be pressed right now? */
  get free(): boolean {
    return this.open && this.prompt.held && this.mine === null;
  }
}

// Long enough to see the tick, short enough to be gone before one looks again.
const LINGER = 150;
// Somebody else's answer is worth a moment longer.
const ELSEWHERE = 15_000;
const SAID_FOR = 6_000;
const RETRY = 3_000;

class Inbox {
  cards: Card[] = $state.raw([]);
  sessions: SessionView[] = $state.raw([]);
  line: LineState = $state("connecting");
  why = $state("");
  me = $state("");
  /** The last thing that happened, in a line; also read out by a screen reader. */
  said: Note | null = $state.raw(null);
  loaded = $state(false);
  /** Nothing is decided by rule now; null until it is known. */
  paused: boolean | null = $state(null);
  /** Goes up whenever the record of what was answered may have become another. */
  moves = $state(0);
  /** Sessions that go by another id since this page was opened. */
  renamed: Record<string, string> = $state.raw({});
  /** Answers from before the app was closed, whose prompts have not been heard of yet. */
  orphans: KeptAnswer[] = $state.raw(answers());
  private saidAt = 0;
  private added: (page: Page, session: string) => void = () => undefined;
  private retry = 0;
  private readonly feed = new Feed({
    snapshot: () => this.snapshot(),
    news: (message) => this.news(message),
    line: (state, why) => this.lineIs(state, why),
    brake: (paused) => (this.paused = paused ?? false),
  });

  constructor() {
    setInterval(() => this.settle(), 100);
    whenForgotten((id) => this.forgotten(id));
  }

  get waiting(): Card[] {
    return this.cards.filter((card) => card.open && card.mine === null);
  }

  start(): void {
    this.line = "connecting";
    this.feed.start();
    // On a slow line the feed takes a while to open: what waits is shown as soon as it is known.
    void this.snapshot(true).catch(() => undefined);
  }

  find(id: string): Card | undefined {
    return this.cards.find((card) => card.prompt.id === id);
  }

  say(text: string, tone: Note["tone"]): void {
    this.said = { text, tone };
    this.saidAt = Date.now();
  }

  unpair(why: string): void {
    this.feed.stop();
    forgetAll();
    this.orphans = [];
    this.cards = [];
    this.sessions = [];
    this.loaded = false;
    this.paused = null;
    this.why = why;
    this.line = "unpaired";
  }

  // -- what the server tells

  /** The lists as they are now. `early`: only if nothing better was heard meanwhile. */
  private async snapshot(early = false): Promise<void> {
    const [prompts, sessions, devices] = await Promise.all([
      get<PromptView[]>("/api/prompts"),
      get<SessionView[]>("/api/sessions"),
      get<DeviceView[]>("/api/devices"),
    ]);
    if (!prompts.ok || !sessions.ok) throw new NoLine("no lists");
    if (early && (this.loaded || this.line === "unpaired")) return;
    this.sessions = sessions.data;
    if (devices.ok) this.me = devices.data.find((device) => device.current)?.name ?? "";
    const there = new Set(prompts.data.map((prompt) => prompt.id));
    // What is gone and holds no answer of ours is gone; the rest is asked about one by one, here or in `flush`.
    this.cards = this.cards.filter((card) => there.has(card.prompt.id) || card.mine !== null);
    const pauses = (prompt: PromptView): number => Number(prompt.kind === "ready" || prompt.kind === "problem");
    const fresh = [...prompts.data].sort((a, b) => pauses(a) - pauses(b) || a.opened_at - b.opened_at);
    // A list tells no history. One that was on its way while we answered would say that the answer came back.
    const doubted = (card: Card, prompt: PromptView): boolean => "history" in card.prompt && card.prompt.state !== prompt.state;
    // An answer that had arrived may have come to its end before the feed began: nobody else tells of that.
    const again = this.cards.filter((card) => !there.has(card.prompt.id) && card.mine?.stage !== "waiting");
    for (const prompt of fresh) {
      const card = this.find(prompt.id);
      if (card && doubted(card, prompt)) again.push(card);
      else this.take(prompt, this.loaded);
    }
    this.loaded = true;
    this.moves++;
    for (const card of again) {
      const now = await get<PromptStory>(`/api/prompts/${part(card.prompt.id)}`);
      if (now.ok) this.update(card, now.data);
    }
  }

  /** Pull the brake, or let it go; what is wrong, in a sentence, or nothing. */
  async brake(on: boolean): Promise<string> {
    try {
      const reply = await call("POST", on ? "/api/pause" : "/api/resume");
      if (reply.status === 401) this.unpair("This device is not paired any more.");
      if (!reply.ok) return line(reply.error) || "That did not work.";
      this.paused = on;
      this.say(on ? "Rules are paused: everything waits for you." : "Rules decide again.", on ? "late" : "good");
      return "";
    } catch (error) {
      if (!(error instanceof NoLine)) throw error;
      return `No connection: it is not known whether rules are ${on ? "paused" : "on again"}.`;
    }
  }

  /** Hear what is added to a conversation while somebody reads it; null: nobody does any more. */
  watch(place: (() => WatchRequest | null) | null, added: (page: Page, session: string) => void = () => undefined): void {
    this.added = added;
    this.feed.watch(place);
  }

  private news(message: Exclude<LiveNews, { type: "hello" }>): void {
    if (message.type === "entries") this.added(message.page, message.session_id);
    else if (message.type === "pause") this.paused = message.paused;
    else if (message.type === "prompt") {
      this.take(message.prompt, true);
      if (message.prompt.state !== "open") this.moves++;
    }
    else if (message.type === "session") {
      const { id, goes_on_as: next } = message.session;
      const others = this.sessions.filter((session) => session.id !== id);
      // One that was laid down may be taken up again: then it is here, and leads nowhere else.
      if (next || id in this.renamed) this.renamed = { ...this.renamed, [id]: next };
      this.sessions = message.session.state === "ended" ? others : [message.session, ...others];
    }
  }

  private lineIs(state: LineState, why: string): void {
    if (state === "unpaired") return this.unpair(why);
    this.line = state;
    if (state !== "live") return;
    void this.flush();
  }

  private take(prompt: PromptStory | PromptView, aloud: boolean): void {
    const card = this.find(prompt.id);
    if (card) return this.update(card, prompt);
    if (DONE.has(prompt.state)) return;
    this.cards = [...this.cards, this.adopt(prompt)];
    if (aloud && prompt.state === "open") this.say(`New in ${project(prompt.cwd)}: ${sentence(prompt)}`, "late");
  }

  /** The card of a prompt that was asked for by its id. Until it is over it is the inbox's: answers wait there. */
  met(prompt: PromptStory): Card {
    this.take(prompt, false);
    return this.find(prompt.id) ?? new Card(prompt);
  }

  /** A new card; if its answer was given before the app was closed, it goes on waiting. */
  private adopt(prompt: PromptStory | PromptView): Card {
    const card = new Card(prompt);
    const kept = this.orphans.find((each) => each.id === prompt.id);
    if (kept && card.free) {
      card.mine = { request: kept.request, label: kept.label, stage: "waiting" };
      this.orphans = this.orphans.filter((each) => each !== kept);
    }
    return card;
  }

  /** Whose turn it is: kept on this device until the server has it. */
  private own(card: Card, mine: Mine | null): void {
    card.mine = mine;
    const id = card.prompt.id;
    // One that broke off as this device was unpaired is nobody's to send later.
    if (mine === null || mine.stage === "told" || this.line === "unpaired") forgetAnswer(id);
    else keepAnswer({ id, request: mine.request, label: mine.label, at: Date.now() / 1000 });
  }

  update(card: Card, prompt: PromptStory | PromptView): void {
    const was = card.prompt;
    if ("history" in was && "history" in prompt && prompt.history.length < was.history.length) return;
    card.prompt = prompt;
    if (prompt.state === "open" && was.state !== "open") {
      this.own(card, null);
      card.slim = false;
      const why = "history" in prompt ? bounce(prompt) : "";
      card.note = { text: `It came back${why ? `: ${why}` : ". Answer it again."}`, tone: "bad" };
      this.say(`It came back: ${this.short(card)}`, "bad");
    }
    if (DONE.has(prompt.state) && !DONE.has(was.state)) {
      card.doneAt = Date.now();
      const told = standing(prompt, this.me, Date.now() / 1000);
      const mine = card.mine;
      if (mine?.stage === "waiting" && prompt.answered_by !== this.me) this.drop(card, mine);
      else this.say(`${this.short(card)}: ${told.text}`, told.tone === "good" ? "good" : "late");
      this.own(card, null);
    }
  }

  private short(card: Card): string {
    const title = line(card.prompt.title);
    return title.length > 40 ? `${title.slice(0, 39)}…` : title || agentName(card.prompt.agent);
  }

  // -- what the person says

  async answer(card: Card, request: AnswerRequest, label: string): Promise<void> {
    if (!card.free) return;
    card.note = null;
    const mine: Mine = { request, label, stage: "sending" };
    this.own(card, mine);
    await this.deliver(card, mine);
  }

  takeBack(card: Card): void {
    if (card.mine?.stage === "waiting") this.own(card, null);
  }

  takeBackKept(kept: KeptAnswer): void {
    forgetAnswer(kept.id);
    this.orphans = this.orphans.filter((each) => each !== kept);
  }

  private forgotten(id: string): void {
    this.orphans = this.orphans.filter((each) => each.id !== id);
    const card = this.find(id);
    if (card) this.takeBack(card);
  }

  private async deliver(card: Card, mine: Mine, repeated = false): Promise<void> {
    try {
      const path = `/api/prompts/${part(card.prompt.id)}/answer`;
      // A rule's hold shows as a button that is held: whoever got here has said it twice.
      const request = card.prompt.hold ? { ...mine.request, sure: true } : mine.request;
      const reply = await call<AnswerReply>("POST", path, request);
      if (reply.status === 401) return this.unpair("This device is not paired any more.");
      // What was tried before may have been on its way all the time: then it is late behind itself, and counts.
      const first = repeated && reply.data.result === "too_late" && this.me !== "" && reply.data.by === this.me;
      if (card.mine === mine) this.own(card, reply.ok || first ? { ...mine, stage: "told" } : null);
      const detail = line(reply.data.detail || reply.error);
      if (first) card.note = null;
      else if (reply.data.result === "too_late") card.note = { text: `Yours came too late: ${detail}.`, tone: "late" };
      else if (!reply.ok) card.note = { text: detail || "That did not work. Try again.", tone: "bad" };
      if (reply.data.prompt) this.update(card, reply.data.prompt);
    } catch (error) {
      if (!(error instanceof NoLine)) throw error;
      if (card.mine === mine) this.own(card, { ...mine, stage: "waiting" });
      clearTimeout(this.retry);
      this.retry = window.setTimeout(() => void this.flush(), RETRY);
    }
  }

  /** Answers from before the app was closed whose prompts are not in the list: they ended, and that is said. */
  private async flushKept(): Promise<void> {
    for (const kept of this.orphans) {
      const now = await get<PromptStory>(`/api/prompts/${part(kept.id)}`);
      if (now.status === 401) return this.unpair("This device is not paired any more.");
      this.takeBackKept(kept);
      if (!now.ok) {
        this.say(`${fate(kept.label, null, this.me)} ${now.error}`, "late");
        continue;
      }
      const card = this.find(kept.id) ?? new Card(now.data);
      const mine = now.data.answered_by === this.me && this.me !== "";
      const told = standing(now.data, this.me, Date.now() / 1000).text;
      card.note = mine ? { text: `“${kept.label}” had arrived. ${told}`, tone: "good" } : { text: fate(kept.label, now.data, this.me), tone: "late" };
      card.slim = DONE.has(now.data.state);
      card.doneAt = Date.now();
      if (!this.cards.includes(card)) this.cards = [...this.cards, card];
    }
  }

  /** The line is back: answers that waited are sent, if what they answer is still asked. */
  private async flush(): Promise<void> {
    try {
      await this.flushKept();
    } catch {
      clearTimeout(this.retry);
      this.retry = window.setTimeout(() => void this.flush(), RETRY);
      return;
    }
    for (const card of this.cards) {
      const mine = card.mine;
      if (mine?.stage !== "waiting") continue;
      try {
        const now = await get<PromptStory>(`/api/prompts/${part(card.prompt.id)}`);
        if (card.mine !== mine) continue; // taken back, or settled by the feed
        if (now.status === 401) return this.unpair("This device is not paired any more.");
        if (!now.ok) this.drop(card, mine, now);
        else if (now.data.state === "open" && now.data.held) {
          const again: Mine = { ...mine, stage: "sending" };
          this.own(card, again);
          await this.deliver(card, again, true);
        } else {
          this.update(card, now.data);
          if (card.mine !== mine) continue; // told already
          if (now.data.answered_by === this.me) this.own(card, { ...mine, stage: "told" });
          else this.drop(card, mine);
        }
      } catch {
        clearTimeout(this.retry);
        this.retry = window.setTimeout(() => void this.flush(), RETRY);
        return;
      }
    }
  }

  /** It is not sent any more; why not is said by how the prompt stands, if that is known. */
  private drop(card: Card, mine: Mine, gone: { error: string } | null = null): void {
    this.own(card, null);
    const text = fate(mine.label, gone ? null : card.prompt, this.me);
    card.note = { text: gone ? `${text} ${gone.error}` : text, tone: "late" };
    this.say(`${text} ${this.short(card)}`, "late");
  }

  dismiss(card: Card): void {
    this.cards = this.cards.filter((each) => each !== card);
  }

  /** Make cards small and take them away: only when nobody touches the page. */
  private settle(): void {
    if (this.said && Date.now() - this.saidAt > SAID_FOR) this.said = null;
    if (touched() || !this.cards.length) return;
    const now = Date.now();
    const gone = (card: Card): boolean => {
      if (!DONE.has(card.prompt.state) || card.note !== null) return false;
      const ours = card.prompt.state === "confirmed" && card.prompt.answered_by === this.me;
      return now - card.doneAt > (ours ? LINGER : ELSEWHERE);
    };
    for (const card of this.cards) {
      // What is about to go is not made small first: one move, not two.
      const leaves = card.prompt.state === "confirmed" && card.prompt.answered_by === this.me && card.note === null;
      const over = DONE.has(card.prompt.state) || card.prompt.state === "accepted";
      if (over !== card.slim && !leaves) card.slim = over;
    }
    if (this.cards.some(gone)) this.cards = this.cards.filter((card) => !gone(card));
  }
}

export const inbox = new Inbox();
