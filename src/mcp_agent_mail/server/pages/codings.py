"""Pages in gzip, for browsers that take it, and only where nobody else made them ask.

The size of what is compressed says something of it. Whoever sees sizes on the wire, and makes a person's browser ask
for addresses of its own choice, would guess mail by them: so a page is compressed where the browser says that the
person asks, or a page of ours, and sent as it is everywhere else.
"""

from __future__ import annotations

import asyncio
import gzip
from dataclasses import replace

from mcp_agent_mail.core.concurrency.computation import computed
from mcp_agent_mail.server.identity import Headers
from mcp_agent_mail.web.request import PageAnswer

SMALLEST_BYTES = 1_000
"""Less fits into one packet anyway."""
_LEVEL = 5
_TEXTS = ("text/", "application/json")
_OWN = (b"none", b"same-origin")
ZIPPED = ("content-encoding", "gzip")


def takes_gzip(headers: Headers) -> bool:
    """What `Accept-Encoding` says, its qualities only as far as none is none."""
    for part in headers.get(b"accept-encoding", b"").lower().split(b","):
        coding, *parameters = (one.strip().replace(b" ", b"") for one in part.split(b";"))
        if coding in (b"gzip", b"*"):
            return not any(one.startswith(b"q=") and not one[2:].strip(b"0.") for one in parameters)
    return False


def is_asked_by_own(headers: Headers) -> bool:
    """Whether a browser says that the person went there, or a page of ours; not where it says nothing."""
    return headers.get(b"sec-fetch-site", b"").strip().lower() in _OWN


async def zipped(answer: PageAnswer, places: asyncio.Semaphore) -> PageAnswer:
    """The same in gzip, where it is text that is worth it. Made beside the event loop, in one of the `places`."""
    if len(answer.body) < SMALLEST_BYTES or not answer.media_type.startswith(_TEXTS):
        return answer
    async with places:
        body = await computed(lambda: gzip.compress(answer.body, _LEVEL, mtime=0))
    return replace(answer, body=body, headers=(*answer.headers, ZIPPED))
