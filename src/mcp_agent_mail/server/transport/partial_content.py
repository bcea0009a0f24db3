"""Which bytes of a content a request wants, and whether it has them already (RFC 9110): pure, from its headers."""

from __future__ import annotations

import re

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.lazy.pattern import lazy_pattern

_ONE_RANGE = lazy_pattern(rb"bytes[ \t]*=[ \t,]*([0-9]{0,19})-([0-9]{0,19})[ \t,]*", re.IGNORECASE)
_TAG = lazy_pattern(rb'(?:W/)?("[^"]*")')


@dataclass(frozen=True, slots=True)
class ContentPart:
    """From byte `first` on, `size` of them."""

    first: int
    size: int

    def of(self, size_bytes: int) -> bytes:
        """As `Content-Range` says it of a content of that size."""
        return b"bytes %d-%d/%d" % (self.first, self.first + self.size - 1, size_bytes)


class NoSuchPart(Exception):
    """The range lies behind the content; answer 416."""


def read_range(header: bytes | None, size_bytes: int) -> ContentPart | None:
    """The one range that the header asks for, as far as there are bytes. None for no range, for several, and for what
    cannot be read: then all of it is sent. Raises NoSuchPart.
    """
    found = None if header is None else _ONE_RANGE.fullmatch(header.strip())
    if found is None or not (found[1] or found[2]):
        return None
    if not found[1]:
        first, last = max(0, size_bytes - int(found[2])), size_bytes - 1
    else:
        first = int(found[1])
        last = min(int(found[2]), size_bytes - 1) if found[2] else size_bytes - 1
        if found[2] and int(found[2]) < first:
            return None
    if first > last:
        raise NoSuchPart
    return ContentPart(first, last - first + 1)


def is_known(if_none_match: bytes | None, tag: bytes) -> bool:
    """Whether one of the tags of `If-None-Match` is `tag`, which stands in quotation marks; `*` is any."""
    if if_none_match is None:
        return False
    return if_none_match.strip() == b"*" or tag in _TAG.findall(if_none_match)
