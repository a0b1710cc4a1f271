"""Discord's REST API through hikari: one call, and what its end means.

Rule: nothing is tried again or waited for in here, for a call whose end nobody saw may have been done. Neither the
token nor an address reaches a log, an error or a person.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from yourcall.channels.channel import Failed, Gone, Later, Unclear, World
from yourcall.channels.http import LONGEST_WAIT_S, download

if TYPE_CHECKING:
    from hikari.impl import RESTClientImpl

Trouble = Later | Unclear | Failed | Gone
T = TypeVar("T")

REPLY_S = 20.0

# hikari knows how much of Discord's patience is left; a longer wait is ours to plan.
MOST_WAIT_S = 1.0

# Discord's own numbers: what is closed to us for good, and what is no more.
_GONE = frozenset({10003, 50001, 50007})  # unknown channel, no access, whoever is there takes nothing
UNKNOWN_MESSAGE = 10008

WRONG_TOKEN = "Discord does not take this token: check it in secrets.toml"  # noqa: S105

FILES = ("https://cdn.discordapp.com/attachments/", "https://media.discordapp.net/attachments/")


class Deleted(Failed, frozen=True):
    """A person has deleted the message, and nothing is left to be told there."""


def silence() -> None:
    """It logs addresses, and with them what answers an interaction."""
    log = logging.getLogger("hikari")
    log.setLevel(logging.CRITICAL + 1)
    log.propagate = False


class Api:
    def __init__(self, world: World, server: str, token: str) -> None:
        self._world = world
        self._server = server.rstrip("/")
        self._token = token
        self._app: Any = None
        self._rest: RESTClientImpl | None = None
        self.closed = False

    async def rest(self) -> RESTClientImpl:
        if self._rest is None:
            import hikari

            silence()
            timeouts = hikari.impl.HTTPTimeoutSettings(total=REPLY_S)
            settings = hikari.impl.HTTPSettings(max_redirects=None, timeouts=timeouts)
            self._app = hikari.RESTApp(
                http_settings=settings, max_rate_limit=MOST_WAIT_S, max_retries=0, url=self._server
            )
            await self._app.start()
            made: RESTClientImpl = self._app.acquire(self._token, "Bot")
            made.start()
            self._rest = made
        return self._rest

    async def close(self) -> None:
        """Whoever still has something to say must not open it again: nobody would close it."""
        self.closed = True
        rest, self._rest = self._rest, None
        if rest is not None:
            await rest.close()
            await self._app.close()

    async def call(self, do: Callable[[RESTClientImpl], Awaitable[T]]) -> T | Trouble:
        import aiohttp
        import hikari

        if self.closed:
            return Later("it is being closed")
        try:
            return await do(await self.rest())
        except hikari.RateLimitTooLongError as error:
            return Later("it said: too many requests", min(max(error.retry_after, 1.0), LONGEST_WAIT_S))
        except hikari.HTTPResponseError as error:
            return _refused(error)
        except hikari.HTTPError as error:
            return _lost(error.__cause__)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return _lost(error)
        except (hikari.HikariError, ValueError, LookupError, TypeError) as error:
            return Unclear(f"it answered something that is not the API ({type(error).__name__})")

    async def download(self, url: str, most: int) -> bytes | Trouble:
        """A file that somebody sent. Its address is in what people send, too: only Discord's own is asked."""
        if not url.startswith((*FILES, f"{self._server}/attachments/")):
            return Failed("it is kept somewhere else")
        return await download(self._world, url, patience=REPLY_S, most=most)


def _lost(error: BaseException | None) -> Trouble:
    import aiohttp

    name = type(error).__name__
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
        return Later(f"cannot be reached ({name})")
    return Unclear(f"connection lost ({name})")


def _refused(error: Any) -> Trouble:
    status, code = int(error.status), int(getattr(error, "code", 0) or 0)
    if status == 429:
        return Later("it said: too many requests", 1.0)
    if status >= 500:
        return Later(f"it said {status}")
    if status == 401:
        return Failed(WRONG_TOKEN)
    if code == UNKNOWN_MESSAGE:
        return Deleted("the message is no more")
    if code in _GONE:
        return Gone(f"this chat is closed to the bot ({code})")
    return Failed(f"it said {status} ({code})")
