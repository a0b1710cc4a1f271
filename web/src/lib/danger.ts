// What needs a hold and not a tap, and why: the one list of what this app calls dangerous.
// Rule: careful rather than clever. It only ever makes a yes slower, never a no; what cannot be read counts as
// dangerous. (Rules of the user are the daemon's business; this is the last look before a thumb comes down.)

import { BLANK, parse, type Simple } from "./shell";
import type { PromptView } from "./types";
import { hides } from "./visible";
import { commandOf, textOf } from "./words";

const SHELLS = new Set(["sh", "bash", "zsh", "dash", "ksh", "fish", "ash"]);
const SPEAKERS = new Set([...SHELLS, "python", "python3", "node", "perl", "ruby", "php", "deno", "bun", "osascript", "pwsh"]);
const FETCHERS = new Set(["curl", "wget", "nc", "ncat", "netcat", "http", "https", "aria2c", "socat"]);
const ROOT = new Set(["sudo", "su", "doas", "pkexec", "runuser", "gosu", "setpriv"]);
// They start the program named after them; how many words of their own come first is not known for certain.
const WRAPPERS = new Set(["env", "nohup", "nice", "ionice", "time", "timeout", "stdbuf", "setsid", "command", "builtin",
  "exec", "xargs", "parallel", "watch", "flock", "caffeinate", "chronic", "strace", "ltrace", "unbuffer", "busybox"]);

// They write to the files they are given.
const WRITERS = new Set(["tee", "sed", "mv", "cp", "ln", "install", "touch", "chmod", "mkdir", "patch"]);

const DELETES = "It deletes files.";
const REMOTE = "It changes what others see.";
const SYSTEM = "It changes this machine itself.";
const GONE = "It throws away work that git may not bring back.";

/** Programs that are dangerous whatever their words are. */
const ALWAYS: Record<string, string> = {
  rm: DELETES, rmdir: DELETES, unlink: DELETES, shred: DELETES, srm: DELETES, trash: DELETES, truncate: DELETES,
  dd: "It writes to a disk or file, byte by byte.", fdisk: SYSTEM, parted: SYSTEM, wipefs: SYSTEM, mkswap: SYSTEM,
  shutdown: SYSTEM, reboot: SYSTEM, halt: SYSTEM, poweroff: SYSTEM, init: SYSTEM, systemctl: SYSTEM, service: SYSTEM,
  launchctl: SYSTEM, crontab: SYSTEM, at: SYSTEM, mount: SYSTEM, umount: SYSTEM, useradd: SYSTEM, userdel: SYSTEM,
  usermod: SYSTEM, passwd: SYSTEM, visudo: SYSTEM, chown: SYSTEM, chgrp: SYSTEM, chattr: SYSTEM, setfacl: SYSTEM,
  iptables: SYSTEM, nft: SYSTEM, ufw: SYSTEM, sysctl: SYSTEM, insmod: SYSTEM, modprobe: SYSTEM,
  kill: "It ends programs.", pkill: "It ends programs.", killall: "It ends programs.",
  eval: "It builds its own commands.",
  ssh: "It works on another machine.", scp: "It copies to or from another machine.",
  sftp: "It copies to or from another machine.", rsync: "It copies, and may delete, many files.",
  nc: "It opens a line to another machine.", ncat: "It opens a line to another machine.",
  netcat: "It opens a line to another machine.", socat: "It opens a line to another machine.",
};

/** Programs that are dangerous with certain words: program, the words, why. */
const SOMETIMES: [RegExp, RegExp, string][] = [
  [/^git$/, /^push\b.*(?: -\w*[fd]| --(?:force|mirror|delete|prune)| \+\S| :\S)/, "It overwrites or deletes on the remote."],
  [/^git$/, /^(?:reset\b.*--(?:hard|merge|keep)|clean\b|stash (?:drop|clear)|reflog (?:expire|delete)|gc\b.*--prune|filter-\w+|update-ref -d)/, GONE],
  [/^git$/, /^(?:checkout|restore|switch)\b.*(?: --(?: |$)| \.(?: |$)| -f\b| --force| --discard)/, GONE],
  [/^git$/, /^(?:branch|tag)\b.*(?: -\w*[dD]| --delete)/, GONE],
  [/^git$/, /^(?:rm|worktree remove|submodule deinit)\b/, DELETES],
  [/^git$/, /(?:^| )-c\b|^config\b/, "It changes how git works; git can be told to run programs."],
  [/^find$/, / -(?:delete|exec|execdir|ok|okdir|fprint\w*)\b/, "It may delete or run something for each file it finds."],
  [/^fd(?:find)?$/, / -(?:x|X|-exec\S*)\b/, "It runs something for each file it finds."],
  [/^mkfs/, /^/, SYSTEM],
  [/^chmod$/, /(?:^| )(?:-\w*R|--recursive|[0-7]*7[0-7]?7\b|\S*[+=]\w*s)/, "It opens files to others."],
  [/^(?:curl|http|https)$/, /(?:^| )(?:-\w*[dFT]\b|--data\S*|--form\S*|--upload-file|--json|-X ?(?!GET|HEAD)\w+|--request (?!GET|HEAD)\w+)/, "It sends something to another machine."],
  [/^wget$/, /--(?:post|method|body)/, "It sends something to another machine."],
  [/^(?:npm|pnpm|yarn|bun|cargo|gem|twine|poetry|uv|hatch|flit|docker|podman)$/, /^(?:run )?(?:publish|unpublish|deprecate|yank|push|upload|release)\b/, REMOTE],
  [/^(?:npx|bunx|pnpx|uvx|pipx)$/, /^/, "It fetches a program and runs it."],
  [/^(?:npm|pnpm|yarn|bun)$/, /^(?:exec|dlx|x|create|init) /, "It fetches a program and runs it."],
  [/^(?:docker|podman)(?:-compose)?$/, /(?:^| )(?:rm|rmi|prune|kill|down\b.*-v|volume rm|exec|--privileged|-v|--volume|--mount)\b/, "It may delete containers or reach this machine from one."],
  [/^(?:kubectl|helm|oc)$/, /^(?:delete|drain|apply|replace|patch|scale|exec|uninstall|rollback|upgrade)\b/, "It changes a cluster."],
  [/^(?:terraform|tofu|pulumi|cdk)$/, /(?:^| )(?:apply|destroy|up|deploy|import|state)\b/, "It changes what runs in the cloud."],
  [/^(?:aws|gcloud|az|doctl|flyctl|fly|heroku|vercel|netlify|gsutil|s3cmd|rclone)$/, /(?:^| )(?!(?:list|ls|describe|get|show|logs|status|--version|--help)\b)\w/, "It may change what runs in the cloud."],
  [/^gh$/, /^(?:repo (?:delete|archive|edit)|release (?:delete|create)|pr (?:merge|close)|issue (?:delete|close)|secret|api\b.* -X|workflow run|auth)/, REMOTE],
  [/^(?:psql|mysql|mariadb|sqlite3|mongosh?|redis-cli)$/, /\b(?:drop|delete|truncate|update|alter|insert|grant|flushall|flushdb|remove)\b/i, "It changes a database."],
  [/^(?:dropdb|createdb|pg_restore|mysqladmin)$/, /^/, "It changes a database."],
  [/^(?:apt|apt-get|yum|dnf|pacman|apk|brew|snap|flatpak|port)$/, /(?:^| )-?-?(?:remove|purge|autoremove|uninstall|erase|R\w*|del|delete)\b/, SYSTEM],
  [/^(?:mv|cp|ln|install)$/, /(?:^| )(?:-\w*f|--force|--remove-destination)\b/, "It may overwrite files without asking."],
  [/^(?:security|gpg|pass|op|vault|keyctl|ssh-keygen|ssh-add)$/, /^/, "It handles keys or passwords."],
];

const DELICATE = /(?:^|\/)(?:\.ssh|\.gnupg|\.aws|\.kube|\.config\/gh|\.claude|\.codex|\.gemini|\.yourcall|\.git\/(?:hooks|config)|\.husky|\.github\/workflows|\.netrc|\.npmrc|\.pypirc|\.gitconfig|\.(?:bash|zsh|profile)\w*|\.env[\w.]*|id_[a-z0-9]+|authorized_keys|crontab|sudoers)(?:$|\/|\b)/;
const OUTSIDE = /^(?:\/(?:etc|usr|bin|sbin|boot|lib|opt|sys|proc|var|root|dev\/(?!null$|stdout$|stderr$|tty$|fd\/))|\/$)/;
const HEAVY_NAME = /(?:^|[^a-z])(?:delete|remove|drop|destroy|purge|truncate|revoke|kill|terminate|shutdown|publish|deploy|transfer|pay|charge|refund|merge|send|exec(?:ute)?|eval|run|shell|sudo)(?:[^a-z]|$)/;

/** Why this is dangerous, in a sentence; empty if nothing speaks for it. */
export function danger(prompt: PromptView, command?: string): string {
  if (prompt.kind === "unknown") return "yourcall cannot read what exactly is asked.";
  if (prompt.kind === "trust") return "It lets the agent work here, and run what this folder tells it to.";
  if (prompt.kind === "startup") return "It changes how the agent works from now on.";
  if (prompt.kind !== "permission") return "";
  if (prompt.hold) return "A rule of yours wants to be sure of this.";
  if (prompt.tool === null) return "yourcall knows this only from the screen: read it with care.";
  const input = prompt.tool.input;
  const fields = typeof input === "object" && input !== null && !Array.isArray(input) ? (input as Record<string, unknown>) : null;
  if (fields === null) return "What the tool gets cannot be shown.";
  const tool = prompt.tool.name;
  if (tool === "PowerShell") return "yourcall does not read PowerShell.";
  const runs = command ?? commandOf(prompt);
  if (runs) return inCommand(runs);
  if (tool === "Bash") return "The command cannot be shown.";
  const where = [fields["file_path"], fields["notebook_path"], fields["path"]].filter((p) => typeof p === "string");
  if (/Edit$|^Write$/.test(tool)) {
    if (where.length === 0) return "It does not say which file.";
    for (const path of where) if (atPlace(path)) return atPlace(path);
    return hides(JSON.stringify(input)) && where.some(hides) ? "The name of the file holds letters that cannot be seen." : "";
  }
  const name = tool.replace(/^mcp__/, "").replace(/([a-z])([A-Z])/g, "$1_$2").toLowerCase();
  if (!tool.startsWith("mcp__")) return "";
  return HEAVY_NAME.test(name) ? "By its name, this tool changes something for good." : inCommand(textOf(fields, "command", "cmd"));
}

function atPlace(path: string): string {
  if (DELICATE.test(path)) return "It changes a file that holds keys, or runs by itself.";
  return OUTSIDE.test(path) ? SYSTEM : "";
}

/** The same for one shell command. */
export function inCommand(text: string): string {
  if (hides(text)) return "It holds letters that cannot be seen.";
  if (text.length > 50_000) return "It is too long to be read by eye.";
  const { commands, unread } = parse(text);
  for (const command of commands) {
    const found = inSimple(command, 0);
    if (found) return found;
  }
  return unread ? `yourcall cannot read it for certain: ${unread}.` : "";
}

function inSimple(command: Simple, depth: number): string {
  for (const path of command.writes) {
    if (path.includes(BLANK)) return "It writes to a file whose name is not known yet.";
    if (atPlace(path)) return atPlace(path);
  }
  const words = [...command.words];
  while (words.length && /^\w+\+?=/.test(words[0]!)) {
    if (/^(?:PATH|LD_\w+|DYLD_\w+|IFS|BASH_ENV|ENV|PROMPT_COMMAND|NODE_OPTIONS|PYTHON\w+|GIT_\w+|PAGER|EDITOR)=/.test(words[0]!)) {
      return "It changes which programs are started.";
    }
    words.shift();
  }
  if (!words.length) return "";
  const program = words[0]!.split("/").pop()!;
  const rest = words.slice(1);
  if (words[0]!.includes(BLANK)) return "Which program it starts is not known yet.";
  if (ROOT.has(program)) return "It runs with the rights of another user.";
  if (WRAPPERS.has(program)) return depth > 5 ? "It hides its program behind others." : inWrapped(command, rest, depth);
  if (ALWAYS[program]) return ALWAYS[program];
  if (SPEAKERS.has(program.replace(/[\d.]+$/, "")) || SPEAKERS.has(program)) {
    const found = asSpeaker(program, rest, command, depth);
    if (found) return found;
  }
  if (WRITERS.has(program)) for (const path of rest) if (atPlace(path)) return atPlace(path);
  const said = rest.join(" ");
  const flat = program === "git" ? said.replace(/^(?:-C \S+ |--no-pager |-P )+/, "") : said;
  for (const [name, pattern, why] of SOMETIMES) if (name.test(program) && pattern.test(flat)) return why;
  return "";
}

function inWrapped(command: Simple, rest: string[], depth: number): string {
  // Any of the words may be the program: each is looked at as if it were.
  for (let n = 0; n < rest.length && n < 8; n++) {
    const found = inSimple({ ...command, words: rest.slice(n), writes: [] }, depth + 1);
    if (found) return found;
  }
  return "";
}

/** Shells and languages run what they are handed: by a pipe, by a text, by `-c`. */
function asSpeaker(program: string, rest: string[], command: Simple, depth: number): string {
  const shell = SHELLS.has(program);
  const fed = command.fedBy;
  if (fed !== null) {
    for (let by: Simple | null = fed; by; by = by.fedBy) {
      if (by.words.some((word) => FETCHERS.has(word.split("/").pop()!))) return "It runs what it fetches from the network.";
    }
    if (shell || !rest.some((word) => !word.startsWith("-"))) return "It runs what another program writes.";
  }
  if (command.fedText && !rest.some((word) => /^[^-]/.test(word) && !/^-c$/.test(word))) return "It runs a program that is written inside the command.";
  const flag = rest.findIndex((word) => (shell ? /^-\w*c$/ : /^-(?:c|e|E|r|p|-eval|-print|-command|-exec)$/i).test(word));
  if (flag >= 0) {
    const inner = rest[flag + 1] ?? "";
    if (!shell) return "It runs a program that is written inside the command.";
    if (inner.includes(BLANK) || depth > 3) return "It runs a command that is not known yet.";
    return inCommand(inner);
  }
  if (!shell && rest[0] === "eval") return "It runs a program that is written inside the command.";
  return rest.some((word) => word.includes("\u0001")) && shell ? "It runs a file that is not known yet." : "";
}
