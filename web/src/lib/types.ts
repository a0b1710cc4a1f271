// Made by tools/gen_types.py from the server's own types; not to be edited.

/** One tool call. `detail`: when started what will be done, when completed what came of it. `child` is the id of the subagent that this call started: its conversation is a file of its own. */
export interface Action {
  type: "action";
  kind: "command" | "file_change" | "note" | "question" | "tool" | "web";
  phase: "completed" | "started";
  call_id: string;
  tool: string;
  title: string;
  detail: string;
  diff: string;
  paths: string[];
  is_error: boolean;
  child: string;
  tokens: Tokens | null;
  at: number;
  offset: number;
  subagent: string;
}

/** What a permission would do, in the same words for every agent. `tool` is the agent's own name for it, to be shown. `command`: what a shell would be given; `shell` names the one that is no POSIX shell. `purpose`: what the agent says it is for. `paths`: every file it names. `url`, `host`: where it connects to. `server`, `name`: an MCP server and its tool. `unboxed`: it leaves the agent's sandbox. `more`: the fields of the input that nothing else here tells. `command_field`: the field of the input that is the command, word for word; an edited command goes there. `patch`: the changes are one patch; the prompt's body shows all of it, with what is asked besides. */
export interface ActionView {
  kind: "command" | "fetch" | "mcp" | "other" | "read" | "search" | "write";
  tool: string;
  command: string;
  shell: "" | "powershell";
  background: boolean;
  purpose: string;
  paths: string[];
  changes: FileChange[];
  url: string;
  host: string;
  server: string;
  name: string;
  unboxed: boolean;
  more: InputField[];
  command_field: string;
  patch: boolean;
}

/** A device that is paired here, by its id or name. */
export interface AllowRequest {
  device: string;
}

export interface AnswerReply {
  result: "accepted" | "approved" | "bounced" | "confirmed" | "refused" | "sent" | "taken" | "too_late" | "unsure";
  detail: string;
  by: string;
  at: number;
  prompt: PromptStory | null;
}

/** One question: `option` and/or `text`. Several: `choices` and `texts` by question. Words may be option ids, labels or a unique effect word such as `allow` or `deny`. `input` replaces the tool's input; it is judged like the tool's own. `sure`: the person confirmed it; a prompt on `hold`, and a risky edited `input`, are allowed only with this. `seen`: the prompt's `version` that was looked at; if what is asked has changed since, the answer is refused. */
export interface AnswerRequest {
  option?: string | null;
  question?: string | null;
  text?: string | null;
  choices?: Record<string, string[]>;
  texts?: Record<string, string>;
  input?: Record<string, unknown> | null;
  sure?: boolean;
  seen?: string;
  wait?: number;
}

/** A question of a script's. `name`: who asks. `id`: the script's own word for it; told again, it is the same question. `attended`: somebody waits for the answer, and without them it is withdrawn. */
export interface Ask {
  question: string;
  options?: (string | RequestsChoice)[];
  free_text?: boolean;
  multi_select?: boolean;
  body?: string;
  name?: string;
  cwd?: string;
  kind?: "permission" | "question";
  tool?: ToolCall | null;
  id?: string;
  attended?: boolean;
}

/** A question of a script's. `waiting`, `answered`, or `withdrawn`: it is over without an answer. */
export interface AskView {
  id: string;
  state: "answered" | "waiting" | "withdrawn";
  detail: string;
  answer: GivenView | null;
  prompt: PromptStory;
}

/** `tokens` stands on the first entry of a request only, so that a sum over entries is right. */
export interface AssistantText {
  type: "assistant";
  text: string;
  model: string;
  tokens: Tokens | null;
  at: number;
  offset: number;
  subagent: string;
}

/** `id` names it in a request: a path may hold bytes that are no text. `touched`: the agent's record names it. `added` and `removed` are None for a binary file, or where they were not counted. */
export interface ChangedFile {
  id: string;
  path: string;
  kind: "added" | "deleted" | "modified" | "untracked";
  touched: boolean;
  added: number | null;
  removed: number | null;
}

/** All channels, or the named one. `wait`: so long for somebody to tap the test's button. */
export interface ChannelTestRequest {
  name?: string;
  wait?: number;
}

/** A way people are told. `targets`: how many are told there; `problem`: what is wrong since it last worked. */
export interface ChannelView {
  name: string;
  kind: string;
  rung: string;
  targets: number;
  worked_at: number;
  problem: string;
}

export interface CommentsRequest {
  comments: LineComment[];
}

/** The agent replaced what came before by a summary. The summary itself may be an entry of its own. */
export interface Compaction {
  type: "compaction";
  summary: string;
  trigger: string;
  tokens_before: number | null;
  tokens_after: number | null;
  at: number;
  offset: number;
  subagent: string;
}

export interface CostView {
  session_id: string;
  agent: string;
  project: string;
  cost_usd: number;
  started_at: number;
}

export interface CountView {
  name: string;
  count: number;
}

export interface DeviceRequest {
  name: string;
}

/** `seen_at` is 0 until it came in for the first time; `current` is the one that asks. `key`: a script's token, a browser's own key; void: it was let in by a cookie, and has to be paired again. `passkeys`: of the one that asks: somebody has registered one, so a dangerous yes takes it. */
export interface DeviceView {
  id: string;
  name: string;
  created_at: number;
  seen_at: number;
  revoked_at: number | null;
  current: boolean;
  scopes: ("admin" | "answer" | "read" | "rules" | "steer")[];
  key: "browser" | "token" | "void";
  passkeys: boolean;
}

export interface Done {
  done: boolean;
}

/** `organisation`: the text of an organisation's rules, to be tried in the place of those that hold. */
export interface DryRunRequest {
  organisation: string;
}

/** `input`: the tool's whole input as it would be sent with a yes. */
export interface EditedRequest {
  input: Record<string, unknown>;
}

/** What was added to the conversation that this client watches; it goes on at `page.end` of `page.file`. `session_id`: the session as it goes by now. `page.restarted`: another file, whose last page this is. */
export interface EntriesNews {
  type: "entries";
  session_id: string;
  subagent: string;
  page: Page;
}

/** What becomes of one file. `old` and `new` are the part that is replaced and what takes its place; of a `write`, `new` is the whole file; of a `delete`, `old` is. `diff`: a unified diff, where only that is told. `to`: where it is moved. `note`: what else is true of it, in a sentence. */
export interface FileChange {
  path: string;
  change: "delete" | "edit" | "write";
  old: string;
  new: string;
  diff: string;
  to: string;
  note: string;
}

/** One file's change as a unified diff; `complete`: False if its end was cut off. */
export interface FilePatch {
  id: string;
  path: string;
  patch: string;
  complete: boolean;
}

/** A device that may sign for the fleet, or (`allowed` false) one that is paired here and may not yet. `check`: the beginning of its key's digest, to be compared with what the device shows. */
export interface FleetDevice {
  id: string;
  name: string;
  allowed: boolean;
  check: string;
  home: string;
  scopes: string[];
}

/** The fleet that this machine is in; `fleet` is empty where it is in none. `line`: NATS is reached, else `problem` says why not. `authority`: the key that says who belongs is on this machine. `device`: the id under which the device that asks may sign for other machines, "" if it may not. `leader`: this hub tells people. */
export interface FleetView {
  fleet: string;
  name: string;
  fingerprint: string;
  me: HostRef | null;
  roles: ("desk" | "host" | "hub")[];
  addresses: string[];
  line: boolean;
  problem: string;
  authority: boolean;
  device: string;
  leader: boolean;
  hosts: HostView[];
  warnings: string[];
}

export interface GestureRequest {
  credential: Record<string, unknown>;
}

/** A gesture with a passkey that is waited for, and what it is for. `challenge` is what it signs, in base64url; `credentials` are the passkeys that will do on this page. `problem`: why none can be used here. */
export interface GestureView {
  id: string;
  words: string;
  challenge: string;
  rp_id: string;
  credentials: string[];
  expires_in: number;
  problem: string;
}

/** `files`: ids from the list of changes; a commit without any is of what is staged. `branch`: a worktree's. */
export interface GitRequest {
  action: "commit" | "discard" | "push" | "stage" | "unstage" | "worktree";
  files?: string[];
  message?: string;
  branch?: string;
}

/** `person`: the name of one; empty: the device is the owner's of the machine. */
export interface GiveRequest {
  person: string;
}

/** An answer as a script reads it; `options` are ids. `input`: the edited tool input, or null. */
export interface GivenView {
  id: string;
  by: string;
  options: string[];
  text: string;
  input: unknown | null;
}

/** A prompt or a session of another machine is not there any more, and nobody says how it ended. */
export interface GoneNews {
  type: "gone";
  kind: "prompt" | "session";
  id: string;
}

/** What somebody may do, and where: in these folders and below, on these machines; empty: everywhere. */
export interface Grant {
  roles: ("admin" | "answer" | "rules" | "see" | "steer")[];
  projects: string[];
  machines: string[];
}

/** `what` was done, to what it was `about`, and how its author is known. */
export interface HappenedView {
  at: number;
  what: string;
  about: string;
  by: string;
  how: string;
  prompt_id: string;
}

/** One link of the chain over the record: its place, and the hash that seals everything up to it. */
export interface HeadView {
  place: number;
  hash: string;
}

/** The first message of a feed. `snapshot`: nothing before `seq` will follow, so fetch the lists now. `paused`: nothing is decided by rule now; null where there are no rules. `now`: the time here, in seconds: a phone's own clock may be wrong. `head`: the end of the chain over the record; a client that keeps it can ask later whether the record still holds it. */
export interface Hello {
  type: "hello";
  seq: number;
  snapshot: boolean;
  paused: boolean | null;
  now: number;
  head: HeadView | null;
}

export interface HoldRequest {
  held: boolean;
}

/** A machine came, went, or is called otherwise now; null: it is not in the fleet any more. */
export interface HostNews {
  type: "host";
  id: string;
  host: HostView | null;
}

/** The machine that a prompt or a session is of. `run` and `offset`: what a device signs for it with: the run of its daemon, and how far its clock is ahead of this one, in seconds. */
export interface HostRef {
  id: string;
  name: string;
  state: "offline" | "online";
  seen_at: number;
  run: string;
  offset: number;
}

/** A machine of the fleet. `offset`: how far its clock is ahead, in seconds; null until it was heard. `refused`: how many requests it has refused since it started, and `problem` the last of them. `here`: it is this one. */
export interface HostView {
  id: string;
  name: string;
  state: "offline" | "online";
  seen_at: number;
  version: string;
  here: boolean;
  roles: ("desk" | "host" | "hub")[];
  prompts: number;
  sessions: number;
  offset: number | null;
  refused: number;
  problem: string;
}

/** A field of a tool's input; `value` is its text, or JSON if it is no text. */
export interface InputField {
  name: string;
  value: string;
}

/** One thing to answer: buttons for `options`, a text field for `textInput`, both if there are both. `multiSelect`: several options may be chosen. */
export interface InteractivePrompt {
  requestId: string;
  type: "loop-detected" | "permission" | "plan" | "question";
  title: string;
  description: string;
  toolName: string | null;
  toolInput: unknown | null;
  options: ConvertChoice[] | null;
  textInput: TextInput | null;
  multiSelect: boolean;
}

export interface InvitationView {
  code: string;
  ends_at: number;
}

/** What the machine that joins may do: `host` it may be answered, `hub` it shows the others, `desk` its command line may answer for them. */
export interface InviteRequest {
  roles?: ("desk" | "host" | "hub")[];
}

/** What a tool would do with an edited input, and how risky a yes to that is. `confirm`: by option, why it needs a confirmation. */
export interface JudgedView {
  action: ActionView | null;
  risk: Risk;
  confirm: Record<string, string>;
}

export interface KeyRequest {
  key: string;
}

/** `told`: the authority knows that this machine went; else it lists it until somebody removes it there. */
export interface LeftView {
  told: boolean;
}

/** A comment on one line of a change. `line` counts from 1 in the file as it is now; with `old`, as it was. `code`: that line, as it was looked at. */
export interface LineComment {
  path: string;
  line: number;
  text: string;
  code: string;
  old: boolean;
}

/** A way we touch a session: `hook`, or `tmux` with the server's socket and the pane, or `pty` with the run's socket and its name. */
export interface Link {
  kind: string;
  target: string;
  server: string;
}

/** `since`: from when on to tell what happened; a day ago, unless said. `keep`: do not revoke the device that asks for it. */
export interface LockRequest {
  since?: number | null;
  keep?: boolean;
}

/** `happened` since then, the oldest first; `all`: that is all of it, not only the latest. */
export interface LockView {
  locked: boolean;
  at: number;
  by: string;
  since: number;
  happened: HappenedView[];
  all: boolean;
}

/** Who answered what, when, after how many seconds, and what then happened. */
export interface LogLine {
  id: string;
  agent: string;
  session_id: string;
  cwd: string;
  kind: "elicitation" | "loop" | "permission" | "plan" | "problem" | "question" | "ready" | "startup" | "trust" | "unknown";
  title: string;
  opened_at: number;
  answered_at: number;
  waited: number;
  by: string;
  via: string;
  answer: string;
  text: string;
  state: "accepted" | "answering" | "confirmed" | "desk" | "ended" | "open" | "sent" | "unsure";
  outcome: "allowed" | "denied" | "stopped" | "unknown" | null;
  detail: string;
  author_certainty: string;
  device_id: string;
}

/** A message that holds the words. `offset`: where it stands in the record of its session. */
export interface MessageHit {
  session_id: string;
  agent: string;
  cwd: string;
  offset: number;
  at: number;
  excerpt: string;
}

/** `complete`: all that is on record was searched. If not, ask again: each search reads some more of it. */
export interface MessageHits {
  messages: MessageHit[];
  complete: boolean;
}

export interface ModeRequest {
  permission_mode: string;
}

export interface ModelRequest {
  model: string;
}

export interface MomentView {
  at: number;
  state: "accepted" | "answering" | "confirmed" | "desk" | "ended" | "open" | "sent" | "unsure";
  by: string;
  detail: string;
}

/** The only time the token is shown; just its hash is kept. A browser with a key has none. `run` and `now` (milliseconds) are the server's own: what a browser signs has them in it. */
export interface NewDevice {
  id: string;
  name: string;
  token: string;
  scopes: ("admin" | "answer" | "read" | "rules" | "steer")[];
  run: string;
  now: number;
}

export interface NewDeviceRequest {
  name: string;
  scopes?: ("admin" | "answer" | "read" | "rules" | "steer")[];
}

/** `at`: with the trigger `time`, in seconds since 1970. `command`: with the trigger `command`, from this machine only; it runs in the session's folder when the turn has ended, and must pass. */
export interface NewOrder {
  text: string;
  trigger?: "command" | "limit" | "time" | "turn";
  at?: number;
  command?: string;
}

/** What a browser makes a passkey from. `known`: those that are there already. */
export interface NewPasskey {
  id: string;
  challenge: string;
  rp_id: string;
  user: string;
  known: string[];
}

/** `code`: from `yourcall passkeys add`, instead of the word of a passkey that is there. */
export interface NewPasskeyRequest {
  code?: string;
}

export interface NewSession {
  id: string;
}

/** Something the agent's program says, or did, that is neither the person nor the model. */
export interface Notice {
  type: "notice";
  text: string;
  level: "error" | "info" | "warning";
  at: number;
  offset: number;
  subagent: string;
}

/** One way to answer a question; `description` says in plain words what it will do in this agent. `confirm`: it needs a confirmation by the person, and `confirm_reason` says why. `digit`: its number in the agent's own dialog, '' where that is not known for certain. */
export interface Option {
  id: string;
  label: string;
  effect: "allow_always" | "allow_once" | "allow_session" | "choose" | "deny" | "reply" | "stop";
  description: string;
  preview: string;
  confirm: boolean;
  confirm_reason: string;
  digit: string;
}

/** A new `text`, or a new `place` among those that wait, counted from 1. */
export interface OrderChange {
  text?: string | null;
  place?: number | null;
}

/** An instruction in the queue of a session. `trigger`: what it waits for besides the end of a turn. `detail`: what became of it, in words. */
export interface OrderView {
  id: string;
  text: string;
  by: string;
  via: string;
  added_at: number;
  trigger: "command" | "limit" | "time" | "turn";
  at: number;
  command: string;
  state: "checking" | "done" | "dropped" | "given" | "giving" | "unsure" | "waiting";
  changed_at: number;
  detail: string;
}

/** Some entries of one transcript, oldest first. `next_before` leads to the page before this one; None: this one is the first. `end` is where a follower goes on. `file` names the file the offsets belong to; `restarted`: it is not the one that was asked for. */
export interface Page {
  entries: (UserMessage | AssistantText | Thinking | Action | Result | Compaction | Notice)[];
  next_before: number | null;
  end: number;
  file: string;
  restarted: boolean;
}

/** `key`: a browser's own public key, a P-256 point in base64url; it then signs, and gets no token. */
export interface PairRequest {
  code: string;
  name?: string;
  key?: string;
}

export interface PairingCode {
  code: string;
  expires_at: number;
}

/** A pane of a tmux server of the user's: the server's socket, the pane's id such as `%3`, and which agent is in it (one that yourcall does not know is looked at as any program). */
export interface PaneRequest {
  server: string;
  pane: string;
  agent?: string;
}

/** One thing that would happen, its effects, and what was said to it by which rule. `layer`: whose rule that is (`organisation`, `yours`, `project`). */
export interface PartView {
  text: string;
  effects: string[];
  do: "allow" | "ask" | "deny" | "hold";
  rule: string;
  layer: string;
}

/** Shown once, good for five minutes and one passkey. */
export interface PasskeyCode {
  code: string;
}

/** `credential`: as the browser gives it, as JSON. */
export interface PasskeyRequest {
  id: string;
  name: string;
  credential: Record<string, unknown>;
}

/** `here`: it can be used on the page that asks, which has the name `rp_id`. */
export interface PasskeyView {
  id: string;
  name: string;
  rp_id: string;
  created_at: number;
  used_at: number;
  here: boolean;
}

/** Somebody pulled the brake, or let it go: whether rules are paused from now on. Without a `seq`. */
export interface PauseNews {
  type: "pause";
  paused: boolean;
}

/** How many devices and passkeys of theirs were revoked. */
export interface PersonRemoved {
  devices: number;
  passkeys: number;
}

export interface PersonRequest {
  name: string;
  grants: Grant[];
}

/** `devices`: the names of the devices that are theirs. */
export interface PersonView {
  id: string;
  name: string;
  grants: Grant[];
  devices: string[];
}

/** A picture in a record; `data` is base64, as it stands there. */
export interface Picture {
  media_type: string;
  data: string;
}

/** A 'no' as a sentence that says what to do. */
export interface Problem {
  error: string;
}

export interface PromptNews {
  type: "prompt";
  seq: number;
  at: number;
  prompt: PromptStory;
}

/** Where several may be chosen: `selectedOptions`, or `selectedOption` with commas between them. */
export interface PromptResponse {
  requestId: string;
  selectedOption?: string | null;
  textValue?: string | null;
  selectedOptions?: string[];
}

/** A prompt with everything that happened to it. `author_certainty`: how the author of its answer is known. */
export interface PromptStory {
  id: string;
  kind: "elicitation" | "loop" | "permission" | "plan" | "problem" | "question" | "ready" | "startup" | "trust" | "unknown";
  state: "accepted" | "answering" | "confirmed" | "desk" | "ended" | "open" | "sent" | "unsure";
  agent: string;
  session_id: string;
  cwd: string;
  title: string;
  body: string;
  tool: ToolView | null;
  questions: Question[];
  opened_at: number;
  held: boolean;
  hold: boolean;
  subagent: string;
  permission_mode: string;
  answered_by: string | null;
  outcome: "allowed" | "denied" | "stopped" | "unknown" | null;
  closed_at: number | null;
  machine: string;
  branch: string;
  version: string;
  rank: number;
  action: ActionView | null;
  risk: Risk;
  resets_at: number;
  host: HostRef | null;
  history: MomentView[];
  author_certainty: string;
}

/** A prompt as lists show it. `version` is another one as soon as anything else is asked under this id. `rank`: its place in any list, before its age; the lower, the more it blocks its agent. `action`: what the tool of a permission would do, in the same words for every agent; null if there is none, or it cannot be read. `risk`: how risky a yes is, the same wherever the prompt is shown. `resets_at`: when the limit resets that stopped the session; 0: there is none, or nobody told. `host`: the machine it is of, null where there is no fleet. */
export interface PromptView {
  id: string;
  kind: "elicitation" | "loop" | "permission" | "plan" | "problem" | "question" | "ready" | "startup" | "trust" | "unknown";
  state: "accepted" | "answering" | "confirmed" | "desk" | "ended" | "open" | "sent" | "unsure";
  agent: string;
  session_id: string;
  cwd: string;
  title: string;
  body: string;
  tool: ToolView | null;
  questions: Question[];
  opened_at: number;
  held: boolean;
  hold: boolean;
  subagent: string;
  permission_mode: string;
  answered_by: string | null;
  outcome: "allowed" | "denied" | "stopped" | "unknown" | null;
  closed_at: number | null;
  machine: string;
  branch: string;
  version: string;
  rank: number;
  action: ActionView | null;
  risk: Risk;
  resets_at: number;
  host: HostRef | null;
}

/** A rule that was not made yet, what it would have decided, and what the rules say to the prompt now. */
export interface ProposalView {
  rule: RuleView;
  tried: TriedView;
  now: RulingView;
}

export interface PushKeys {
  p256dh: string;
  auth: string;
}

/** A browser's subscription, as its `toJSON` gives it. */
export interface PushRequest {
  endpoint: string;
  keys: PushKeys;
}

/** `key`: what a browser subscribes with; `subscribed`: whether the device that asks is told. */
export interface PushView {
  key: string;
  subscribed: boolean;
}

/** One thing that is asked. `type` is set for a field of a form: what the text must be read as. `header`: the agent's own short name for the question, if it gave one. */
export interface Question {
  id: string;
  text: string;
  options: Option[];
  multi_select: boolean;
  free_text: boolean;
  required: boolean;
  type: "" | "integer" | "number" | "text";
  minimum: number | null;
  maximum: number | null;
  header: string;
}

/** The queue of a session has changed. Without a `seq`: after a reconnect, fetch the queues. */
export interface QueueNews {
  type: "queue";
  queue: QueueView;
}

/** What waits for a session, in the order in which it is given, after what is over. `held`: why nothing is given until a person lets it go on. `waits_for`: why the first is not given now, in words. */
export interface QueueView {
  session_id: string;
  orders: OrderView[];
  held: string;
  waits_for: string;
}

/** Who decided how many, how long prompts waited, and the rules that would have saved most taps. */
export interface ReportView {
  decided: Record<string, number>;
  waits: WaitView[];
  savings: SavingView[];
}

/** `result` as for any answer; `next`: the prompt's next question, to be answered under its own `requestId`. */
export interface ResponseResult {
  requestId: string;
  result: "accepted" | "approved" | "bounced" | "confirmed" | "refused" | "sent" | "taken" | "too_late" | "unsure" | "next";
  detail: string;
  next: InteractivePrompt | null;
}

/** How a turn, or the whole session, ended. `cost_usd` is always what the session has cost so far. */
export interface Result {
  type: "result";
  scope: "session" | "turn";
  is_error: boolean;
  text: string;
  cost_usd: number | null;
  seconds: number | null;
  turns: number | null;
  tokens: Tokens | null;
  at: number;
  offset: number;
  subagent: string;
}

/** `agent`: one of `/api/reviewers`. `text`: the question; empty: the usual one. `subject`: what it is about, if not what the session said last. `prompt`: the id of what it asks for. */
export interface ReviewRequest {
  agent: string;
  text?: string;
  subject?: string;
  prompt?: string;
}

/** A second opinion. `by_session`: the reviewer's own session. `text`: what it has said so far, or in all; `detail`: why there is no more. `files`: how many differ; `whole_diff`: the reviewer was given all of it. */
export interface ReviewView {
  id: string;
  session_id: string;
  reviewer: string;
  by_session: string;
  question: string;
  at: number;
  by: string;
  round: number;
  subject: string;
  prompt_id: string;
  state: "done" | "ended" | "failed" | "running";
  text: string;
  detail: string;
  cost_usd: number;
  done_at: number;
  sent_at: number;
  order_id: string;
  files: number;
  whole_diff: boolean;
}

/** How risky a yes to a prompt is, and why, in one sentence. `unclear`: nobody can tell what it would do. A yes to what is not `low` needs a confirmation. */
export interface Risk {
  level: "high" | "low" | "unclear";
  reason: string;
}

/** A new rule: like a `prompt`, or as `text`, one section of TOML. `until`: seconds since 1970. */
export interface RuleRequest {
  prompt?: string;
  text?: string;
  do?: "allow" | "ask" | "deny" | "hold";
  message?: string;
  uses?: number | null;
  until?: number | null;
}

export interface RuleTestRequest {
  command: string;
  cwd?: string;
  agent?: string;
}

/** `words` says all that the rule does; `text` is its section of the file. `project`: whose file it is in. `used`: how often since `since`, in the last thousand prompts; `by`: who made it, if it was made here. */
export interface RuleView {
  name: string;
  do: "allow" | "ask" | "deny" | "hold";
  words: string;
  text: string;
  project: string;
  used: number;
  uses: number | null;
  until: number | null;
  since: number;
  by: string;
}

/** `problems`: sentences about files that cannot be used as they are; then nothing they allow counts. */
export interface RulesView {
  path: string;
  rules: RuleView[];
  problems: string[];
  paused: boolean;
  paused_by: string;
  paused_at: number;
}

/** What the rules say. `hold`: ask, and a yes must be said twice. */
export interface RulingView {
  do: "allow" | "ask" | "deny" | "hold";
  why: string;
  rules: string[];
  message: string;
  parts: PartView[];
}

export interface SavingView {
  words: string;
  text: string;
  taps: number;
}

export interface ScopesRequest {
  scopes: ("admin" | "answer" | "read" | "rules" | "steer")[];
}

/** A terminal as it looks now, colours as escapes. `tag`: what to give as `seen`. No cursor: -1. */
export interface ScreenView {
  tag: string;
  columns: number;
  rows: number;
  screen: string;
  cursor_x: number;
  cursor_y: number;
}

/** A prompt that holds the words; `excerpt` is the place where it does. */
export interface SearchHit {
  id: string;
  kind: "elicitation" | "loop" | "permission" | "plan" | "problem" | "question" | "ready" | "startup" | "trust" | "unknown";
  agent: string;
  session_id: string;
  cwd: string;
  title: string;
  excerpt: string;
  state: "accepted" | "answering" | "confirmed" | "desk" | "ended" | "open" | "sent" | "unsure";
  opened_at: number;
}

/** `text`: what the session is told; empty: the whole review, quoted. */
export interface SendBackRequest {
  text?: string;
}

/** A message for a session. `as_command`: a leading `/` or `!` is meant as the agent's own command. */
export interface SendRequest {
  text: string;
  as_command?: boolean;
}

/** `start` and `head` are commits; "" where there is none. `complete`: False if files were left out. */
export interface SessionChanges {
  session_id: string;
  against: "head" | "record" | "start";
  root: string;
  files: ChangedFile[];
  branch: string;
  start: string;
  head: string;
  complete: boolean;
  note: string;
}

export interface SessionNews {
  type: "session";
  seq: number;
  at: number;
  session: SessionView;
}

export interface SessionView {
  id: string;
  agent: string;
  cwd: string;
  state: "ended" | "idle" | "unknown" | "waiting" | "working";
  mode: string;
  permission_mode: string;
  links: Link[];
  pid: number;
  version: string;
  note: string;
  started_at: number;
  seen_at: number;
  goes_on_as: string;
  machine: string;
  branch: string;
  cost_usd: number;
  warning: string;
  host: HostRef | null;
}

/** Who changed which device, rule, channel or person, and when. `number` counts them from 1. */
export interface SettingsLine {
  number: number;
  at: number;
  area: "channels" | "devices" | "lock" | "passkeys" | "pause" | "people" | "policy" | "rules";
  what: string;
  about: string;
  by: string;
  detail: string;
}

/** What the agent is saying right now, before the message is whole; empty between messages. */
export interface SpeakingView {
  text: string;
  thinking: string;
}

/** `confirmed`: the session's own hooks, or its screen, show that it worked. `sent`: it left us, whole. */
export interface SpokenReply {
  result: "accepted" | "approved" | "bounced" | "confirmed" | "refused" | "sent" | "taken" | "too_late" | "unsure";
  detail: string;
}

/** A session to be started, headless, in the folder `cwd`. `resume`: the id of one that is to go on. `command`: from this machine only, a program that speaks ACP, with its arguments. Over ACP a session may begin without a `prompt`. */
export interface StartRequest {
  prompt?: string;
  cwd?: string;
  agent?: string;
  permission_mode?: string;
  model?: string;
  resume?: string;
  command?: string[];
}

/** An agent whose program is on this machine, and which yourcall can start. */
export interface StartableView {
  agent: string;
}

/** Where the time went. `complete`: False if there are more prompts than were counted. `median_wait`: half of the prompts waited longer for a person. `saved`: an estimate, that median for each prompt a rule decided. */
export interface StatsView {
  since: number;
  until: number;
  complete: boolean;
  waiting: WaitedView[];
  median_wait: number;
  kinds: CountView[];
  answered: CountView[];
  by_rule: number;
  saved: number;
  costs: CostView[];
}

/** `prompts` counts by state what is not closed; `seq` is where a live feed would go on. `head`: the end of the chain over the record; note it, and ask for it later. */
export interface Status {
  version: string;
  seq: number;
  prompts: Record<string, number>;
  sessions: number;
  paused: boolean;
  locked: boolean;
  head: HeadView | null;
}

/** This takes a passkey. Send the same request again, with the header `Yourcall-Step-Up: ID.ASSERTION`. */
export interface StepUpView {
  error: string;
  result: "refused";
  detail: string;
  step_up: GestureView;
}

/** `answer`: the id of the answer that the script has. */
export interface TakenRequest {
  answer: string;
}

export interface TapReply {
  result: "accepted" | "approved" | "bounced" | "confirmed" | "refused" | "sent" | "taken" | "too_late" | "unsure";
  detail: string;
}

/** The single-use token of one button of one notification. */
export interface TapRequest {
  token: string;
}

export interface TextInput {
  placeholder: string;
}

/** `text` is empty where the agent keeps its thoughts to itself. */
export interface Thinking {
  type: "thinking";
  text: string;
  seconds: number;
  tokens: Tokens | null;
  at: number;
  offset: number;
  subagent: string;
}

/** It opens the live feed once, within `seconds`. */
export interface Ticket {
  ticket: string;
  seconds: number;
}

/** What one request to the model used. */
export interface Tokens {
  input: number;
  output: number;
  cache_read: number;
  cache_written: number;
}

/** The tool that a permission is asked for. */
export interface ToolCall {
  name: string;
  input: Record<string, unknown>;
}

/** The tool a permission is about; `input` is what the agent sent, untouched, or null if it is not stored. */
export interface ToolView {
  name: string;
  input: unknown | null;
}

export interface TrialView {
  channel: string;
  kind: string;
  target: string;
  sent: boolean;
  detail: string;
  tapped: boolean;
}

/** Over the recorded past: how many prompts were looked at, how many would have been decided, and how many of those as people had decided them, or otherwise. */
export interface TriedView {
  looked: number;
  decided: number;
  same: number;
  other: number;
  examples: string[];
}

/** A person who is paired with this channel, by name or number. */
export interface UnpairRequest {
  name: string;
  person?: string;
}

/** Where the file is on the machine: what to tell an agent. */
export interface UploadView {
  path: string;
  name: string;
  size: number;
}

/** `by` is empty for the person, else what spoke in the person's place (a task that ended, a hook). */
export interface UserMessage {
  type: "user";
  text: string;
  by: string;
  at: number;
  offset: number;
  subagent: string;
}

export interface WaitRequest {
  wait?: number;
}

/** How long prompts of a kind waited in a project, in seconds. */
export interface WaitView {
  project: string;
  kind: "elicitation" | "loop" | "permission" | "plan" | "problem" | "question" | "ready" | "startup" | "trust" | "unknown";
  count: number;
  median: number;
  longest: number;
  total: number;
}

/** How long prompts of one project waited for a person on one day, in seconds. `day`: when it began. */
export interface WaitedView {
  day: number;
  project: string;
  seconds: number;
  prompts: number;
}

/** One option; `id` is what the script gets back, the label if it is empty. */
export interface RequestsChoice {
  label: string;
  id: string;
  description: string;
  effect: "allow_always" | "allow_once" | "allow_session" | "choose" | "deny" | "reply" | "stop";
}

/** `confirm`: why to ask the person once more before this one is sent; left out if there is no need. */
export interface ConvertChoice {
  value: string;
  label: string;
  confirm: string;
}

export type LiveNews = Hello | PromptNews | SessionNews | EntriesNews | PauseNews | QueueNews | HostNews | GoneNews;
