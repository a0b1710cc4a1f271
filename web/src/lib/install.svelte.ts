// Whether this app can be put on the home screen, or is there already.

interface InstallEvent extends Event {
  prompt(): Promise<void>;
}

class Installer {
  installed = $state(matchMedia("(display-mode: standalone)").matches || (navigator as Navigator & { standalone?: boolean }).standalone === true);
  private offer: InstallEvent | null = $state.raw(null);

  constructor() {
    // The browser offers it once, soon after the page was opened: kept for when the person wants it.
    addEventListener("beforeinstallprompt", (event) => {
      event.preventDefault();
      this.offer = event as InstallEvent;
    });
    addEventListener("appinstalled", () => (this.installed = true));
  }

  get ready(): boolean {
    return this.offer !== null;
  }

  async ask(): Promise<void> {
    await this.offer?.prompt();
    this.offer = null;
  }
}

export const installer = new Installer();
