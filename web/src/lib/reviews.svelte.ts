// Second opinions about the session that is looked at.
// Rule: one list at a time, looked at anew while a review is being written; nobody is asked while nobody looks, and
// whoever looks again is shown the list as it is by then.

import { call, get, NoConnection, part } from "./api";
import type { ReviewRequest, ReviewView, StartableView } from "./types";
import { line } from "./safeText";

const LOOK = 1000;

class Reviews {
  list: ReviewView[] = $state.raw([]);
  /** Who can review on this machine; null until it is known. */
  reviewers: string[] | null = $state.raw(null);
  private session = "";
  private timer = 0;

  constructor() {
    document.addEventListener("visibilitychange", () => this.session && void this.look());
  }

  /** Show those of this session from now on; '' for none. */
  async show(session: string): Promise<void> {
    clearTimeout(this.timer);
    if (session !== this.session) this.list = [];
    this.session = session;
    if (session) await this.look();
  }

  async who(): Promise<void> {
    if (this.reviewers) return;
    const reply = await get<StartableView[]>("/api/reviewers").catch(() => null);
    if (reply?.ok) this.reviewers = reply.data.map((each) => each.agent);
  }

  private async look(): Promise<void> {
    if (document.hidden) return;
    const session = this.session;
    const reply = await get<ReviewView[]>(`/api/sessions/${part(session)}/reviews`).catch(() => null);
    if (session !== this.session) return;
    if (reply?.ok) this.list = reply.data;
    clearTimeout(this.timer);
    if (this.list.some((each) => each.state === "running")) this.timer = window.setTimeout(() => void this.look(), LOOK);
  }

  start = (session: string, request: ReviewRequest): Promise<string> => this.change(`/api/sessions/${part(session)}/reviews`, request);
  send = (review: string, text: string): Promise<string> => this.change(`/api/reviews/${part(review)}/send`, { text });
  end = (review: string): Promise<string> => this.change(`/api/reviews/${part(review)}/end`);

  /** What is wrong, in a sentence, or nothing. A reviewer's program takes a while to start. */
  private async change(path: string, body?: object): Promise<string> {
    try {
      const reply = await call<ReviewView>("POST", path, body, 90_000);
      if (!reply.ok) return line(reply.error) || "That didn't work.";
      if (reply.data.session_id === this.session || reply.data.by_session === this.session) await this.look();
      return "";
    } catch (error) {
      if (!(error instanceof NoConnection)) throw error;
      return "No connection. It may or may not have arrived; look again.";
    }
  }
}

export const reviews = new Reviews();
