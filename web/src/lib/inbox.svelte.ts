// What waits, and what becomes of an answer: the state behind every view.
// Rule: the server's word about a prompt always wins over ours; new prompts are added below, never above, and what was
// answered keeps its place until nobody has tapped for a while.

import { call, get, NoConnection, part } from "./api";
import { Feed, type ConnectionState, type WatchRequest } from "./feed";
import { preferences } from "./preferences.svelte";
import { empty, REFUSES as REFUSED, type Filled } from "./answerForm";
import { fleet } from "./fleet.svelte";
import { grouped } from "./groupBy";
import { forgetAll, removeAnswer, saveAnswer, saveHead, onAnswerRemoved, savedAnswers, type SavedAnswer } from "./deviceStorage";
import { queues } from "./queues.svelte";
import { here } from "./router.svelte";
import { missingSince } from "./recordHead";
import { shownDigest, shownText } from "./shown";
import { idleFor } from "./tapGuard";
import type { AnswerReply, AnswerRequest, DeviceView, HeadView, LiveNews, Option, Page, PromptStory, PromptView, SessionView } from "./types";
import { line } from "./safeText";
import { agentName, bounce, DONE, fate, project, sentence, statusText } from "./wording";

export interface Mine {
  request: AnswerRequest;
  label: string;
  effect: Option["effect"];
  /** `undo`: not sent yet, and can be undone. `sending`: no reply yet. `waiting`: there is no line. `delivered`: the server
      has it. */
  stage: "undo" | "sending" | "waiting" | "delivered";
  /** The digest of what was on the screen at the tap, where another machine wants to know. */
  shown?: Promise<string>;
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
  /** One line that leads to the whole: there are many, and this is not the first of its session. */
  compact = $state(false);
  /** What was typed and picked so far; it survives a look elsewhere. */
  filled: Filled = $state(empty());
  edited: string | null = $state(null);
  /** The last answer that was given here; it is named while its end is waited for. */
  given: Pick<Mine, "label" | "effect"> | null = $state.raw(null);
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
// What is answered keeps its place until no finger has been near for this long: the next tap of an impatient thumb
// must find what the last one left there. Longer where it would move the buttons of a prompt that still waits.
const NOBODY_TAPS = 3_000;
const NOBODY_IS_NEAR = 10_000;
const SAID_FOR = 6_000;
// How many prompts of one session are shown whole in the list; fewer where there are many in all.
const WHOLE = 3;
const MANY = 8;
// Where there are many, this many are shown whole in all: about one screen.
const WHOLE_OF_MANY = 5;
// Long enough to see what one has done, short enough that nobody waits for it.
export const UNDO_FOR = 3_000;
const RETRY = 3_000;
// Lists that were asked for before the feed opened are waited for this long; a request may be lost on a bad line.
const EARLY_FOR = 2_000;

class Inbox {
  cards: Card[] = $state.raw([]);
  sessions: SessionView[] = $state.raw([]);
  connection: ConnectionState = $state("connecting");
  why = $state("");
  me = $state("");
  /** How this device is named in what is written down: names may change, ids do not. */
  author = $state("");
  /** What this device was given: nothing is offered that the server would refuse. */
  may: DeviceView["scopes"] = $state.raw([]);
  /** Somebody has a passkey: then that confirms a dangerous yes, and no button needs to be held for it. */
  passkeys = $state(false);
  /** The last thing that happened, in a line; also read out by a screen reader. */
  said: Note | null = $state.raw(null);
  loaded = $state(false);
  /** Paired just now, for the first time: if nothing waits, the person is shown around. */
  welcome = $state(false);
  /** Nothing is decided by rule now; null until it is known. */
  paused: boolean | null = $state(null);
  /** When this device noted a head of the record that the machine's record does not hold any more, in seconds. */
  rewritten: number | null = $state(null);
  /** Goes up whenever the record of what was answered may have become another. */
  moves = $state(0);
  /** Sessions that go by another id since this page was opened. */
  renamed: Record<string, string> = $state.raw({});
  /** Answers from before the app was closed, whose prompts have not been heard of yet. */
  orphans: SavedAnswer[] = $state.raw(savedAnswers());
  private recordEnd: HeadView | null = null;
  private saidAt = 0;
  /** The lists that were fetched before the feed opened: the last change that they hold. */
  private early: Promise<number | null> | null = null;
  private added: (page: Page, session: string) => void = () => undefined;
  private retry = 0;
  private readonly feed = new Feed({
    snapshot: (seq) => this.begin(seq),
    news: (message) => this.news(message),
    connection: (state, why) => this.connectionChanged(state, why),
    brake: (paused) => (this.paused = paused ?? false),
    head: (head, now) => {
      this.recordEnd = head;
      void missingSince(head, now).then((since) => (this.rewritten = since));
    },
  });

  constructor() {
    fleet.begin((kind, id) => (kind === "prompts" ? this.find(id)?.prompt.host : this.sessions.find((each) => each.id === id)?.host) ?? null);
    setInterval(() => this.settle(), 100);
    onAnswerRemoved((id) => this.forgotten(id));
  }

  /** The person has read the warning: from here on the record as it is now counts. */
  trustRecord(): void {
    saveHead(this.recordEnd && { ...this.recordEnd, at: Date.now() / 1000 });
    this.rewritten = null;
  }

  get waiting(): Card[] {
    return this.cards.filter((card) => card.open && card.mine === null);
  }

  start(): void {
    this.connection = "connecting";
    this.feed.start();
    // On a slow line the feed takes a while to open: what waits is shown as soon as it is known.
    this.early = this.snapshot(true).catch(() => null);
  }

  /** The feed begins: what was fetched before it opened will do, if nothing has happened in between. */
  private async begin(seq: number): Promise<void> {
    const late = new Promise<null>((over) => setTimeout(() => over(null), EARLY_FOR));
    const early = await Promise.race([this.early, late]);
    this.early = null;
    if (early !== seq || !this.loaded) await this.snapshot();
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
    this.said = null;
    this.loaded = false;
    this.paused = null;
    this.rewritten = null;
    this.why = why;
    this.connection = "unpaired";
  }

  // -- what the server tells

  /** The lists as they are now. `early`: only if nothing better was heard meanwhile. */
  private async snapshot(early = false): Promise<number | null> {
    const [prompts, sessions, devices] = await Promise.all([
      get<PromptView[]>("/api/prompts"),
      get<SessionView[]>("/api/sessions"),
      get<DeviceView[]>("/api/devices"),
    ]);
    if (!prompts.ok || !sessions.ok) throw new NoConnection("no lists");
    if (early && (this.loaded || this.connection === "unpaired")) return null;
    this.sessions = sessions.data;
    if ([...prompts.data, ...sessions.data].some((each) => each.host)) {
      const known = fleet.load();
      if (!fleet.view) await known;
    }
    const own = devices.ok ? devices.data.find((device) => device.current) : undefined;
    if (own) [this.me, this.author, this.may, this.passkeys] = [own.name, `${own.name} (${own.id})`, own.scopes, own.passkeys];
    const there = new Set(prompts.data.map((prompt) => prompt.id));
    const fresh = prompts.data; // in the order of every list
    // A list tells no history. One that was on its way while we answered would say that the answer came back.
    const doubted = (card: Card, prompt: PromptView): boolean => "history" in card.prompt && card.prompt.state !== prompt.state;
    // What ended before the feed began is told by nobody else: it is asked about one by one, here or in `flush`. It
    // keeps its place meanwhile; nothing below it moves because the line was away.
    const again = this.cards.filter((card) => !there.has(card.prompt.id) && card.mine?.stage !== "waiting" && !DONE.has(card.prompt.state));
    for (const prompt of fresh) {
      const card = this.find(prompt.id);
      if (card && doubted(card, prompt)) again.push(card);
      else this.take(prompt, this.loaded);
    }
    if (!this.loaded) this.arrange();
    this.loaded = true;
    this.moves++;
    for (const card of again) {
      const now = await get<PromptStory>(`/api/prompts/${part(card.prompt.id)}`);
      if (now.ok) this.update(card, now.data);
      else if (now.status === 404) this.dismiss(card);
    }
    return prompts.seq === sessions.seq && devices.ok ? prompts.seq : null;
  }

  /** Pull the brake, or let it go; what is wrong, in a sentence, or nothing. */
  async brake(on: boolean): Promise<string> {
    try {
      const reply = await call("POST", on ? "/api/pause" : "/api/resume");
      if (reply.status === 401) this.unpair("This device is no longer paired.");
      if (!reply.ok) return line(reply.error) || "That didn't work.";
      this.paused = on;
      this.say(on ? "Rules are paused: everything waits for you." : "Rules decide again.", on ? "late" : "good");
      return "";
    } catch (error) {
      if (!(error instanceof NoConnection)) throw error;
      return `No connection: it is not known whether rules are ${on ? "paused" : "on again"}.`;
    }
  }

  /** Hear what is added to a conversation while somebody reads it; null: nobody does any more. */
  watch(place: (() => WatchRequest | null) | null, added: (page: Page, session: string) => void = () => undefined): void {
    this.added = added;
    this.feed.watch(place);
  }

  private news(message: Exclude<LiveNews, { type: "hello" }>): void {
    if (message.type === "queue") queues.take(message.queue);
    else if (message.type === "entries") this.added(message.page, message.session_id);
    else if (message.type === "pause") this.paused = message.paused;
    else if (message.type === "host") fleet.changed(message.id, message.host);
    else if (message.type === "gone") this.gone(message.kind, message.id);
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

  /** Another machine does not say any more what became of it. */
  private gone(kind: "prompt" | "session", id: string): void {
    if (kind === "session") this.sessions = this.sessions.filter((each) => each.id !== id);
    else this.cards = this.cards.filter((card) => card.prompt.id !== id || card.mine !== null);
  }

  private connectionChanged(state: ConnectionState, why: string): void {
    if (state === "unpaired") return this.unpair(why);
    this.connection = state;
    if (state !== "live") return;
    void this.flush();
    void queues.load();
  }

  private take(prompt: PromptStory | PromptView, aloud: boolean): void {
    const card = this.find(prompt.id);
    if (card) return this.update(card, prompt);
    if (DONE.has(prompt.state)) return;
    // Below all that blocks as much: only what blocks less moves down for it. With a finger near, nothing moves: it
    // waits below everything until nobody is about to tap.
    const near = aloud && idleFor() < NOBODY_IS_NEAR;
    const above = near ? this.cards.length : this.cards.findLastIndex((other) => other.prompt.rank <= prompt.rank) + 1;
    const fresh = this.adopt(prompt);
    const before = this.cards.slice(0, above);
    fresh.compact =
      before.length - 1 - before.findLastIndex((other) => other.prompt.session_id !== prompt.session_id) >= this.whole ||
      (this.cards.length >= MANY && this.cards.filter((other) => !other.compact).length >= WHOLE_OF_MANY);
    this.cards = [...before, fresh, ...this.cards.slice(above)];
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
      card.mine = { request: kept.request, label: kept.label, effect: "choose", stage: "waiting" };
      if (kept.shown) card.mine.shown = Promise.resolve(kept.shown);
      this.orphans = this.orphans.filter((each) => each !== kept);
    }
    return card;
  }

  /** Whose turn it is: kept on this device until the server has it. */
  private own(card: Card, mine: Mine | null): void {
    card.mine = mine;
    const id = card.prompt.id;
    // One that broke off as this device was unpaired is nobody's to send later.
    if (mine === null || mine.stage === "delivered" || this.connection === "unpaired") removeAnswer(id);
    else {
      const saved = { id, request: mine.request, label: mine.label, at: Date.now() / 1000 };
      saveAnswer(saved);
      void mine.shown?.then((shown) => card.mine === mine && saveAnswer({ ...saved, shown }));
    }
  }

  update(card: Card, prompt: PromptStory | PromptView): void {
    const was = card.prompt;
    if ("history" in was && "history" in prompt && prompt.history.length < was.history.length) return;
    card.prompt = prompt;
    if (attempts(prompt) > attempts(was)) this.say(`An agent tried to answer this itself, and was refused: ${this.short(card)}`, "bad");
    if (prompt.state === "open" && was.state !== "open") {
      this.own(card, null);
      card.slim = false;
      card.given = null;
      const why = "history" in prompt ? bounce(prompt) : "";
      card.note = { text: `Not delivered${why ? `: ${why}` : ". Answer again."}`, tone: "bad" };
      this.say(`Not delivered: ${this.short(card)}`, "bad");
    }
    if (DONE.has(prompt.state) && !DONE.has(was.state)) {
      card.doneAt = Date.now();
      const status = statusText(prompt, this.me, Date.now() / 1000);
      const mine = card.mine;
      if ((mine?.stage === "waiting" || mine?.stage === "undo") && prompt.answered_by !== this.me) this.drop(card, mine);
      else this.say(`${this.short(card)}: ${status.text}`, status.tone === "good" ? "good" : status.tone === "no" ? "bad" : "late");
      this.own(card, null);
    }
  }

  private short(card: Card): string {
    const title = line(card.prompt.title);
    return title.length > 40 ? `${title.slice(0, 39)}…` : title || agentName(card.prompt.agent);
  }

  // -- what the person says

  async answer(card: Card, request: AnswerRequest, label: string, effect: Option["effect"] = "choose"): Promise<void> {
    if (!card.free) return;
    card.note = null;
    card.given = { label, effect };
    // Without a line it waits anyway, and can be taken back. An edited command is not kept on this device (lib/deviceStorage.ts):
    // it is sent at once, before the page can be closed.
    // A gesture is for now: it cannot be made three seconds after the tap.
    const stage = preferences.undo && !(this.passkeys && request.sure) && this.connection === "live" && !document.hidden && request.input === undefined ? "undo" : "sending";
    // What was looked at goes with it: if something else is asked under this id by now, it is not an answer to that.
    const mine: Mine = { request: { ...request, seen: card.prompt.version }, label, effect, stage };
    if (fleet.isRemote(card.prompt)) mine.shown = shownDigest(shownText(card.prompt));
    this.own(card, mine);
    navigator.vibrate?.(REFUSED.has(effect) ? [10, 60, 10] : 10);
    if (stage === "undo") await this.undone(card, mine);
    else await this.deliver(card, mine);
  }

  /** The moment in which it can be undone; whoever leaves the page does not undo it. */
  private async undone(card: Card, mine: Mine): Promise<void> {
    await new Promise<void>((over) => {
      const leaves = (): void => {
        if (document.hidden) end();
      };
      const timer = setTimeout(() => end(), UNDO_FOR);
      const end = (): void => {
        clearTimeout(timer);
        document.removeEventListener("visibilitychange", leaves);
        removeEventListener("pagehide", end);
        over();
      };
      document.addEventListener("visibilitychange", leaves);
      addEventListener("pagehide", end);
    });
    if (card.mine !== mine) return; // undone, or settled by somebody else
    const sent: Mine = { ...mine, stage: "sending" };
    this.own(card, sent);
    await this.deliver(card, sent);
  }

  takeBack(card: Card): void {
    if (card.mine?.stage !== "waiting" && card.mine?.stage !== "undo") return;
    card.given = null;
    this.own(card, null);
  }

  takeBackKept(kept: SavedAnswer): void {
    removeAnswer(kept.id);
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
      const reply = await call<AnswerReply>("POST", path, mine.request, undefined, "", (await mine.shown) ?? "");
      if (reply.status === 401) return this.unpair("This device is no longer paired.");
      // What was tried before may have been on its way all the time: then it is late behind itself, and counts.
      const late = reply.data.result === "too_late";
      const ours = late && this.me !== "" && reply.data.by === this.me;
      const first = repeated && ours;
      if (card.mine === mine) this.own(card, reply.ok || first ? { ...mine, stage: "delivered" } : null);
      const detail = line(reply.data.detail || reply.error);
      if (first) card.note = null;
      else if (ours) card.note = { text: `${detail[0]?.toUpperCase() ?? ""}${detail.slice(1)}.`, tone: "good" };
      else if (late) card.note = { text: `Yours came too late: ${detail}.`, tone: "late" };
      else if (!reply.ok) card.note = { text: detail || "That didn't work. Try again.", tone: "bad" };
      if (reply.data.prompt) this.update(card, reply.data.prompt);
    } catch (error) {
      if (!(error instanceof NoConnection)) throw error;
      if (card.mine === mine) this.own(card, { ...mine, stage: "waiting" });
      clearTimeout(this.retry);
      this.retry = window.setTimeout(() => void this.flush(), RETRY);
    }
  }

  /** Answers from before the app was closed whose prompts are not in the list: they ended, and that is said. */
  private async flushKept(): Promise<void> {
    for (const kept of this.orphans) {
      const now = await get<PromptStory>(`/api/prompts/${part(kept.id)}`);
      if (now.status === 401) return this.unpair("This device is no longer paired.");
      this.takeBackKept(kept);
      if (!now.ok) {
        this.say(`${fate(kept.label, null, this.me)} ${now.error}`, "late");
        continue;
      }
      const card = this.find(kept.id) ?? new Card(now.data);
      const mine = now.data.answered_by === this.me && this.me !== "";
      const status = statusText(now.data, this.me, Date.now() / 1000).text;
      card.note = mine ? { text: `“${kept.label}” had arrived. ${status}`, tone: "good" } : { text: fate(kept.label, now.data, this.me), tone: "late" };
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
        if (now.status === 401) return this.unpair("This device is no longer paired.");
        if (!now.ok) this.drop(card, mine, now);
        else if (now.data.state === "open" && now.data.held) {
          const again: Mine = { ...mine, stage: "sending" };
          this.own(card, again);
          await this.deliver(card, again, true);
        } else {
          this.update(card, now.data);
          if (card.mine !== mine) continue; // told already
          if (now.data.answered_by === this.me) this.own(card, { ...mine, stage: "delivered" });
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

  private get whole(): number {
    return this.cards.length >= MANY ? 1 : WHOLE;
  }

  /** Those of one session that block as much together, the first of them whole: only while nobody looks, for it moves what
      is there. What blocks more stays above what blocks less, whosever it is. */
  private arrange(): void {
    const groups = [...grouped(this.cards, (card) => `${card.prompt.rank} ${card.prompt.session_id}`).values()];
    const cards = groups.flat();
    let whole = 0;
    for (const group of groups) {
      group.forEach((card, n) => {
        card.compact = n >= this.whole || (cards.length >= MANY && whole >= WHOLE_OF_MANY);
        if (!card.compact) whole++;
      });
    }
    if (cards.some((card, n) => card !== this.cards[n])) this.cards = cards;
  }

  /** The lists anew, because the person asks for it. */
  async refresh(): Promise<void> {
    await this.snapshot().catch(() => null);
  }

  /** Make cards small and take them away: only when nobody is about to tap where they are. */
  private settle(): void {
    if (this.said && Date.now() - this.saidAt > SAID_FOR) this.said = null;
    const unseen = (here.at.view !== "home" && !here.wide) || document.hidden;
    const idle = unseen ? Infinity : idleFor();
    if (idle < NOBODY_TAPS || !this.cards.length) return;
    const now = Date.now();
    const gone = new Set<Card>();
    let above = false; // above one that can be answered: that one would move
    for (const card of [...this.cards].reverse()) {
      if (idle >= (above ? NOBODY_IS_NEAR : NOBODY_TAPS)) this.shrink(card, now, gone);
      above ||= card.free;
    }
    if (gone.size) this.cards = this.cards.filter((card) => !gone.has(card));
    if (idle >= NOBODY_IS_NEAR) this.arrange();
  }

  private shrink(card: Card, now: number, gone: Set<Card>): void {
    const over = DONE.has(card.prompt.state);
    const ours = card.prompt.state === "confirmed" && card.prompt.answered_by === this.me;
    // What is about to go is not made small first: one move, not two.
    if (over && card.note === null && now - card.doneAt > (ours ? LINGER : ELSEWHERE)) gone.add(card);
    else if (!(ours && card.note === null)) card.slim = over || card.prompt.state === "accepted";
  }
}

export const inbox = new Inbox();

/** How often a process of an agent's tried to answer it; each time it was refused. */
function attempts(prompt: PromptStory | PromptView): number {
  return "history" in prompt ? prompt.history.filter((moment) => moment.by === "agent process").length : 0;
}
