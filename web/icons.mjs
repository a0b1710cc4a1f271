// Draw the PNG icons from public/icon.svg, with the Chromium of this machine:  node icons.mjs
// Only needed when the picture changes; the results are kept.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const here = (name) => new URL(name, import.meta.url).pathname;
const svg = readFileSync(here("public/icon.svg"), "utf8");
// A platform cuts these to its own shape: the picture fills the square, and stays in its middle.
const full = svg.replace('rx="116" ', "").replace(/(<path|<circle)/g, '<g transform="translate(51 51) scale(.8)">$1').replace(/(linejoin="round"\/>|fill="#f4f5f7"\/>)/g, "$1</g>");

// One colour: Android uses the shape alone, in the status bar.
const shape = (drawn) => `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#fff" stroke-width="2" stroke-linecap="round" stroke-linejoin="round">${drawn}</svg>`;
const badge = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="40 80 432 352"><path d="M132 132l124 124-124 124" fill="none" stroke="#fff" stroke-width="62" stroke-linecap="round" stroke-linejoin="round"/><circle cx="392" cy="256" r="72" fill="#fff"/></svg>`;
const shortcut = (path) => shape(`<rect width="24" height="24" rx="12" fill="#14171d" stroke="none"/><g transform="translate(5.5 5.5) scale(.54)"><path d="${path}"/></g>`);
const SHORTCUTS = {
  home: "M4 13l2.5-8h11L20 13v6H4zM4 13h5l1 2.5h4l1-2.5h5", start: "M12 5v14M5 12h14", history: "M12 4a8 8 0 1 1-7.4 5M4 4.5V9h4.5M12 8v4.5l3 2",
};

const work = mkdtempSync(join(tmpdir(), "icons-"));
for (const [name, size, picture] of [["icon-192", 192, svg], ["icon-512", 512, svg], ["icon-maskable-512", 512, full], ["icon-180", 180, full],
  ["badge-96", 96, badge], ...Object.entries(SHORTCUTS).map(([name, path]) => [`shortcut-${name}`, 96, shortcut(path)])]) {
  const page = join(work, `${name}.html`);
  writeFileSync(page, `<style>*{margin:0}svg{display:block;width:${size}px;height:${size}px}</style>${picture}`);
  execFileSync("chromium", ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--default-background-color=00000000",
    `--user-data-dir=${join(work, "profile")}`, `--window-size=${size},${size}`, `--screenshot=${here(`public/${name}.png`)}`, `file://${page}`], { stdio: "ignore" });
}
rmSync(work, { recursive: true, force: true });
