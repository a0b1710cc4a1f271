"""`yourcall completion SHELL`: the script that lets the shell complete commands, ids and options."""

from __future__ import annotations

import click


@click.command(
    "completion",
    epilog="""\b
Put one of these into your shell's start-up file:
  eval "$(yourcall completion bash)"            ~/.bashrc
  eval "$(yourcall completion zsh)"             ~/.zshrc
  yourcall completion fish | source             ~/.config/fish/config.fish
""",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script for SHELL: commands, options, and the ids of what is waiting."""
    from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

    kinds: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
    maker = kinds[shell](ctx.find_root().command, {}, "yourcall", "_YOURCALL_COMPLETE")
    # Not `source()`: for bash that starts another bash, to ask its version, at every start of a shell.
    click.echo(maker.source_template % maker.source_vars())
