"""A request whose target is a whole URL, as proxies get them, names its host there: `Host` beside it does not count."""

from __future__ import annotations

from collections.abc import MutableSequence

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_HOST = b"host"


class TargetProtocol(HttpToolsProtocol):
    """uvicorn's own, which reads the path of such a target and forgets the rest (RFC 9112, 3.2.2)."""

    def on_headers_complete(self) -> None:
        take_host(self.url, self.headers)
        super().on_headers_complete()


def take_host(target: bytes, headers: MutableSequence[tuple[bytes, bytes]]) -> None:
    """Make the host that `target` names the request's `Host`. Two of those are left: they are refused as they are."""
    scheme, separator, rest = target.partition(b"://")
    if not separator or b"/" in scheme or b"?" in scheme:
        return
    places = [place for place, (name, _) in enumerate(headers) if name == _HOST]
    authority = (_HOST, rest.partition(b"/")[0].partition(b"?")[0])
    if not places:
        headers.append(authority)
    elif len(places) == 1:
        headers[places[0]] = authority
