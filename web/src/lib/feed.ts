// The live feed: one WebSocket that comes back by itself, with the last number it saw.
// Rule: messages are handled one after the other; one that fails ends the line, and the next one starts from what
// was surely handled.

import { feedProtocols, forgetKey } from "../../../src/yourcall/server/assets/key.js";
import { get } from "./api";
import { clock } from "./clock.svelte";
import type { HeadView, LiveNews, Status } from "./types";

/** Which conversation to tell of, and where in it this client is. */
export interface WatchRequest {
  watch: string;
  after?: number;
  file?: string;
}

export type ConnectionState = "connecting" | "live" | "down" | "unpaired";

export interface Listener {
  /** What to fetch when the feed starts from nothing, at this number. */
  snapshot(seq: number): Promise<void>;
  news(message: Exclude<LiveNews, { type: "hello" }>): void;
  connection(state: ConnectionState, why: string): void;
  /** Whether rules are paused, as the feed begins. */
  brake(paused: boolean | null): void;
  /** The end of the record, as the feed begins, and the time there. */
  head(head: HeadView | null, now: number): void;
}

const REVOKED = 4001;
const SHORTEST = 400;
const LONGEST = 15_000;
// A phone that slept longer than this has a line that only looks alive.
const NAP = 8_000;
// The worst mobile line takes some ten seconds to open; after this it will not.
const SLOWEST = 30_000;
// How often it is asked whether all that happened was heard: a line may go deaf without a word.
const BEAT = 20_000;

export class Feed {
  private seq: number | null = null;
  private socket: WebSocket | null = null;
  /** While a ticket for the next line is asked for. */
  private asking: object | null = null;
  private pause = SHORTEST;
  private timer = 0;
  private turn: Promise<void> = Promise.resolve();
  private hiddenAt = 0;
  private opening = 0;
  /** What had happened, and not been heard, at the last look; each is a reason for one new line only. */
  private missed = 0;
  private doubted = 0;
  private wanted = false;
  private wish: (() => WatchRequest | null) | null = null;

  constructor(private readonly to: Listener) {
    addEventListener("online", () => this.hurry());
    addEventListener("offline", () => this.hurry());
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.hiddenAt = Date.now();
      else if (Date.now() - this.hiddenAt > NAP) this.hurry();
      else if (!this.socket) this.connect();
    });
    setInterval(() => void this.check(), BEAT);
  }

  start(): void {
    this.wanted = true;
    this.connect();
  }

  stop(): void {
    this.wanted = false;
    this.seq = null;
    this.asking = null;
    clearTimeout(this.timer);
    const old = this.socket;
    this.socket = null;
    old?.close();
  }

  /** Also tell what is added to this conversation, from the place it names; null: to none. */
  watch(wish: (() => WatchRequest | null) | null): void {
    this.wish = wish;
    this.sayWish();
  }

  private sayWish(): void {
    if (this.socket?.readyState !== WebSocket.OPEN) return;
    const wish: WatchRequest | null = this.wish ? this.wish() : { watch: "" };
    if (wish) this.socket.send(JSON.stringify(wish));
  }

  /** Do not wait out a pause, and do not trust a line from before. */
  private hurry(): void {
    if (!this.wanted) return;
    const old = this.socket;
    this.socket = null;
    this.asking = null;
    old?.close();
    this.pause = SHORTEST;
    this.connect();
  }

  /** Was all heard that had happened by the look before this one? */
  private async check(): Promise<void> {
    const mine = this.socket;
    if (document.hidden || mine?.readyState !== WebSocket.OPEN || this.seq === null) return;
    const status = await get<Status>("/api/status").catch(() => null);
    if (mine !== this.socket || this.seq === null) return;
    const deaf = this.missed > this.seq && this.missed > this.doubted;
    if (status && !deaf) return void (this.missed = status.ok ? status.data.seq : 0);
    this.doubted = this.missed;
    this.hurry();
  }

  /** A browser cannot sign the opening of a WebSocket: it brings a ticket, which is good once. */
  private connect(): void {
    clearTimeout(this.timer);
    if (!this.wanted || this.socket || this.asking) return;
    const mine = {};
    this.asking = mine;
    const answered = (protocols: string[] | null): void => {
      if (mine !== this.asking) return;
      this.asking = null;
      if (protocols) this.open(protocols);
      else void this.lost(0);
    };
    feedProtocols(AbortSignal.timeout(SLOWEST)).then(answered, () => answered(null));
  }

  private open(protocols: string[]): void {
    const after = this.seq === null ? "" : `?after=${this.seq}`;
    const mine = new WebSocket(`${location.origin.replace(/^http/, "ws")}/api/live${after}`, protocols);
    this.socket = mine;
    clearTimeout(this.opening);
    this.opening = window.setTimeout(() => this.give(mine), SLOWEST);
    mine.onmessage = ({ data }) => {
      if (mine === this.socket) clearTimeout(this.opening);
      this.turn = this.turn
        .then(() => (mine === this.socket ? this.take(JSON.parse(String(data)) as LiveNews, mine) : undefined))
        .catch(() => this.give(mine));
    };
    mine.onclose = ({ code }) => {
      if (mine !== this.socket) return;
      clearTimeout(this.opening);
      this.socket = null;
      void this.lost(code);
    };
  }

  /** What could not be handled ends the line here and now: what has come after it must not count as handled. */
  private give(mine: WebSocket): void {
    mine.close();
    if (mine !== this.socket) return;
    this.socket = null;
    void this.lost(0);
  }

  private async lost(code: number): Promise<void> {
    if (code === REVOKED) {
      await forgetKey();
      return this.to.connection("unpaired", "This device was revoked.");
    }
    this.to.connection("down", "");
    // A browser does not tell why a WebSocket was refused; a plain request does.
    const status = await get<Status>("/api/status").catch(() => null);
    // One that was paired by a cookie is told why it has to be paired again.
    if (status?.status === 401) return this.to.connection("unpaired", /^Pair this device/.test(status.error) ? "" : status.error);
    if (!this.wanted || this.socket || this.asking) return;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.connect(), this.pause * (0.5 + Math.random()));
    this.pause = Math.min(this.pause * 2, LONGEST);
  }

  private async take(message: LiveNews, mine: WebSocket): Promise<void> {
    if (message.type === "hello") {
      this.pause = SHORTEST;
      clock.synchronize(message.now);
      if (message.snapshot) {
        await this.to.snapshot(message.seq);
        if (mine !== this.socket) return; // it broke meanwhile: the next one begins anew
        this.seq = message.seq;
      }
      this.to.brake(message.paused);
      this.to.head(message.head, message.now);
      this.to.connection("live", "");
      return this.wish ? this.sayWish() : undefined;
    }
    this.to.news(message);
    // What is added to a conversation is no row, and has a place of its own in its file; the brake is no row either.
    if ("seq" in message) this.seq = message.seq;
  }
}
