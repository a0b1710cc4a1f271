"""`yourcall rules org`: an organisation's rules: make a key, sign a file, trust a key, try it on the past.

Rule: the private key is only ever read from the file that is named; nothing of it is kept or shown.
"""

from __future__ import annotations

import json
from pathlib import Path

import click

from yourcall.cli.instance import Instance, Problem, pass_place
from yourcall.cli.terminal.render import safe, style


@click.group(
    "org",
    invoke_without_command=True,
    epilog="""\b
Examples:
  yourcall rules org key org.key            a key pair: org.key and org.key.pub
  yourcall rules org sign org.toml org.key  writes org.toml.sig
  yourcall rules org trust org.key.pub      this machine takes rules signed by it
  yourcall rules org try org.toml           what it would have decided over the recorded past
  yourcall rules org                        what holds here
""",
)
@click.pass_context
def command(ctx: click.Context) -> None:
    """The rules of an organisation, signed by its key: they go before everybody's own, which can only be stricter.

    They lie in /etc/yourcall, or in the folder `org` of yourcall's home: org.pub, org.toml and org.toml.sig.
    """
    if ctx.invoked_subcommand is not None:
        return
    place = ctx.find_object(Instance)
    assert place is not None
    from yourcall.daemon.rules.organisation import SignedRules, folder_of
    from yourcall.rules.text import in_words

    found = SignedRules(place.home).now
    if found is None:
        click.echo("No organisation's rules hold here.")
        return
    click.echo(f"{safe(found.name) or 'An organisation'}, version {found.serial}, from {folder_of(place.home)}")
    for problem in found.rules.problems:
        click.echo(style("Not right: ", "red") + safe(problem) + " Until then no rule allows anything.", err=True)
    for rule in found.rules.rules:
        click.echo(f"  {style(safe(rule.name), 'cyan')}  {safe(in_words(rule))}")
    step = found.policy.step_up
    click.echo(
        f"  A yes takes a passkey from {step.risk} on, {'required' if step.required else 'once there is one'}."
    )
    for quorum in found.policy.quorum:
        click.echo(f"  {quorum.persons} persons for: {', '.join(quorum.effects)}")
    if found.rules.problems:
        raise click.exceptions.Exit(1)


@command.command("key")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def key(file: Path) -> None:
    """Make a key pair: FILE, to be kept away from every machine that it rules, and FILE.pub."""
    from yourcall.daemon.rules.organisation import new_key
    from yourcall.system import private_files

    if file.exists():
        raise Problem(f"{file} is there already.", 2)
    private, public = new_key()
    private_files.write(file, private.encode())
    Path(f"{file}.pub").write_text(public)
    click.echo(f"Made {file} and {file}.pub")


@command.command("sign")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("key_file", metavar="KEY", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def sign(file: Path, key_file: Path) -> None:
    """Check FILE and sign it with KEY; the signature is written beside it, as FILE.sig."""
    from yourcall.daemon.rules import organisation
    from yourcall.rules.organisation import read

    text = file.read_bytes()
    found = read(text.decode("utf-8", "replace"), file.name)
    if found.rules.problems:
        raise Problem("Not signed: " + " ".join(found.rules.problems), 1)
    try:
        signature = organisation.sign(key_file.read_text(), text)
    except ValueError as error:
        raise Problem(f"{key_file} is no key of ours: {error}.", 2) from error
    Path(f"{file}.sig").write_text(signature)
    click.echo(f"Signed version {found.serial} of {safe(found.name)}: {file}.sig")


@command.command("trust")
@click.argument("file", metavar="PUBLIC-KEY", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@pass_place
def trust(place: Instance, file: Path) -> None:
    """From now on rules signed by this key hold here; without them, no rule allows anything."""
    from yourcall.cli.client import may
    from yourcall.daemon.rules.organisation import KEY
    from yourcall.system import private_files

    may(place.home, "rules")
    folder = place.home / "org"
    if (folder / KEY).exists():
        raise Problem(f"{folder / KEY} is there already; who may replace it can remove it.", 2)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    private_files.write(folder / KEY, file.read_bytes())
    click.echo(f"Trusted. Put org.toml and org.toml.sig into {folder}")


@command.command("try")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="The counts as an object.")
@pass_place
def try_command(place: Instance, file: Path, as_json: bool) -> None:
    """What FILE, together with the rules here, would have decided over the recorded past; unsigned will do."""
    from yourcall.cli.client import call, refusal
    from yourcall.cli.commands.rules import PATIENCE, Tried, past
    from yourcall.cli.views import read

    body = json.dumps({"organisation": file.read_text()})
    reply = call(place.home, "POST", "/api/rules/dry-run", body=body, timeout=PATIENCE)
    if reply.status != 200:
        raise refusal(reply)
    click.echo(json.dumps(reply.data, indent=2) if as_json else past(read(reply.data, Tried), "They"))
