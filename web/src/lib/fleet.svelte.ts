// The fleet that this machine is in: its machines, and whether this device may sign for them.
// Rule: without a fleet nothing of this is asked for or shown.

import { actsGoTo, type Place } from "./acts";
import { get } from "./api";
import type { FleetView, HostRef, HostView, PromptStory, PromptView, SessionView } from "./types";

class Fleet {
  view: FleetView | null = $state.raw(null);
  private find: (kind: string, id: string) => HostRef | null = () => null;

  constructor() {
    actsGoTo((path) => this.place(path));
  }

  /** `find`: the machine of a prompt or a session that is on this page. */
  begin(find: typeof this.find): void {
    this.find = find;
  }

  async load(): Promise<void> {
    const reply = await get<FleetView>("/api/fleet").catch(() => null);
    if (reply?.ok) this.view = reply.data.fleet ? reply.data : null;
  }

  changed(id: string, host: HostView | null): void {
    if (!this.view) return;
    const others = this.view.hosts.filter((each) => each.id !== id);
    this.view = { ...this.view, hosts: host ? [...others, host] : others };
  }

  /** Is it of another machine than the one this page is from? */
  isRemote(one: PromptStory | PromptView | SessionView): boolean {
    return one.host !== null && one.host.id !== this.view?.me?.id;
  }

  private place(path: string): Place | null {
    const found = /^\/api\/(prompts|sessions)\/([^/?]+)/.exec(path);
    const host = found ? this.find(found[1]!, decodeURIComponent(found[2]!)) : null;
    if (!host || !this.view || host.id === this.view.me?.id) return null;
    return { fleet: this.view.fleet, device: this.view.device, host };
  }
}

export const fleet = new Fleet();
