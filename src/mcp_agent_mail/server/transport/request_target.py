"""A request's target may be a whole URL, as proxies get them. It names a host there too: it must be that of `Host`."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote_to_bytes

_HOST = b"host"


def names_another_host(target: bytes, headers: Sequence[tuple[bytes, bytes]]) -> bool:
    """Whether `target` is a whole URL whose authority is not, letter by letter but for their case, what each `Host`
    says, or there is none.

    RFC 9112, 3.2.2 has the target's count: but of two readers one may take the other, and each serves another host.
    """
    rest = _after_scheme(target)
    if rest is None:
        return False
    authority = rest.partition(b"/")[0].partition(b"?")[0].lower()
    return {value.strip(b" \t").lower() for name, value in headers if name == _HOST} != {authority}


def path_of(target: bytes) -> str:
    """The path in `target`, as applications see it, be it of a whole URL or not; what is no text leads nowhere."""
    rest = _after_scheme(target)
    if rest is not None:
        _, slash, below = rest.partition(b"?")[0].partition(b"/")
        target = slash + below
    return unquote_to_bytes(target.partition(b"?")[0]).decode(errors="replace")


def _after_scheme(target: bytes) -> bytes | None:
    """None where it is no whole URL."""
    scheme, separator, rest = target.partition(b"://")
    return rest if separator and b"/" not in scheme and b"?" not in scheme else None
