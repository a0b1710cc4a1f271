"""Slack's Web API through its own SDK: one method called, and what its end means.

Rule: nothing is tried again in here: a call whose end nobody saw may have been done. Neither a token nor an
address reaches a log, an error or a person.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import Any, cast

from yourcall.channels.channel import Failed, Gone, Later, Unclear, World
from yourcall.channels.http import LONGEST_WAIT_S, download

Trouble = Later | Unclear | Failed | Gone

# A service that needs longer to answer is down.
REPLY_S = 20

# The chat is closed to us for good.
_GONE = frozenset({"channel_not_found", "is_archived", "not_in_channel", "user_disabled", "cannot_dm_bot"})

_WRONG_TOKEN = frozenset(
    {"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "not_allowed_token_type"}
)

# Slack's own trouble, before anything was done; and in the middle of it.
_BUSY = frozenset({"service_unavailable", "ratelimited", "rate_limited", "accesslimited", "team_added_to_org"})
_MIDDLE = frozenset({"fatal_error", "internal_error", "request_timeout"})

# The SDK logs what it sends, addresses included.
silent = logging.getLogger("yourcall.channels.slack.sdk")
silent.setLevel(logging.CRITICAL + 1)
silent.propagate = False


class Api:
    def __init__(self, world: World, server: str, token: str, app_token: str) -> None:
        self._world = world
        self._server = server.rstrip("/")
        self._token = token
        self._app_token = app_token
        self._web: Any = None

    @property
    def web(self) -> Any:  # its SDK has types in part only
        if self._web is None:
            from slack_sdk.web.async_client import AsyncWebClient

            self._web = AsyncWebClient(
                self._token, f"{self._server}/", timeout=REPLY_S, retry_handlers=[], logger=silent
            )
        return self._web

    async def call(self, method: str, **fields: Any) -> dict[str, Any] | Trouble:
        return await self._ended(self.web.api_call(method, json=fields))

    async def ask(self, method: str, **fields: Any) -> dict[str, Any] | Trouble:
        """What only reads takes no JSON."""
        return await self._ended(self.web.api_call(method, http_verb="GET", params=fields))

    async def open(self) -> str | Trouble:
        """Where the socket is."""
        end = await self._ended(self.web.apps_connections_open(app_token=self._app_token))
        if not isinstance(end, dict):
            return end
        url = end.get("url")
        return url if isinstance(url, str) and url.startswith(("wss://", "ws://")) else Later("it named no socket")

    async def upload(self, channel: str, thread: str, name: str, content: bytes) -> Trouble | None:
        done = self.web.files_upload_v2(
            channel=channel, thread_ts=thread or None, filename=name, title=name, content=content
        )
        end = await self._ended(done)
        return None if isinstance(end, dict) else end

    async def download(self, url: str, most: int) -> bytes | Trouble:
        """A file that somebody sent. Its address is in what people send, too: only Slack itself gets the token."""
        ours = self._server.removesuffix("/api")
        if not url.startswith(("https://files.slack.com/", f"{ours}/files/")):
            return Failed("it is kept somewhere else")
        headers = {"Authorization": f"Bearer {self._token}"}
        return await download(self._world, url, headers=headers, patience=REPLY_S, most=most)

    async def _ended(self, work: Awaitable[Any]) -> dict[str, Any] | Trouble:
        import aiohttp
        from slack_sdk.errors import SlackApiError, SlackClientError

        try:
            reply = await work
        except SlackApiError as error:
            return _refused(error.response)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            return Later(f"cannot be reached ({type(error).__name__})")
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return Unclear(f"connection lost ({type(error).__name__})")
        except (SlackClientError, ValueError) as error:
            return Failed(f"it could not be asked ({type(error).__name__})")
        data: object = reply.data
        return (
            cast("dict[str, Any]", data)
            if isinstance(data, dict)
            else Unclear("it answered something that is not the Web API")
        )


def _refused(reply: Any) -> Trouble:
    """`reply` is the SDK's own, or aiohttp's when it was no JSON."""
    status: int = getattr(reply, "status_code", 0) or getattr(reply, "status", 0)
    data: object = getattr(reply, "data", None)
    payload = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    word = str(payload.get("error", ""))
    if status == 429 or word in ("ratelimited", "rate_limited"):
        after = str(reply.headers.get("Retry-After", "")) if getattr(reply, "headers", None) else ""
        wait = float(after) if after.isascii() and after.isdecimal() and len(after) < 7 else 1.0
        return Later("it said: too many requests", min(max(wait, 1.0), LONGEST_WAIT_S))
    if word in _WRONG_TOKEN:
        return Failed("Slack does not take this token: check token and app_token in secrets.toml")
    if word == "missing_scope":
        return Failed(
            f"the app lacks a scope ({str(payload.get('needed', ''))[:80]}): add it, and install the app again"
        )
    if word in _GONE:
        return Gone(f"this chat is closed to the bot ({word})")
    if word in _MIDDLE:
        return Unclear(f"it said {word}")
    if status >= 500 or word in _BUSY:
        return Later(f"it said {word or status}")
    if not word:
        wrong = f"it said {status}: something that is not the Web API"
        return Failed(wrong) if status >= 300 else Later(wrong)
    return Failed(f"it said {word[:120]}")
