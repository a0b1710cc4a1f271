"""One request to a service of somebody else's, and what its end means for a notice.

Rule: an address is never part of what is told or logged: a topic or a token may be in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from yourcall.channels.channel import Carried, Failed, Gone, Later, Sent, Unclear, World

if TYPE_CHECKING:
    import httpx

# A service that asks for more patience than this is asked again after it, all the same.
LONGEST_WAIT_S = 3600.0

# A hundred updates of Telegram are about a megabyte; whoever says more wants something else.
LARGEST_REPLY = 8 << 20


async def request(
    world: World,
    method: str,
    url: str,
    *,
    content: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    patience: float | None = None,
    most: int = LARGEST_REPLY,
) -> httpx.Response | Later | Unclear | Failed:
    """`patience`: seconds to wait for the answer, if not as long as usual. `most`: bytes of it."""
    import httpx

    limit = httpx.USE_CLIENT_DEFAULT if patience is None else httpx.Timeout(patience)
    # Packed, a small reply could become a very large one.
    all_headers = {"Accept-Encoding": "identity", **(headers or {})}
    try:
        async with world.http().stream(method, url, content=content, headers=all_headers, timeout=limit) as reply:
            said = bytearray()
            async for chunk in reply.aiter_bytes():
                said += chunk
                if len(said) > most:
                    return Unclear("it answered without an end")
            # Some pack it all the same: what was unpacked here must not be unpacked again.
            told = {name: value for name, value in reply.headers.items() if name != "content-encoding"}
            return httpx.Response(reply.status_code, headers=told, content=bytes(said), request=reply.request)
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError) as error:
        return Later(f"cannot be reached ({type(error).__name__})")
    except httpx.TransportError as error:
        return Unclear(f"connection lost ({type(error).__name__})")
    except (httpx.InvalidURL, httpx.HTTPError, ValueError) as error:
        return Failed(f"the address cannot be used ({type(error).__name__}); correct it in config.toml")


async def download(
    world: World, url: str, *, headers: Mapping[str, str] | None = None, patience: float, most: int
) -> bytes | Later | Unclear | Failed | Gone:
    """A file that somebody sent."""
    reply = await request(world, "GET", url, headers=headers, patience=patience, most=most)
    if isinstance(reply, Struct):
        return reply
    wrong = trouble(reply)
    return reply.content if wrong is None or isinstance(wrong, Sent) else wrong


def trouble(response: httpx.Response, *, gone: tuple[int, ...] = ()) -> Carried | None:
    """What a status means; None when all is well."""
    status = response.status_code
    if response.is_success:
        return None
    text = f"it said {status} {response.reason_phrase}"
    if status in gone:
        return Gone(text)
    if status == 429 or status >= 500:
        return Later(text, retry_after(response))
    if status in (401, 403):
        return Failed(f"{text}: check the token or the rights in secrets.toml")
    if response.is_redirect:
        return Failed(f"{text}: give the address it moved to")
    return Failed(text)


def retry_after(response: httpx.Response) -> float:
    said = response.headers.get("retry-after", "")
    return min(float(said), LONGEST_WAIT_S) if said.isascii() and said.isdecimal() and len(said) < 7 else 0.0


def cut(text: str, most: int) -> str:
    """At most so many bytes of UTF-8, whole characters."""
    data = text.encode("utf-8", "replace")
    return text if len(data) <= most else data[: most - 3].decode("utf-8", "ignore") + "…"
