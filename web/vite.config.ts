// The build: into the daemon's own folder, with hashed names, packed copies and a list for the service worker.
// Rule: nothing inline (the page's policy forbids it) and nothing from elsewhere.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig, type Plugin } from "vite";

const PACKED = /\.(?:js|css|html|svg|txt|webmanifest)$/;

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");

interface Graph {
  getModuleInfo(id: string): { isEntry: boolean; importers: readonly string[] } | null;
}

/** Is it part of the first load: does an unbroken line of plain imports lead to it from the page? */
function needed(id: string, graph: Graph, seen: Set<string> = new Set()): boolean {
  if (seen.has(id)) return false;
  seen.add(id);
  const module = graph.getModuleInfo(id);
  return id.startsWith("\0") || module?.isEntry === true || (module?.importers.some((each) => needed(each, graph, seen)) ?? false);
}

/** What we bundle and under which terms: shown in the app. */
function licences(names: string[]): string {
  return names.map((name) => {
    const folder = `./node_modules/${name}`;
    const about = JSON.parse(read(`${folder}/package.json`)) as { version: string; license: string };
    const file = readdirSync(new URL(folder, import.meta.url)).find((one) => /^licen[cs]e/i.test(one));
    const terms = file ? read(`${folder}/${file}`).trim() : "";
    return `${name} ${about.version} (${about.license})\n\n${terms}\n`;
  }).join(`\n${"-".repeat(40)}\n\n`);
}

/** The service worker's list, the licences, and a packed copy of every text: made of the files as they are written. */
function appShell(): Plugin {
  return {
    name: "app-shell",
    apply: "build",
    enforce: "post",
    writeBundle({ dir = "" }, bundle) {
      // Read off what was really bundled: a new package is listed without anybody thinking of it.
      const modules = Object.values(bundle).flatMap((one) => (one.type === "chunk" ? one.moduleIds : []));
      const names = modules.map((id) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1]).filter((name) => name !== undefined);
      writeFileSync(join(dir, "licences.txt"), licences([...new Set(names)].sort()));
      const files = readdirSync(dir, { recursive: true, encoding: "utf8" }).filter((name) => statSync(join(dir, name)).isFile()).sort();
      const shell = files.filter((name) => /^(?:assets\/|index\.html|icon\.svg|manifest)/.test(name));
      const version = createHash("sha256");
      for (const name of shell) version.update(name).update(readFileSync(join(dir, name)));
      const paths = shell.map((name) => (name === "index.html" ? "/" : `/${name}`));
      // A worker that is no module cannot import: what it shares with the app is put in front of it.
      const key = read("../src/yourcall/server/assets/key.js").replace(/^export /gm, "");
      const worker = `const { signedFetch } = (() => {\n${key}\nreturn { signedFetch };\n})();\n\n${read("./src/sw.js")}`
        .replace('"VERSION"', JSON.stringify(version.digest("hex").slice(0, 12)))
        .replace('["/"]', JSON.stringify(paths));
      writeFileSync(join(dir, "sw.js"), worker);
      for (const name of [...files, "sw.js"]) {
        const source = readFileSync(join(dir, name));
        if (PACKED.test(name) && source.length > 1000) writeFileSync(join(dir, `${name}.gz`), gzipSync(source, { level: 9 }));
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
    rolldownOptions: {
      checks: { pluginTimings: false },
      // All of the first load in one file: on a slow line each file waits its turn.
      output: { codeSplitting: { groups: [{ name: (id: string, graph: Graph) => (needed(id, graph) ? "app" : null), entriesAware: false }] } },
    },
  },
  // With VERDICTS, prompts from the daemon's own tests are shown (tests/browser/test_phone_verdict.py).
  test: { include: [process.env["VERDICTS"] ? "tests/verdicts.shared.ts" : "tests/**/*.test.ts"], environment: "node" },
} as import("vitest/config").ViteUserConfig);
