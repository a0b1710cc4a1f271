// Acts on other machines: what this device signs so that another machine of the fleet does something (`fleet/acts.py`).
// Rule: nothing is signed for a machine whose clock is hours off, and nothing but what a person has just asked for.

import { digestOf, signText } from "../../../src/yourcall/server/assets/key.js";
import { clock } from "./clock.svelte";
import type { HostRef } from "./types";

/** What an act needs to know of the fleet, and of the machine that an address is about; null: it is about this one. */
export interface Place {
  fleet: string;
  device: string;
  host: HostRef;
}

// Further off, a clock is set wrong by hand, or somebody wants a signature for another time.
const MOST_OFFSET = 3900;

let place: (path: string) => Place | null = () => null;

export const actsGoTo = (found: typeof place): void => void (place = found);

export class Act {
  private readonly id = word();

  private constructor(
    private readonly at: Place,
    private readonly method: string,
    private readonly path: string,
    private readonly body: string | Blob | null,
    private readonly shown: string,
  ) {}

  /** The act that this request takes; null: none. */
  static of(method: string, path: string, body: string | Blob | null, shown: string): Act | null {
    const at = method === "GET" ? null : place(path);
    return at && at.device ? new Act(at, method, path, body, shown) : null;
  }

  /** The header. `run` and `now`: as the machine has told them, if it did. */
  async header(run = this.at.host.run, now = (clock.exact + this.at.host.offset) * 1000): Promise<string> {
    if (Math.abs(now / 1000 - clock.exact) > MOST_OFFSET) throw new Error(`The clock of ${this.at.host.name} is hours off.`);
    const { host, device, fleet } = { ...this.at, host: this.at.host.id };
    const time = String(Math.round(now));
    const digest = await digestOf(this.body);
    const text = ["yourcall act 1", fleet, host, device, this.id, run, time, this.method, this.path, digest, this.shown || "-"].join("\n");
    const signature = await signText(text);
    return `device=${device}, host=${host}, id=${this.id}, run=${run}, time=${time}, digest=${digest}, shown=${this.shown}, signature=${signature}`;
  }
}

const word = (): string => Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");
