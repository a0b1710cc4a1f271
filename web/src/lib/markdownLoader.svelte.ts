// Loads the Markdown renderer once, when the first text needs it.

class MarkdownLoader {
  inert: ((text: string) => string) | null = $state.raw(null);
  private asked = false;

  want(): void {
    if (this.asked) return;
    this.asked = true;
    import("./markdown").then(
      (module) => (this.inert = module.inert),
      () => (this.asked = false), // no line: the text is shown as it is
    );
  }
}

export const markdownLoader = new MarkdownLoader();
