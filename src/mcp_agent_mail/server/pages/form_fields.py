"""Forms as they are posted: of our own type alone, bounded before they are read, and decoded beside the event loop."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qsl

from starlette.types import Receive

from mcp_agent_mail.core.concurrency.computation import computed
from mcp_agent_mail.core.errors import PermissionDenied
from mcp_agent_mail.server.identity import Headers
from mcp_agent_mail.server.transport.limits import BodyTooLarge, declared_too_large, read_bounded
from mcp_agent_mail.web.request import Values

MAX_FIELDS = 200
AT_ONCE_BYTES = 32 * 1024
"""So much is decoded on the event loop: a few milliseconds, where it is all escapes. 3 MiB of them take a second."""

_FORM_TYPE = b"application/x-www-form-urlencoded"


class UnfitForm(PermissionDenied):
    """What was posted is no form of ours."""


async def read_form(headers: Headers, receive: Receive, *, at_most: int, places: asyncio.Semaphore) -> Values:
    """The fields of a form of `at_most` bytes, much of them decoded in one of the `places`.

    Raises UnfitForm, BodyTooLarge, ClientLeft.
    """
    media_type = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if media_type != _FORM_TYPE:
        raise UnfitForm("What was sent is no form.", hint="Press the button on the page.")
    if declared_too_large(headers, at_most):
        raise BodyTooLarge
    text = (await read_bounded(receive, at_most)).decode("latin-1")
    try:
        if len(text) <= AT_ONCE_BYTES:
            return fields_of(text)
        async with places:
            return await computed(lambda: fields_of(text))
    except ValueError:
        raise UnfitForm(f"A form has at most {MAX_FIELDS} fields.", hint="Choose fewer at a time.") from None


def fields_of(text: str) -> Values:
    """All values of each name, of a form or a query. Raises ValueError for more than MAX_FIELDS."""
    found: dict[str, tuple[str, ...]] = {}
    for name, value in parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS):
        found[name] = (*found.get(name, ()), value)
    return found
