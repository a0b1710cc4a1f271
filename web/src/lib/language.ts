// Which language a file is written in, by its name; the colours themselves are fetched when they are needed.

const BY_ENDING: Record<string, string> = {
  bash: "bash", c: "cpp", cc: "cpp", cpp: "cpp", cs: "csharp", css: "css", go: "go", h: "cpp", hpp: "cpp", html: "xml",
  java: "java", js: "javascript", json: "json", jsonl: "json", jsx: "javascript", kt: "kotlin", lua: "lua", md: "markdown",
  mjs: "javascript", php: "php", py: "python", pyi: "python", rb: "ruby", rs: "rust", scss: "css", sh: "bash", sql: "sql",
  svelte: "xml", svg: "xml", swift: "swift", toml: "ini", ts: "typescript", tsx: "typescript", vue: "xml", xml: "xml",
  yaml: "yaml", yml: "yaml", zsh: "bash", ini: "ini", cfg: "ini",
};
const BY_NAME: Record<string, string> = { dockerfile: "dockerfile", makefile: "makefile" };

export function languageOf(path: string): string {
  const name = (path.split("/").pop() ?? "").toLowerCase();
  return BY_NAME[name] ?? BY_ENDING[name.split(".").pop() ?? ""] ?? "";
}
