"""`/mail/events`: what happens, as server-sent events with kinds and numbers alone. A page that hears of something asks
for itself anew, and so shows what its reader may see.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import orjson

from mcp_agent_mail.features.oversight.events import EventStream
from mcp_agent_mail.web.context import PageContext
from mcp_agent_mail.web.request import PageAnswer, PageStream

RETRY_MS = 1_000
SIGN_OF_LIFE = b"event: beat\ndata: {}\n\n"
"""Each 15 seconds of silence: proxies close what is silent for a minute or so, and a script sees no comment."""

_HEADERS = (("x-accel-buffering", "no"),)


async def events(page: PageContext) -> PageAnswer:
    """From now on, or behind the event of `Last-Event-ID`; `?after=` says the same, for a script that comes back by
    itself.
    """
    after = page.request.last_event_id or page.request.asked("after")
    stream = await page.services.pages.events.open(
        page.caller, after, payer=page.host.payer, is_signed_in=page.request.session is not None
    )
    return PageAnswer(
        media_type="text/event-stream; charset=utf-8",
        headers=_HEADERS,
        stream=PageStream(pieces=_pieces(page, stream), leave=stream.leave, close=stream.close),
    )


async def _pieces(page: PageContext, stream: EventStream) -> AsyncIterator[bytes]:
    """The first says where the stream begins."""
    yield b"retry: %d\nid: %s\nevent: begin\ndata: {}\n\n" % (RETRY_MS, stream.id.encode())
    async for told in stream.pages(page.host.identify):
        yield (
            b"".join(
                b"id: %s\nevent: %s\ndata: %s\n\n" % (one.id.encode(), one.kind.value.encode(), orjson.dumps(one.data))
                for one in told
            )
            or SIGN_OF_LIFE
        )
