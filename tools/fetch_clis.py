#!/usr/bin/env python3
"""Put a pinned agent CLI into the test cache and print the path of its executable.

    python3 tools/fetch_clis.py                      # claude, the pinned version
    python3 tools/fetch_clis.py claude --version 2.1.197
    python3 tools/fetch_clis.py claude codex gemini

The rule it keeps: a CLI in the cache is either whole or not there. A package is installed beside its place
and moved in by one rename: a killed run leaves no half CLI behind, two runs at once cannot hurt each other.
For a pinned version npm gets a lock file from tools/cli_locks: each package that it fetches, down to the last
dependency, must have the sha512 in there, or nothing is installed. Other versions have no hashes, and we say so.
To pin a new version: `npm install --package-lock-only --omit-lockfile-registry-resolved` in an empty folder.
The cache ($YOURCALL_TEST_CACHE or ~/.cache/yourcall-tests) is outside the clone: a fresh clone is quick too.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

# One npm lock file for each agent: the sha512 of every package, for every platform.
LOCKS = Path(__file__).resolve().parent / "cli_locks"

PINNED = {
    "claude": "2.1.325",
    "codex": "0.166.0",
    "gemini": "0.61.0",
    # Agents over ACP; `make soak` needs them, `make test` does not.
    "claude-agent-acp": "0.49.0",
    "codex-acp": "0.16.0",
    "opencode": "1.18.33",
    "qwen": "0.24.4",
    "kilo": "7.7.9",
    "copilot": "1.0.102",
    "droid": "0.225.2",
}
MACHINES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}

# What npm is asked for; the first package that holds a working executable is used. Claude Code is published
# as one native package per platform, and its older versions as one plain JavaScript package.
PACKAGES = {
    "claude": ("@anthropic-ai/claude-code-{native}@{version}", "@anthropic-ai/claude-code@{version}"),
    "codex": ("@openai/codex@{version}",),
    "gemini": ("@google/gemini-cli@{version}",),
    "claude-agent-acp": ("@agentclientprotocol/claude-agent-acp@{version}",),
    "codex-acp": ("@zed-industries/codex-acp@{version}",),
    "opencode": ("opencode-ai@{version}",),
    "qwen": ("@qwen-code/qwen-code@{version}",),
    "kilo": ("@kilocode/cli-linux-x64@{version}",),  # 7.7.9 was published for this platform only
    "copilot": ("@github/copilot@{version}",),
    "droid": ("@factory/cli-linux-x64@{version}",),  # no hash of another platform's is known
}
# Where the executable lies below node_modules, most direct first: a native program is started without its
# node shim, so that the process a test starts is the agent itself.
EXECUTABLES = {
    "claude": ("@anthropic-ai/claude-code-*/claude", "@anthropic-ai/claude-code/cli.js"),
    "codex": (
        "@openai/codex-*/vendor/*/*/codex",
        "@openai/codex/vendor/{machine}-*-{system}*/*/codex",
        "@openai/codex/bin/codex.js",
    ),
    "gemini": ("@google/gemini-cli/bundle/gemini.js", "@google/gemini-cli/dist/index.js"),
    "claude-agent-acp": ("@agentclientprotocol/claude-agent-acp/dist/index.js",),
    "codex-acp": ("@zed-industries/codex-acp-*/bin/codex-acp",),
    "opencode": ("opencode-*-baseline/bin/opencode", "opencode-*/bin/opencode"),
    "qwen": ("@qwen-code/qwen-code/cli-entry.js", "@qwen-code/qwen-code/cli.js"),
    "kilo": ("@kilocode/cli-*/bin/kilo",),
    "copilot": ("@github/copilot-*/copilot", "@github/copilot/index.js"),
    "droid": ("@factory/cli-*/bin/droid",),
}
# A node of its own, for a CLI that wants a newer one than this machine may have; the same lock file names it.
RUNTIMES = {"qwen": "node-{native}"}
# These know no `--version`: they tell it in the first reply of their protocol.
INTRODUCED = frozenset({"claude-agent-acp", "codex-acp"})
HELLO_S = 20
HELLO = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}'


class CannotFetch(Exception):
    """The CLI is not in the cache and could not be put there; the text says why."""


def cache_root() -> Path:
    chosen = os.environ.get("YOURCALL_TEST_CACHE")
    return Path(chosen) if chosen else Path.home() / ".cache" / "yourcall-tests"


def native_name() -> str:
    """The platform as the npm packages spell it: linux-x64, linux-arm64-musl, darwin-arm64 …"""
    system, machine = platform.system().lower(), platform.machine().lower()
    if system not in ("linux", "darwin") or machine not in MACHINES:
        raise CannotFetch(f"no agent CLI is published for {system} on {machine}")
    musl = "-musl" if system == "linux" and platform.libc_ver()[0] != "glibc" else ""
    return f"{system}-{MACHINES[machine]}{musl}"


def fetch(agent: str, version: str | None = None, *, cache: Path | None = None, locks: Path = LOCKS) -> Path:
    """The executable of `agent`, installed now if it is not in the cache yet."""
    version = version or PINNED[agent]
    home = (cache or cache_root()) / f"{agent}-{version}-{native_name()}"
    executable = home / "bin" / agent
    if not executable.exists():
        home.parent.mkdir(parents=True, exist_ok=True)
        _sweep(home.parent)
        with tempfile.TemporaryDirectory(prefix=f".{home.name}-", dir=home.parent) as work:
            _install(agent, version, Path(work) / "whole", locks)
            try:
                (Path(work) / "whole").rename(home)
            except OSError:  # another run was first: its folder is as good as ours
                if not executable.exists():
                    raise
    return executable


def _sweep(cache: Path) -> None:
    """Drop what killed runs left; npm gets 15 minutes, so after an hour no install is still alive."""
    for left in cache.glob(".*-*"):
        if left.is_dir() and time.time() - left.stat().st_mtime > 3600:
            shutil.rmtree(left, ignore_errors=True)


def _install(agent: str, version: str, prefix: Path, locks: Path) -> None:
    pinned = version == PINNED[agent]
    if not pinned:
        print(f"{agent} {version} is not the pinned version: its hashes are not checked", file=sys.stderr)
    failures: list[str] = []
    for template in PACKAGES[agent][:1] if pinned else PACKAGES[agent]:
        package = template.format(native=native_name(), version=version)
        shutil.rmtree(prefix, ignore_errors=True)
        prefix.mkdir()
        lock = locks / f"{agent}.json"
        failure = _npm_ci(package, prefix, lock) if pinned else _npm_install(package, prefix)
        found = None if failure else _executable(agent, prefix / "node_modules")
        if found is not None:
            _link(agent, found, prefix)
            _let_run(prefix / "node_modules")
            failure = _does_not_start(agent, version, prefix)
            if not failure:
                return
        failures.append(f"{package}: {failure or 'holds no executable that we know'}")
    raise CannotFetch("; ".join(failures))


def _npm_install(package: str, prefix: Path) -> str:
    return _npm(prefix, "install", "--no-package-lock", package)


def _npm_ci(package: str, prefix: Path, lock_file: Path) -> str:
    """Install `package` as the lock file says; why not, if a file that was fetched has another hash."""
    name, version = package.rsplit("@", 1)
    try:
        lock: dict[str, Any] = json.loads(lock_file.read_text())
    except (OSError, ValueError) as error:
        return f"its hashes cannot be read: {error}"
    packages: dict[str, dict[str, Any]] = lock["packages"]
    # The root of the lock may list one package for each platform; keep ours.
    root = packages.pop("")
    wanted = {**root.get("optionalDependencies", {}), **root.get("dependencies", {})}
    kept = {name, RUNTIMES.get(root["name"], "").format(native=native_name())}
    for other in wanted.keys() - kept:
        packages.pop(f"node_modules/{other}", None)
    if packages.get(f"node_modules/{name}", {}).get("version") != version:
        return f"{lock_file.name} has no hash for it"
    if unhashed := sorted(place for place, entry in packages.items() if not _is_sha512(entry.get("integrity"))):
        return f"{lock_file.name} has no hash for {unhashed[0]}"
    for entry in packages.values():  # npm 11.19 wants an entry for each optional package, also of other platforms
        optional: dict[str, str] = entry.get("optionalDependencies", {})
        entry["optionalDependencies"] = {
            each: wanted for each, wanted in optional.items() if f"node_modules/{each}" in packages
        }
    asked = {name: version} | {other: which for other, which in wanted.items() if other in kept}
    root = {"name": root["name"], "version": root["version"], "dependencies": asked}
    lock["packages"] = {"": root, **packages}
    (prefix / "package.json").write_text(json.dumps(root))
    (prefix / "package-lock.json").write_text(json.dumps(lock))
    return _npm(prefix, "ci") or _not_as_locked(packages, prefix / "node_modules")


def _is_sha512(integrity: object) -> bool:
    return isinstance(integrity, str) and integrity.startswith("sha512-")


def _not_as_locked(packages: dict[str, dict[str, Any]], modules: Path) -> str:
    """npm leaves out an optional package with a wrong hash and says nothing: look what it installed."""
    installed: dict[str, dict[str, Any]] = json.loads((modules / ".package-lock.json").read_text())["packages"]
    for place, entry in packages.items():
        if _for_this_machine(entry) and installed.get(place, {}).get("integrity") != entry["integrity"]:
            return f"{place.removeprefix('node_modules/')} did not arrive with the pinned hash"
    return ""


def _for_this_machine(entry: dict[str, Any]) -> bool:
    system, machine, *musl = native_name().split("-")
    libc = "musl" if musl else "glibc"
    ours = {"os": system, "cpu": machine} | ({"libc": libc} if system == "linux" else {})
    return all(_allows(entry.get(field), value) for field, value in ours.items())


def _allows(values: list[str] | None, value: str) -> bool:
    """As npm reads it: a list of what is supported, or of what is not (`!win32`)."""
    if not values:
        return True
    if f"!{value}" in values:
        return False
    return value in values or all(each.startswith("!") for each in values)


def _npm(prefix: Path, command: str, *words: str) -> str:
    """Why npm could not do it; empty when it did."""
    npm = shutil.which("npm")
    if npm is None:
        return "npm is not installed"
    # --ignore-scripts: nothing that was fetched may run by itself; the packages' scripts only move binaries.
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    done = subprocess.run(
        [npm, command, "--prefix", str(prefix), *options, *words],
        cwd=prefix, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    if done.returncode == 0:
        return ""
    if "EINTEGRITY" in done.stderr:
        return f"a file that was fetched does not have the pinned hash ({' '.join(done.stderr.split())[:400]})"
    return " ".join(done.stderr.split())[:400] or f"npm ended with {done.returncode}"


def _executable(agent: str, modules: Path) -> Path | None:
    # Older packages hold the programs of every platform.
    here = {"machine": platform.machine().replace("arm64", "aarch64"), "system": platform.system().lower()}
    for pattern in EXECUTABLES[agent]:
        for found in sorted(modules.glob(pattern.format(**here))):
            if found.is_file():
                return found
    return None


def _link(agent: str, found: Path, prefix: Path) -> None:
    """bin/<agent>, right wherever the folder is moved to: a relative link, or a line that starts node."""
    (prefix / "bin").mkdir()
    here, relative = prefix / "bin" / agent, os.path.relpath(found, prefix / "bin")
    if found.suffix == ".js":
        runtime = RUNTIMES.get(agent, "").format(native=native_name())
        own = runtime and (prefix / "node_modules" / runtime / "bin" / "node").is_file()
        node = f'"$(dirname "$0")"/../node_modules/{runtime}/bin/node' if own else "node"
        here.write_text(f'#!/bin/sh\nexec {node} "$(dirname "$0")"/{shlex.quote(relative)} "$@"\n')
        here.chmod(0o755)
    else:
        found.chmod(0o755)
        here.symlink_to(relative)


def _let_run(modules: Path) -> None:
    """Programs that lie in a package and that only its own script, which never runs here, would mark as such."""
    for pattern in ("node-*/bin/node", "*/*/vendor/ripgrep/*/rg"):
        for found in modules.glob(pattern):
            found.chmod(0o755)


def _does_not_start(agent: str, version: str, prefix: Path) -> str:
    """Why it does not say that it is the version we asked for; empty when it does."""
    if agent in INTRODUCED:
        words, typed, patience = [], f"{HELLO}\n", HELLO_S
    else:
        words, typed, patience = ["--version"], "", 60
    code: int | None = None
    with tempfile.TemporaryDirectory() as home:
        env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": home, "DISABLE_AUTOUPDATER": "1"}
        try:
            done = subprocess.run(
                [str(prefix / "bin" / agent), *words],
                env=env,
                cwd=home,
                input=typed.encode(),
                capture_output=True,
                timeout=patience,
                check=False,
            )
            code, said = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired as error:
            said = error.stdout or b""  # one that stays after its last line has still said who it is
        except OSError as error:
            return f"does not start: {error}"
    well = code == 0 or (code is None and agent in INTRODUCED)
    text = said.decode("utf-8", "replace").strip()
    return "" if well and version in text else f"asked for its version it said {text[:200]!r}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Fetch pinned agent CLIs into the test cache.")
    parser.add_argument("agents", nargs="*", metavar="|".join(PINNED), help="default: claude")
    parser.add_argument("--version", help="another version than the pinned one (with one agent)")
    asked = parser.parse_args(arguments)
    agents: list[str] = asked.agents or ["claude"]
    for agent in agents:
        if agent not in PINNED:
            parser.error(f"{agent!r} is not an agent we fetch; choose from {', '.join(PINNED)}")
    if asked.version and len(agents) > 1:
        parser.error("--version goes with one agent")
    for agent in agents:
        try:
            print(fetch(agent, asked.version), flush=True)
        except CannotFetch as failure:
            print(f"cannot fetch {agent}: {failure}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
