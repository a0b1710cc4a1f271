"""What `yourcall channels add` asks for each kind of channel, and what it teaches before and after.

Rule: whatever a person has to do somewhere else is said step by step, and no secret is repeated.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable
from importlib.util import find_spec

from msgspec import Struct


class Ask(Struct, frozen=True):
    """One thing to know for a new channel. Without a `usual` value it has to be said."""

    key: str
    words: str
    usual: Callable[[], str] | None = None
    secret: bool = False


class Guide(Struct, frozen=True):
    """What to say first, what to ask, and what to say when it is set up; `{key}` stands for a setting. `library`:
    a module it needs, from `extra`."""

    asks: tuple[Ask, ...]
    then: str
    before: str = ""
    library: str = ""
    extra: str = ""


def lacks(guide: Guide) -> str:
    """What has to be installed yet."""
    if not guide.library or find_spec(guide.library) is not None:
        return ""
    return f"It needs the extra, and a restart then: pip install 'yourcall[{guide.extra}]'"


def _nothing() -> str:
    return ""


def _topic() -> str:
    return "yourcall-" + secrets.token_hex(12)


def _pairing_code() -> str:
    from yourcall.channels.chat.memory import new_code

    return new_code()


def _signing_secret() -> str:
    return "whsec_" + base64.b64encode(secrets.token_bytes(24)).decode()


_CODE = Ask("code", "A pairing code; Enter makes one", _pairing_code, secret=True)

# What Slack calls a manifest: everything the app may do, and nothing else.
SLACK = """\
Make the app once:
1. https://api.slack.com/apps -> Create New App -> From a manifest, and give it this (JSON):

{"display_information": {"name": "yourcall"},
 "features": {"bot_user": {"display_name": "yourcall", "always_online": false},
  "app_home": {"messages_tab_enabled": true, "messages_tab_read_only_enabled": false}},
 "oauth_config": {"scopes": {"bot": ["chat:write", "files:read", "files:write", "users:read",
  "im:history", "channels:history", "groups:history", "mpim:history"]}},
 "settings": {"event_subscriptions": {"bot_events": ["message.im", "message.channels",
  "message.groups", "message.mpim"]},
  "interactivity": {"is_enabled": true}, "socket_mode_enabled": true}}

2. Install App -> Install to Workspace. The bot token is there then.
3. Basic Information -> App-Level Tokens -> Generate, with the scope connections:write.
Nothing has to be reachable from outside: yourcall opens the connection.
"""

DISCORD = """\
Make the bot once:
1. https://discord.com/developers/applications -> New Application.
2. Bot -> Reset Token. That is the token; copy it. Leave all Privileged Gateway Intents off:
   the bot reads what is written to it in private, and where it is mentioned.
3. Installation -> Install Link: Discord Provided Link; Guild Install with the scope bot and the
   permissions View Channels, Send Messages, Attach Files, Read Message History.
   Open that link, and add the bot to a server that you are on (one of your own will do):
   who shares no server with a bot cannot write to it.
Nothing has to be reachable from outside: yourcall opens the connection.
"""

MATRIX = """\
Make the bot once:
1. On your homeserver, make a user for the bot: an account of its own, not yours.
2. Get it an access token, such as with (put in the names and the password):

curl -X POST https://HOMESERVER/_matrix/client/v3/login -d '{"type": "m.login.password",
  "identifier": {"type": "m.id.user", "user": "NAME"}, "password": "PASSWORD",
  "initial_device_display_name": "yourcall"}'

   The token is "access_token" in the answer, and the full name "user_id".
3. Make a room WITHOUT encryption (it cannot be switched off later), and invite the bot there.
   A room with you and the bot alone is private.
4. If you may, make the bot a moderator there: it then takes used reactions away.
Nothing has to be reachable from outside: yourcall asks the homeserver.
"""

GUIDES: dict[str, Guide] = {
    "ntfy": Guide(
        (
            Ask("server", "The ntfy server", lambda: "https://ntfy.sh"),
            Ask("topic", "The topic; who knows it can read and answer", _topic),
            Ask("token", "An access token, if the server asks for one", _nothing, secret=True),
        ),
        "Install the ntfy app on the phone, and subscribe to the topic {topic} on {server}.",
    ),
    "telegram": Guide(
        (
            Ask("token", "The bot's token, from @BotFather in Telegram (/newbot)", secret=True),
            _CODE,
        ),
        "Open your bot in Telegram, in private or in a group, and send it: /pair {code} (it works once).",
    ),
    "webhook": Guide(
        (
            Ask("url", "The address to call"),
            Ask("secret", "The secret to sign with", _signing_secret, secret=True),
        ),
        "The secret for the receiver is in secrets.toml.",
    ),
    "desktop": Guide((), "Notifications appear on this machine's desktop."),
    "apprise": Guide(
        (Ask("urls", "Apprise addresses, with spaces between them", secret=True),),
        "Whoever reads there is told from now on.",
        library="apprise",
        extra="apprise",
    ),
    "discord": Guide(
        (Ask("token", "The bot's token, from Bot -> Reset Token", secret=True), _CODE),
        "Open a private message to your bot in Discord, and send it: !pair {code} (it works once).",
        before=DISCORD,
        library="hikari",
        extra="discord",
    ),
    "matrix": Guide(
        (
            Ask("server", "The homeserver (https://…)"),
            Ask("user", "The bot's full name (@name:server)"),
            Ask("token", "Its access token", secret=True),
            _CODE,
        ),
        "In the room with the bot, say: !pair {code} (it works once).",
        before=MATRIX,
        library="nio",
        extra="matrix",
    ),
    "slack": Guide(
        (
            Ask("token", "The bot token (xoxb-…), from OAuth & Permissions", secret=True),
            Ask("app_token", "The app-level token (xapp-…), from Basic Information", secret=True),
            _CODE,
        ),
        "Open the app in Slack under Apps, and send it: !pair {code} (it works once).",
        before=SLACK,
        library="slack_sdk",
        extra="slack",
    ),
}
