// How this device sends answers, as the person set it up; stored on the device.
// Rule: a preference changes when something is sent or shown, never what is sent.

import { savePreferences, savedPreferences } from "./deviceStorage";

interface Preferences {
  /** An answer waits a moment before it is sent, and can be undone. */
  undo: boolean;
  /** After an answer the next prompt comes by itself. */
  advance: boolean;
}

class DevicePreferences implements Preferences {
  undo = $state(savedPreferences()["undo"] !== false);
  advance = $state(savedPreferences()["advance"] !== false);

  set(what: keyof Preferences, on: boolean): void {
    this[what] = on;
    savePreferences({ undo: this.undo, advance: this.advance });
  }
}

export const preferences = new DevicePreferences();
