"""Makes a release, on any machine: sdist, wheel, hashes, the list of what is in it (SBOM), the Homebrew formula.

    python tools/release.py --out dist --homepage URL --downloads URL --key ~/.ssh/release

Rule: only from a clean tree, and twice the same from the same commit. It publishes nothing. To verify one:

    ssh-keygen -Y verify -f SIGNERS -I release -n yourcall-release -s SHA256SUMS.sig < SHA256SUMS
    sha256sum -c SHA256SUMS
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import quote

import runtime_pins

from yourcall import __version__

ROOT = Path(__file__).parents[1]
NAMESPACE = "yourcall-release"  # a signature for anything else is none for this


def sbom() -> dict[str, Any]:
    """CycloneDX: what the wheel brings along from PyPI, and what is built into the phone app from npm."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": _component("yourcall", __version__, "pypi", "Apache-2.0")},
        "components": [*_from_pypi(), *_from_npm()],
    }


def _from_pypi() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for name, pin in runtime_pins.pins().items():
        version = re.split(r"[ ;\\]", pin.partition("==")[2], maxsplit=1)[0].strip()
        one = _component(name, version, "pypi", _licence(name))
        hashes = re.findall(r"sha256:([0-9a-f]{64})", pin)
        found.append({**one, "hashes": [{"alg": "SHA-256", "content": each} for each in hashes]})
    return found


def _from_npm() -> list[dict[str, Any]]:
    """What the sources of the app import, and what that needs: the rest only builds it."""
    packages = json.loads((ROOT / "web" / "package-lock.json").read_text())["packages"]
    todo = {name for path in sorted((ROOT / "web" / "src").rglob("*")) for name in _imported(path)}
    found: dict[str, dict[str, Any]] = {}
    while todo:
        name = todo.pop()
        each = packages.get(f"node_modules/{name}")
        if each is not None and name not in found:
            found[name] = _component(name, each["version"], "npm", each.get("license", ""))
            todo |= each.get("dependencies", {}).keys()
    return [found[name] for name in sorted(found)]


def _imported(path: Path) -> set[str]:
    if path.suffix not in (".ts", ".js", ".svelte"):
        return set()
    named = re.findall(r"""(?:from|import)\s*\(?\s*["']((?:@[\w.-]+/)?[\w-][\w.-]*)""", path.read_text())
    return set(named)


def _component(name: str, version: str, registry: str, licence: str) -> dict[str, Any]:
    one: dict[str, Any] = {
        "type": "library",
        "name": name,
        "version": version,
        "purl": f"pkg:{registry}/{quote(name, safe='/')}@{version}",
    }
    return {**one, "licenses": [{"license": {"name": licence}}]} if licence else one


def _licence(name: str) -> str:
    try:
        told = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return ""
    said = told.get("License-Expression") or told.get("License") or ""
    return said if len(said) <= 60 else ""


def formula(homepage: str, url: str, digest: str) -> str:
    text = (ROOT / "packaging" / "homebrew" / "yourcall.rb").read_text()
    for mark, value in {"@HOMEPAGE@": homepage, "@URL@": url, "@SHA256@": digest}.items():
        text = text.replace(mark, value)
    return text


def build(out: Path) -> list[Path]:
    when = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    env = {**os.environ, "SOURCE_DATE_EPOCH": when.stdout.strip()}
    for target in ("sdist", "wheel"):
        command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
        subprocess.run(command, cwd=ROOT, env=env, check=True)
    return sorted(out.glob(f"yourcall-{__version__}*"))


def main() -> int:
    words = argparse.ArgumentParser(description="Make a release.")
    words.add_argument("--out", type=Path, default=ROOT / "dist")
    words.add_argument("--homepage", required=True, help="where the project is")
    words.add_argument("--downloads", required=True, help="the address below which the files will lie")
    words.add_argument("--key", type=Path, help="sign the list of hashes with this ssh key")
    given = words.parse_args()
    changed = subprocess.run(
        ["git", "status", "--porcelain"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    if changed.stdout:
        print("There are changes that are not committed. Commit them first.", file=sys.stderr)
        return 1
    given.out.mkdir(parents=True, exist_ok=True)
    if any(given.out.iterdir()):
        print(f"{given.out} is not empty.", file=sys.stderr)
        return 1
    source = next(path for path in build(given.out) if path.name.endswith(".tar.gz"))
    listed = given.out / f"yourcall-{__version__}.cdx.json"
    listed.write_text(json.dumps(sbom(), indent=2) + "\n")
    url = f"{given.downloads.rstrip('/')}/{source.name}"
    (given.out / "yourcall.rb").write_text(formula(given.homepage, url, _digest(source)))
    lines = [f"{_digest(path)}  {path.name}\n" for path in sorted(given.out.iterdir())]
    sums = given.out / "SHA256SUMS"
    sums.write_text("".join(lines))
    if given.key is not None and not sign(sums, given.key):
        return 1
    print("".join(lines), end="")
    return 0


def sign(sums: Path, key: Path) -> bool:
    """`SHA256SUMS.sig`, by an ssh key (one in a token will do); the public half then verifies all files."""
    command = ["ssh-keygen", "-Y", "sign", "-n", NAMESPACE, "-f", str(key), str(sums)]
    done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sums.unlink()  # what looks like a release is one
        print(f"It could not be signed: {done.stderr.strip()}", file=sys.stderr)
    return done.returncode == 0


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
