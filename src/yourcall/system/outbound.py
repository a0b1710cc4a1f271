"""Every connection to another machine that this program can make: where to, when, with what, and how to forbid it.

Rule: a module that can connect stands here, or a test fails; the page "What goes out" is made from this table.
Nothing else goes out: no telemetry, no look for updates, no fonts, no error reports.
"""

from __future__ import annotations

from msgspec import Struct


class Outbound(Struct, frozen=True):
    """`modules` make it. `by_default`: it happens without anybody having set it up."""

    name: str
    modules: tuple[str, ...]
    to: str
    when: str
    data: str
    forbid: str
    by_default: bool = False


OUTBOUND: tuple[Outbound, ...] = (
    Outbound(
        "Web Push",
        ("yourcall.channels.push.channel", "yourcall.channels.http", "yourcall.daemon.notify"),
        "The push service of a browser that turned notifications on (Google, Mozilla, Apple or Microsoft).",
        "A prompt waits for a person, and when it is answered.",
        "The notice, masked and encrypted for that browser; the service sees its size, its time and the address.",
        "Turn notifications off in the app, or do not turn them on: none goes out before.",
    ),
    Outbound(
        "ntfy",
        ("yourcall.channels.ntfy", "yourcall.channels.http"),
        "The server of a `[channels.NAME]` of type `ntfy`.",
        "A prompt waits for a person, and when it is answered.",
        "The notice, masked; buttons with single-use tokens.",
        "No such section in config.toml. `notify.titles_only` sends no word of the agent's.",
    ),
    Outbound(
        "Telegram",
        ("yourcall.channels.telegram.api", "yourcall.channels.http"),
        "api.telegram.org, or the `server` of the section.",
        "All the time while it is set up: the bot asks for messages.",
        "Notices, masked; what you ask the bot for; files you fetch.",
        "No such section.",
    ),
    Outbound(
        "Slack",
        ("yourcall.channels.slack.api", "yourcall.channels.slack.socket"),
        "slack.com and the address that it gives for Socket Mode.",
        "All the time while it is set up.",
        "Notices, masked; what you ask for in the channel.",
        "No such section, or without the extra `yourcall[slack]`.",
    ),
    Outbound(
        "Discord",
        (
            "yourcall.channels.discord.api",
            "yourcall.channels.discord.channel",
            "yourcall.channels.discord.gateway",
        ),
        "discord.com and the gateway that it names.",
        "All the time while it is set up.",
        "Notices, masked; what you ask for in the channel.",
        "No such section, or without the extra `yourcall[discord]`.",
    ),
    Outbound(
        "Matrix",
        ("yourcall.channels.matrix.api",),
        "The homeserver in `server` of a section of type `matrix`.",
        "All the time while it is set up.",
        "Notices, masked; what you ask for in the channel.",
        "No such section, or without the extra `yourcall[matrix]`.",
    ),
    Outbound(
        "Webhook",
        ("yourcall.channels.webhook", "yourcall.channels.http"),
        "The `url` of a section of type `webhook`.",
        "A prompt waits for a person, and when it is answered.",
        "The notice, masked, as JSON, signed.",
        "No such section.",
    ),
    Outbound(
        "Apprise",
        ("yourcall.channels.apprise",),
        "Whatever the addresses in secrets.toml name (Discord, Matrix, e-mail, …).",
        "A prompt waits for a person.",
        "The notice, masked, and a link.",
        "No such section, or without the extra `yourcall[apprise]`.",
    ),
    Outbound(
        "The record",
        ("yourcall.daemon.record_export",),
        "The `to` of a section `[export.NAME]`: an OTLP collector, a syslog server, a place for heads.",
        "All the time while it is set up: whatever was decided, and changed settings.",
        "Who decided what, when and how surely; with `titles` what was asked, masked; a head: a hash.",
        "No such section.",
    ),
    Outbound(
        "Reach by a tunnel",
        ("yourcall.reach.ssh", "yourcall.reach.tailscale", "yourcall.reach.cloudflared", "yourcall.reach.tunnel"),
        "Your own ssh server, Tailscale or Cloudflare, by their own programs.",
        "After `yourcall reach ssh`, `tailscale` or `cloudflared`, as long as it is set up.",
        "What the app and the machine say to each other, by https; Cloudflare ends the encryption in its cloud.",
        "Do not set it up; `yourcall reach --undo`.",
    ),
    Outbound(
        "Relay",
        ("yourcall.reach.relay.machine", "yourcall.reach.relay.acme_order"),
        "The relay that you named, and for its certificate the ACME server (Let's Encrypt unless told).",
        "After `yourcall reach relay`, as long as it is set up.",
        "TLS that the relay passes on and cannot read; to the ACME server the name and a public key.",
        "Do not set it up; `yourcall reach --undo`.",
    ),
    Outbound(
        "A look from outside",
        ("yourcall.reach.check",),
        "The public address of this machine itself, as it was set up.",
        "`yourcall reach` and `yourcall doctor`, to see whether a phone would get there.",
        "A request without a key.",
        "Do not set up a way from outside.",
    ),
    Outbound(
        "This machine's own name",
        ("yourcall.reach.lan",),
        "The name server of this machine.",
        "`yourcall reach lan`: does the name lead here?",
        "The name.",
        "Do not run it, or give the address with `--name`.",
    ),
    Outbound(
        "Fleet",
        ("yourcall.fleet.bus", "yourcall.fleet.admission"),
        "The NATS of the fleet: the machine where it was made, or your own server.",
        "After `yourcall fleet create` or `join`, as long as this machine is in it.",
        "Prompts, sessions and answers, sealed for the hubs and hosts of the fleet; whoever runs NATS sees ids,"
        " sizes and times.",
        "Do not join; `yourcall fleet leave`; or without the extra `yourcall[fleet]`.",
    ),
    Outbound(
        "The Python client",
        ("yourcall.client.connection", "yourcall.client.asynchronous"),
        "The yourcall that a program of yours names.",
        "A program of yours uses the package `yourcall.client`.",
        "What that program asks.",
        "It is not used by yourcall itself.",
    ),
)

# These speak to this machine only: Unix sockets, or a port of ours on 127.0.0.1.
LOCAL: frozenset[str] = frozenset(
    {
        "yourcall.cli.client",
        "yourcall.cli.commands.doctor",
        "yourcall.cli.commands.reach",
        "yourcall.cli.own_server",
        "yourcall.fleet.nats_server",
        "yourcall.cli.workspace",
        "yourcall.cli.commands.watch",
        "yourcall.hook.hook",
        "yourcall.links.agent_server",
        "yourcall.links.pty.control_socket",
        "yourcall.links.pty.pane",
        "yourcall.links.stdio.keeper",
        "yourcall.server.listen",
        "yourcall.system.peer",
        "yourcall.system.sockets",
    }
)


def page() -> str:
    """The table as a page of the docs has it."""
    parts: list[str] = []
    for each in OUTBOUND:
        parts.append(
            f"### {each.name}\n\n- **To:** {each.to}\n- **When:** {each.when}\n- **What:** {each.data}\n"
            f"- **Forbid it:** {each.forbid}\n- **In the code:** "
            + ", ".join(f"`{module.removeprefix('yourcall.')}`" for module in each.modules)
            + "\n"
        )
    return "\n".join(parts)
