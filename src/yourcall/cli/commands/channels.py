"""`yourcall channels`: how people are told; adding, testing and removing a way.

Rule: the configuration stays the person's own file: a section is put at its end or taken out, and nothing else in
it is touched. Secrets go into `secrets.toml` and are never printed.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import click
import msgspec
from msgspec import Struct

from yourcall.cli.client import NotRunning, call, get, may, refusal
from yourcall.cli.commands.channel_guides import GUIDES, Ask, lacks
from yourcall.cli.instance import Instance, Problem, pass_place
from yourcall.cli.terminal.render import safe, span, style, table
from yourcall.cli.views import read
from yourcall.system import private_files


class Channel(Struct, frozen=True):
    name: str
    kind: str
    rung: str
    targets: int
    worked_at: float
    problem: str


class Trial(Struct, frozen=True):
    channel: str
    kind: str
    target: str
    sent: bool
    detail: str
    tapped: bool


@click.group(
    "channels",
    invoke_without_command=True,
    epilog="""\b
Examples:
  yourcall channels
  yourcall channels add ntfy
  yourcall channels test
  yourcall channels remove ntfy
""",
)
@click.option("--json", "as_json", is_flag=True, help="An array of channels.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """List the ways you are told; add, test and remove them."""
    if ctx.invoked_subcommand is None:
        place = ctx.find_object(Instance)
        assert place is not None
        _show(place, as_json)


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="An array of channels.")
@pass_place
def show(place: Instance, as_json: bool) -> None:
    """List the ways you are told, and how each does."""
    _show(place, as_json)


def _show(place: Instance, as_json: bool) -> None:
    data = get(place.home, "/api/channels")
    if as_json:
        click.echo(json.dumps(data, indent=2))
        return
    channels = read(data, list[Channel])
    rows = [[each.name, each.kind, each.rung, str(each.targets), _does(each)] for each in channels]
    click.echo(table(["NAME", "KIND", "RUNG", "TOLD", "HOW IT DOES"], rows, ["cyan"]))
    if all(not each.targets for each in channels):
        click.echo(f"\nThere are no channels yet. Add one with: {place.command('channels add ntfy')}")


def _does(channel: Channel) -> str:
    if channel.problem:
        return channel.problem
    return f"worked {span(time.time() - channel.worked_at)} ago" if channel.worked_at else "not used yet"


@command.command(
    "add",
    epilog=f"""\b
Kinds: {", ".join(sorted(GUIDES))}

\b
Examples:
  yourcall channels add ntfy
  yourcall channels add slack
  yourcall channels add webhook --name ci --set url=https://ci.example/hook
  yourcall channels add desktop
""",
)
@click.argument("kind", metavar="KIND", type=click.Choice(sorted(GUIDES)))
@click.option("--name", default="", help="Its name (default: its type).")
@click.option(
    "--set", "given", multiple=True, metavar="KEY=VALUE", help="Set a value instead of being asked for it."
)
@click.option("--yes", "-y", is_flag=True, help="Ask nothing; use the defaults.")
@pass_place
def add(place: Instance, kind: str, name: str, given: tuple[str, ...], yes: bool) -> None:
    """Add a notification channel: asks for its settings, saves them, and uses it at once."""
    may(place.home, "channels")
    guide, name = GUIDES[kind], name or kind
    said = dict(_pair(one) for one in given)
    if guide.before and not yes:
        click.echo(guide.before)
    values: dict[str, str] = {}
    for ask in guide.asks:
        values[ask.key] = said.pop(ask.key, None) or _asked(ask, yes)
    hidden = {ask.key: values.pop(ask.key) for ask in guide.asks if ask.secret}
    put_channel(place.home, name, kind, {**values, **said}, hidden)
    click.echo(f"Added {name}.")
    click.echo(safe(guide.then.format(**{**values, **hidden})))
    if missing := lacks(guide):
        click.echo(missing)
    _reload(place)
    click.echo(f"Try it with: {place.command(f'channels test {name}')}")


def _pair(one: str) -> tuple[str, str]:
    key, sign, value = one.partition("=")
    if not sign or not re.fullmatch(r"\w+", key):
        raise Problem(f"--set takes KEY=VALUE, not {one!r}.", 2)
    return key, value


def _asked(ask: Ask, yes: bool) -> str:
    usual = ask.usual() if ask.usual is not None else None
    if yes:
        if usual is None:
            raise Problem(f"Say it with: --set {ask.key}=…", 2)
        return usual
    shown = bool(usual) and not ask.secret
    return click.prompt(ask.words, default=usual, show_default=shown, hide_input=ask.secret and not usual).strip()


def put_channel(home: Path, name: str, kind: str, values: dict[str, str], hidden: dict[str, str]) -> None:
    """Write a new section at the end of the configuration, if the whole is understood then; and its secrets."""
    from yourcall.channels.secrets import write_secret
    from yourcall.daemon.config import Config, parse
    from yourcall.model.prompts import Refused

    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _alone(home):
        text = _text(home)
        before = parse(text)
        if isinstance(before, Refused):
            raise Problem(before.reason)
        if name in before.channels:
            raise Problem(f"There is a channel {name!r} already. Remove it first, or use --name.", 2)
        lines = [
            f"[channels.{name}]",
            f'type = "{kind}"',
            *(f"{key} = {_toml(said)}" for key, said in values.items()),
        ]
        end = _line_end(text)
        new = (text.rstrip("\r\n") + end * 2 if text.strip() else "") + end.join(lines) + end
        after = parse(new, "This")
        if not isinstance(after, Config):
            raise Problem(re.sub(r"^This, line \d+: ", "", after.reason), 2)
        for key, value in hidden.items():
            refused = write_secret(home, name, key, value) if value else None
            if refused is not None:
                raise Problem(refused.reason)
        _write(home, new)


def _toml(value: str) -> str:
    return value if value in ("true", "false") else msgspec.json.encode(value).decode()


@command.command("remove")
@click.argument("name")
@pass_place
def remove(place: Instance, name: str) -> None:
    """Take a channel out of the configuration, and its secrets with it."""
    may(place.home, "channels")
    from yourcall.channels.secrets import read_secrets, write_secret
    from yourcall.model.prompts import Refused

    if not place.home.is_dir():
        raise Problem(f"There is no channel {name!r} in {place.home / 'config.toml'}.", 2)
    with _alone(place.home):
        text = _text(place.home)
        lines = text.splitlines(keepends=True)
        first = next((n for n, line in enumerate(lines) if _header(line) == f"channels.{name}"), None)
        if first is None:
            raise Problem(f"There is no channel {name!r} in {place.home / 'config.toml'}.", 2)
        last = next((n for n in range(first + 1, len(lines)) if _header(lines[n])), len(lines))
        while last > first + 1 and lines[last - 1].lstrip().startswith("#"):
            last -= 1  # a comment right above the next section is the next section's
        rest = "".join(lines[:first]).rstrip("\r\n") + _line_end(text) * 2 + "".join(lines[last:])
        rest = rest.lstrip("\r\n")
        _only_without(name, text, rest)
        kept = read_secrets(place.home)
        if isinstance(kept, Refused):  # found out afterwards, half of it would be done, and the daemon not told
            raise Problem(kept.reason)
        _write(place.home, rest)
        refused = write_secret(place.home, name, "", None) if (place.home / "secrets.toml").exists() else None
        if refused is not None:
            raise Problem(refused.reason)
    click.echo(f"Removed {name}.")
    if not _reload(place):
        _forget(place.home, name)


@command.command(
    "unpair",
    epilog="""\b
Examples:
  yourcall channels unpair telegram
  yourcall channels unpair telegram Bob
""",
)
@click.argument("name")
@click.argument("person", default="")
@pass_place
def unpair(place: Instance, name: str, person: str) -> None:
    """Unpair one PERSON, who can then no longer answer; without one, list who is paired."""
    body = json.dumps({"name": name, "person": person})
    reply = call(place.home, "POST", "/api/channels/unpair", body=body)
    if reply.status != 200:
        raise refusal(reply)
    click.echo(safe(f"{person} can no longer answer in {name}. In a group they still see its messages."))


def _only_without(name: str, text: str, rest: str) -> None:
    """Nothing is written that would keep yourcall from starting."""
    from yourcall.daemon.config import parse
    from yourcall.model.prompts import Refused

    before, after = parse(text), parse(rest)
    if isinstance(before, Refused):
        return  # it cannot get worse; the channel may be what is wrong with it
    if isinstance(after, Refused):
        why = re.sub(r", line \d+", "", after.reason)
        raise Problem(f"Without {name} the config would be invalid ({why}) Change that first.", 2)


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _header(line: str) -> str:
    match = re.match(r"\s*\[{1,2}\s*([\w.-]+)\s*\]", line)
    return match[1] if match else ""


@command.command("test")
@click.argument("name", default="")
@click.option("--wait", type=click.FloatRange(0, 60), default=30.0, help="Seconds to wait for a tap.")
@click.option("--json", "as_json", is_flag=True, help="An array with one entry for each place.")
@pass_place
def test(place: Instance, name: str, wait: float, as_json: bool) -> None:
    """Send one real notice through every channel, or through NAME, and say what became of it."""
    if not as_json:
        click.echo(f"Sending; if there is a button, press it within {wait:g} seconds.")
    body = json.dumps({"name": name, "wait": wait})
    reply = call(place.home, "POST", "/api/channels/test", body=body, timeout=wait + 60)
    if reply.status != 200:
        raise refusal(reply)
    trials = read(reply.data, list[Trial])
    if as_json:
        click.echo(json.dumps(reply.data, indent=2))
    else:
        for each in trials:
            word = style("sent", "green") if each.sent else style("not sent", "red")
            extra = ", and its button was pressed" if each.tapped else f": {each.detail}" if each.detail else ""
            click.echo(safe(f"{each.channel}{f' {each.target}' if each.target else ''}: ") + word + safe(extra))
        if not trials:
            click.echo(f"There are no channels to test. Add one with: {place.command('channels add ntfy')}")
    if not trials or not all(each.sent for each in trials):
        raise SystemExit(1)


def _reload(place: Instance) -> bool:
    """Whether there was a daemon to do it."""
    try:
        reply = call(place.home, "POST", "/api/channels/reload")
    except NotRunning:
        click.echo("This takes effect when yourcall runs.")
        return False
    if reply.status != 200:
        raise refusal(reply)
    return True


def _forget(home: Path, name: str) -> None:
    """Whoever was paired there is not any more, even if a channel of this name is added before the next start."""
    import asyncio

    from yourcall.store.problem import StoreProblem
    from yourcall.store.sqlite import Store

    if not (home / "yourcall.db").exists():
        return
    try:
        store = Store.open(home / "yourcall.db")
        try:
            asyncio.run(store.forget(name))
        finally:
            store.close()
    except StoreProblem as problem:
        raise Problem(f"Who was paired there could not be forgotten: {problem}") from problem


@contextmanager
def _alone(home: Path) -> Generator[None]:
    """Two commands at once would each write what they read, and one change would be lost. It is the folder that is
    locked, by the kernel: nothing is left behind."""
    folder = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # not every file system knows locks
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _text(home: Path) -> str:
    try:
        return (home / "config.toml").read_bytes().decode("utf-8")  # with the line ends that it has
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"{home / 'config.toml'} cannot be read: {error}") from error


def _write(home: Path, text: str) -> None:
    private_files.write(home / "config.toml", text.encode())
