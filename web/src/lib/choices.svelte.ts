// How this device answers: choices of the person, kept on the device.
// Rule: a choice changes when something is sent or shown, never what is sent.

import { keepChoices, keptChoices } from "./kept";

interface Choices {
  /** An answer waits a moment before it is sent, and can be undone. */
  undo: boolean;
  /** After an answer the next prompt comes by itself. */
  advance: boolean;
}

class DeviceChoices implements Choices {
  undo = $state(keptChoices()["undo"] !== false);
  advance = $state(keptChoices()["advance"] !== false);

  set(what: keyof Choices, on: boolean): void {
    this[what] = on;
    keepChoices({ undo: this.undo, advance: this.advance });
  }
}

export const choices = new DeviceChoices();
