"""A request whose target is a whole URL, as proxies get them, names its host there: `Host` beside it does not count."""

from __future__ import annotations

from collections.abc import MutableSequence

_HOST = b"host"


def take_host(target: bytes, headers: MutableSequence[tuple[bytes, bytes]]) -> None:
    """Make the host that `target` names the request's `Host` (RFC 9112, 3.2.2): uvicorn reads its path and forgets it.

    Two `Host` headers are left as they are: they are refused.
    """
    scheme, separator, rest = target.partition(b"://")
    if not separator or b"/" in scheme or b"?" in scheme:
        return
    places = [place for place, (name, _) in enumerate(headers) if name == _HOST]
    authority = (_HOST, rest.partition(b"/")[0].partition(b"?")[0])
    if not places:
        headers.append(authority)
    elif len(places) == 1:
        headers[places[0]] = authority
