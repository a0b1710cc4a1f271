// The build: into the daemon's own folder, with hashed names, packed copies and a list for the service worker.
// Rule: nothing inline (the page's policy forbids it) and nothing from elsewhere.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig, type Plugin } from "vite";

const BUNDLED = ["svelte", "marked", "dompurify", "diff"];
const PACKED = /\.(?:js|css|html|svg|txt|webmanifest)$/;

const read = (path: string): Buffer => readFileSync(new URL(path, import.meta.url));

/** What we bundle and under which terms: shown in the app. */
function licences(): string {
  return BUNDLED.map((name) => {
    const folder = `./node_modules/${name}`;
    const about = JSON.parse(read(`${folder}/package.json`).toString()) as { version: string; license: string };
    const file = readdirSync(new URL(folder, import.meta.url)).find((one) => /^licen[cs]e/i.test(one));
    const terms = file ? read(`${folder}/${file}`).toString().trim() : "";
    return `${name} ${about.version} (${about.license})\n\n${terms}\n`;
  }).join(`\n${"-".repeat(40)}\n\n`);
}

function appShell(): Plugin {
  return {
    name: "app-shell",
    apply: "build",
    enforce: "post",
    generateBundle(_, bundle) {
      this.emitFile({ type: "asset", fileName: "licences.txt", source: licences() });
      const made = Object.values(bundle).map((file) => {
        const source = file.type === "chunk" ? file.code : file.source;
        return { name: file.fileName, source: Buffer.from(source) };
      });
      const still = readdirSync(new URL("./public", import.meta.url)).map((name) => ({ name, source: read(`./public/${name}`) }));
      const shell = [...made, ...still].filter(({ name }) => /^(?:assets\/|index\.html|icon\.svg|manifest)/.test(name));
      const paths = shell.map(({ name }) => (name === "index.html" ? "/" : `/${name}`)).sort();
      const version = createHash("sha256");
      for (const { name, source } of shell.sort((a, b) => (a.name < b.name ? -1 : 1))) version.update(name).update(source);
      const worker = read("./src/sw.js").toString()
        .replace('"VERSION"', JSON.stringify(version.digest("hex").slice(0, 12)))
        .replace('["/"]', JSON.stringify(paths));
      this.emitFile({ type: "asset", fileName: "sw.js", source: worker });
      const packed = [...made, ...still, { name: "sw.js", source: Buffer.from(worker) }, { name: "licences.txt", source: Buffer.from(licences()) }];
      for (const { name, source } of packed) {
        if (PACKED.test(name) && source.length > 1000) {
          this.emitFile({ type: "asset", fileName: `${name}.gz`, source: gzipSync(source, { level: 9 }) });
        }
      }
    },
  };
}

export default defineConfig({
  plugins: [svelte(), appShell()],
  build: {
    outDir: "../src/yourcall/server/assets/app",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  test: { include: ["tests/**/*.test.ts"], environment: "node" },
} as import("vitest/config").ViteUserConfig);
