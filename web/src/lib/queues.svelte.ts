// The instructions that wait for sessions, as the server tells them.
// Rule: what is shown is what the server said last; a change of ours is shown once its reply is here.

import { call, get, NoConnection, part } from "./api";
import type { HoldRequest, NewOrder, OrderChange, OrderView, QueueView } from "./types";
import { line } from "./safeText";

class Queues {
  private known: Record<string, QueueView> = $state.raw({});

  of(session: string): QueueView | undefined {
    return this.known[session];
  }

  waiting(session: string): OrderView[] {
    return this.known[session]?.orders.filter((order) => order.state === "waiting") ?? [];
  }

  /** All of them, as they are now: after a reconnect nobody tells what changed meanwhile. */
  async load(): Promise<void> {
    const reply = await get<QueueView[]>("/api/queues").catch(() => null);
    if (reply?.ok) this.known = Object.fromEntries(reply.data.map((queue) => [queue.session_id, queue]));
  }

  take(queue: QueueView): void {
    this.known = { ...this.known, [queue.session_id]: queue };
  }

  add = (session: string, order: NewOrder): Promise<string> => this.change("POST", session, "", order);
  edit = (session: string, order: string, change: OrderChange): Promise<string> => this.change("POST", session, `/orders/${part(order)}`, change);
  remove = (session: string, order: string): Promise<string> => this.change("DELETE", session, `/orders/${part(order)}`);
  hold = (session: string, hold: HoldRequest): Promise<string> => this.change("POST", session, "/hold", hold);

  /** What is wrong, in a sentence, or nothing. */
  private async change(method: string, session: string, path: string, body?: object): Promise<string> {
    try {
      const reply = await call<QueueView>(method, `/api/sessions/${part(session)}/queue${path}`, body);
      if (!reply.ok) return line(reply.error) || "That didn't work.";
      this.take(reply.data);
      return "";
    } catch (error) {
      if (!(error instanceof NoConnection)) throw error;
      return "No connection. It may or may not have arrived; look again.";
    }
  }
}

export const queues = new Queues();
