// Just enough of a shell's grammar to see which programs a command starts, and with which words.
// Rule: what is not understood for certain is `unread`; the caller then treats the command as dangerous.

export interface Simple {
  words: string[];
  /** Where its output is written, and what it is fed with. */
  writes: string[];
  /** The program before it in a pipe, if there is one. */
  fedBy: Simple | null;
  /** A here-document or here-string is its input. */
  fedText: boolean;
}

export interface Parsed {
  commands: Simple[];
  unread: string;
}

const SPACE = /[ \t\r]/;
const KEYWORDS = new Set(["if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in",
  "{", "}", "!", "time", "function", "select", "[[", "]]"]);

/** A letter that stands for what is only known when it runs: `$x` inside a word. */
export const BLANK = "\u0001";

class Reader {
  at = 0;
  commands: Simple[] = [];
  unread = "";
  private waiting: { end: string; tabs: boolean; literal: boolean }[] = [];

  constructor(readonly text: string, readonly depth: number) {}

  private doubt(why: string): void {
    this.unread ||= why;
  }

  run(closer: string): void {
    let now: Simple = this.fresh(null);
    const finish = (next: Simple | null): void => {
      while (now.words.length && KEYWORDS.has(now.words[0]!)) now.words.shift();
      if (now.words.length || now.writes.length) this.commands.push(now);
      now = this.fresh(next);
    };
    while (this.at < this.text.length) {
      const c = this.text[this.at]!;
      const two = this.text.slice(this.at, this.at + 2);
      if (closer && c === closer) return finish(null);
      if (SPACE.test(c)) this.at++;
      else if (c === "\n") {
        this.at++;
        finish(null);
        this.skipDocuments();
      } else if (two === "\\\n") this.at += 2;
      else if (c === "#") this.at = this.lineEnd();
      else if (two === "&&" || two === "||" || two === ";;") (this.at += 2), finish(null);
      else if (two === "|&" || c === "|") {
        this.at += two === "|&" ? 2 : 1;
        finish(now.words.length ? now : null);
      } else if (two === "&>") (this.at += this.text[this.at + 2] === ">" ? 3 : 2), this.target(now);
      else if (c === ";" || c === "&") this.at++, finish(null);
      else if (two === "<(" || two === ">(") {
        this.at += 2;
        this.inner(")");
        now.words.push(BLANK);
      } else if (c === "(") {
        this.at++;
        this.inner(")");
      } else if (c === ")") {
        this.at++;
        if (closer !== ")") finish(null); // the end of a pattern in `case`
      } else if (c === "<" || c === ">") this.redirect(now);
      else {
        const word = this.word();
        if (/^\d+$/.test(word) && /[<>]/.test(this.text[this.at] ?? "")) continue;
        now.words.push(word);
      }
    }
    finish(null);
    if (closer) this.doubt("it does not end where it should");
    if (this.waiting.length) this.doubt("a text in it has no end");
  }

  private fresh(fedBy: Simple | null): Simple {
    return { words: [], writes: [], fedBy, fedText: false };
  }

  private lineEnd(): number {
    const end = this.text.indexOf("\n", this.at);
    return end < 0 ? this.text.length : end;
  }

  private redirect(now: Simple): void {
    const rest = this.text.slice(this.at, this.at + 3);
    if (rest === "<<<") {
      this.at += 3;
      now.fedText = true;
      this.blanks();
      this.word();
    } else if (rest.startsWith("<<")) {
      this.at += rest === "<<-" ? 3 : 2;
      now.fedText = true;
      this.blanks();
      const from = this.at;
      const end = this.word();
      this.waiting.push({ end, tabs: rest === "<<-", literal: /['"\\]/.test(this.text.slice(from, this.at)) });
    } else if (rest.startsWith("<")) {
      this.at += rest[1] === "&" ? 2 : 1;
      this.blanks();
      this.word();
    } else {
      this.at += rest[1] === ">" || rest[1] === "|" || rest[1] === "&" ? 2 : 1;
      this.target(now);
    }
  }

  private target(now: Simple): void {
    this.blanks();
    now.writes.push(this.word());
  }

  private blanks(): void {
    while (SPACE.test(this.text[this.at] ?? "")) this.at++;
  }

  private skipDocuments(): void {
    for (const { end, tabs, literal } of this.waiting.splice(0)) {
      const body: string[] = [];
      for (;;) {
        if (this.at >= this.text.length) return this.doubt("a text in it has no end");
        const stop = this.lineEnd();
        const line = this.text.slice(this.at, stop);
        this.at = Math.min(stop + 1, this.text.length);
        if ((tabs ? line.replace(/^\t+/, "") : line) === end) break;
        body.push(line);
      }
      if (!literal) this.quoted(body.join("\n"));
    }
  }

  /** Commands inside a text that is otherwise only text. */
  private quoted(text: string): void {
    const inside = new Reader(text, this.depth + 1);
    inside.string("");
    this.commands.push(...inside.commands);
    this.unread ||= inside.unread;
  }

  private inner(closer: string): void {
    if (this.depth > 20) return this.doubt("it is nested too deeply");
    const inside = new Reader(this.text, this.depth + 1);
    inside.at = this.at;
    inside.run(closer);
    this.at = inside.at + 1;
    this.commands.push(...inside.commands);
    this.unread ||= inside.unread;
  }

  /** A double-quoted part up to `closer`, or all of the text. */
  string(closer: string): string {
    let out = "";
    while (this.at < this.text.length) {
      const c = this.text[this.at]!;
      if (c === closer) {
        this.at++;
        return out;
      }
      if (c === "\\") (out += this.text[this.at + 1] ?? ""), (this.at += 2);
      else if (c === "$" || c === "`") out += this.dollar();
      else (out += c), this.at++;
    }
    if (closer) this.doubt("a quote in it is never closed");
    return out;
  }

  private dollar(): string {
    if (this.text[this.at] === "`") {
      const end = this.text.indexOf("`", this.at + 1);
      if (end < 0) this.doubt("a quote in it is never closed");
      const body = this.text.slice(this.at + 1, end < 0 ? this.text.length : end);
      this.at = end < 0 ? this.text.length : end + 1;
      const inside = new Reader(body.replace(/\\([`\\$])/g, "$1"), this.depth + 1);
      inside.run("");
      this.commands.push(...inside.commands);
      this.unread ||= inside.unread;
      return BLANK;
    }
    const rest = this.text.slice(this.at, this.at + 3);
    if (rest === "$((") {
      const end = this.text.indexOf("))", this.at);
      if (end < 0 || /[`$]\(|`/.test(this.text.slice(this.at + 3, end))) this.doubt("its arithmetic is not read");
      this.at = end < 0 ? this.text.length : end + 2;
    } else if (rest.startsWith("$(")) {
      this.at += 2;
      this.inner(")");
    } else if (rest.startsWith("${")) {
      const end = this.text.indexOf("}", this.at);
      const body = this.text.slice(this.at + 2, end < 0 ? undefined : end);
      if (end < 0 || /[`(]/.test(body)) this.doubt("a variable in it is not read");
      this.at = end < 0 ? this.text.length : end + 1;
    } else {
      const name = /^\$(\w+|[@*#?$!-])?/.exec(this.text.slice(this.at))!;
      this.at += name[0].length;
      if (name[0] === "$") return "$";
    }
    return BLANK;
  }

  word(): string {
    let out = "";
    while (this.at < this.text.length) {
      const c = this.text[this.at]!;
      if (/[\s;&|<>()]/.test(c)) break;
      if (c === "'") {
        const end = this.text.indexOf("'", this.at + 1);
        if (end < 0) this.doubt("a quote in it is never closed");
        out += this.text.slice(this.at + 1, end < 0 ? undefined : end);
        this.at = end < 0 ? this.text.length : end + 1;
      } else if (this.text.startsWith("$'", this.at)) {
        this.doubt("it spells letters by number");
        this.at += 1;
      } else if (c === '"') this.at++, (out += this.string('"'));
      else if (c === "\\") (out += this.text[this.at + 1] === "\n" ? "" : (this.text[this.at + 1] ?? "")), (this.at += 2);
      else if (c === "$" || c === "`") out += this.dollar();
      else (out += c), this.at++;
    }
    return out;
  }
}

/** Every program a command line starts, also inside `$(…)`, backticks and parentheses. */
export function parse(command: string): Parsed {
  const reader = new Reader(command, 0);
  reader.run("");
  return { commands: reader.commands, unread: reader.unread };
}
