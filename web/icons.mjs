// Draw the PNG icons from public/icon.svg, with the Chromium of this machine:  node icons.mjs
// Only needed when the picture changes; the results are kept.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const here = (name) => new URL(name, import.meta.url).pathname;
const svg = readFileSync(here("public/icon.svg"), "utf8");
// A platform cuts these to its own shape: the picture fills the square, and stays in its middle.
const full = svg.replace('rx="116" ', "").replace(/(<path|<circle)/g, '<g transform="translate(51 51) scale(.8)">$1').replace(/(linejoin="round"\/>|fill="#37c383"\/>)/g, "$1</g>");

const work = mkdtempSync(join(tmpdir(), "icons-"));
for (const [name, size, picture] of [["icon-192", 192, svg], ["icon-512", 512, svg], ["icon-maskable-512", 512, full], ["icon-180", 180, full]]) {
  const page = join(work, `${name}.html`);
  writeFileSync(page, `<style>*{margin:0}svg{display:block;width:${size}px;height:${size}px}</style>${picture}`);
  execFileSync("chromium", ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--default-background-color=00000000",
    `--user-data-dir=${join(work, "profile")}`, `--window-size=${size},${size}`, `--screenshot=${here(`public/${name}.png`)}`, `file://${page}`], { stdio: "ignore" });
}
rmSync(work, { recursive: true, force: true });
