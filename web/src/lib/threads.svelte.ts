// Sessions as threads: what each works on, the last thing it said or did, and which of them are shown.
// Rule: a session's title is the person's first instruction, as far back as its record was read; else the folder. A title stays.

import { SvelteMap } from "svelte/reactivity";
import { get, part } from "./api";
import { grouped } from "./groupBy";
import { inbox, type Card } from "./inbox.svelte";
import { forgets } from "./deviceStorage";
import type { Page, SessionView } from "./types";
import { line, unmarked } from "./safeText";
import { agentName, project } from "./wording";

interface Gist {
  title: string;
  last: string;
  readAt: number;
}

export interface Thread {
  /** The session's id; another one for what came after others of it, so that nothing above moves. */
  key: string;
  id: string;
  session: SessionView | undefined;
  cards: Card[];
}

export type Facet = "state" | "agent" | "project" | "machine";

const RECENT = 16;
const FARTHER = 120;
// A session that works changes every second; a list is read once in a while.
const AGAIN = 4_000;
const LONGEST = 90;
const MOST_CHIPS = 8;

const short = (text: string): string => {
  const first = line(unmarked(text.trim().split("\n", 1)[0] ?? "")).trim();
  return first.length > LONGEST ? `${first.slice(0, LONGEST - 1)}…` : first;
};

/** What somebody asked for, as a title: its first sentence, if that says something. */
const named = (text: string): string => {
  const all = short(text);
  return /^.{12,}?[^.](?=[.!?;]\s)/.exec(all)?.[0] ?? all.replace(/(?<=[^.])\.$/, "");
};

/** The person's own words, not a command and not what a program put in their place. */
const instruction = (entry: Page["entries"][number]): string =>
  entry.type === "user" && !entry.by && /^[^</[]/.test(entry.text.trim()) ? named(entry.text) : "";

class Threads {
  readonly gists = new SvelteMap<string, Gist>();
  chosen: Partial<Record<Facet, string>> = $state({});
  private readonly reading = new Set<string>();
  private turn: Promise<void> = Promise.resolve();

  title(session: SessionView | undefined, cwd: string): string {
    return (session && this.gists.get(session.id)?.title) || project(session?.cwd ?? cwd);
  }

  /** A thread that is on the screen wants its title and last line; sessions are read one after the other. */
  want(session: SessionView): void {
    const gist = this.gists.get(session.id);
    const fresh = gist && (gist.readAt >= session.seen_at * 1000 || Date.now() - gist.readAt < AGAIN);
    if (fresh || this.reading.has(session.id) || inbox.connection !== "live") return;
    this.reading.add(session.id);
    this.turn = this.turn.then(() => this.read(session)).finally(() => this.reading.delete(session.id));
  }

  private async read(session: SessionView): Promise<void> {
    const was = this.gists.get(session.id);
    const page = async (limit: number): Promise<Page["entries"]> => {
      const reply = await get<Page>(`/api/sessions/${part(session.id)}/conversation?limit=${limit}`).catch(() => null);
      return reply?.ok ? reply.data.entries : [];
    };
    let entries = await page(RECENT);
    let title = was?.title || "";
    if (!title && entries.length >= RECENT) entries = await page(FARTHER);
    title ||= entries.map(instruction).find(Boolean) ?? "";
    const latest = entries.findLast((entry) => (entry.type === "assistant" && entry.text.trim()) || (entry.type === "action" && entry.title));
    const last = latest?.type === "assistant" ? short(latest.text) : latest?.type === "action" ? short(latest.title) : "";
    this.gists.set(session.id, { title, last, readAt: Date.now() });
  }

  /** What waits, in the order of the inbox, with its session; then the sessions that need nobody, the latest first. */
  get all(): Thread[] {
    const sessions = new Map(inbox.sessions.map((session) => [session.id, session]));
    const threads: Thread[] = [];
    const seen = new Map<string, number>();
    for (const card of inbox.cards) {
      const id = card.prompt.session_id;
      const last = threads.at(-1);
      if (last?.id === id) last.cards.push(card);
      else {
        const n = seen.get(id) ?? 0;
        seen.set(id, n + 1);
        threads.push({ key: n ? `${id} ${n}` : id, id, session: sessions.get(id), cards: [card] });
      }
    }
    const others = inbox.sessions.filter((session) => session.state !== "ended" && !seen.has(session.id));
    return [...threads, ...others.map((session) => ({ key: session.id, id: session.id, session, cards: [] }))];
  }

  private value(thread: Thread, facet: Facet): string {
    const prompt = thread.cards[0]?.prompt;
    if (facet === "agent") return thread.session?.agent ?? prompt?.agent ?? "";
    if (facet === "project") return thread.session?.cwd ?? prompt?.cwd ?? "";
    if (facet === "machine") return thread.session?.machine ?? prompt?.machine ?? "";
    return thread.cards.some((card) => card.open) ? "waiting" : (thread.session?.state ?? "unknown");
  }

  get shown(): Thread[] {
    const chosen = Object.entries(this.chosen) as [Facet, string][];
    return this.all.filter((thread) => chosen.every(([facet, value]) => !value || this.value(thread, facet) === value));
  }

  /** What can be chosen by, where there is more than one kind of it. */
  facets(all: Thread[]): { facet: Facet; value: string; label: string; count: number }[] {
    const names: Record<Facet, (value: string) => string> = {
      state: (value) => ({ waiting: "Waiting", working: "Working", idle: "Idle" })[value] ?? "Other",
      agent: agentName,
      project,
      machine: line,
    };
    return (["state", "agent", "project", "machine"] as const).flatMap((facet) => {
      const groups = grouped(all, (thread) => this.value(thread, facet));
      groups.delete("");
      const one = groups.size < 2 && !this.chosen[facet];
      // The largest first; there is the search for the rest.
      const largest = [...groups].sort(([, a], [, b]) => b.length - a.length);
      const told = largest.filter(([value], n) => n < MOST_CHIPS || this.chosen[facet] === value);
      return one ? [] : told.map(([value, threads]) => ({ facet, value, label: names[facet](value), count: threads.length }));
    });
  }

  choose(facet: Facet, value: string): void {
    this.chosen = { ...this.chosen, [facet]: this.chosen[facet] === value ? "" : value };
  }
}

export const threads = new Threads();
forgets.push(() => threads.gists.clear());
