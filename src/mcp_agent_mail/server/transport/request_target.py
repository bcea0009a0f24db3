"""A request whose target is a whole URL, as proxies get them, names a host there too: it must be that of `Host`."""

from __future__ import annotations

from collections.abc import Sequence

_HOST = b"host"


def names_another_host(target: bytes, headers: Sequence[tuple[bytes, bytes]]) -> bool:
    """Whether `target` is a whole URL whose authority is not, letter by letter but for their case, what each `Host`
    says, or there is none.

    RFC 9112, 3.2.2 has the target's count: but of two readers one may take the other, and each serves another host.
    """
    scheme, separator, rest = target.partition(b"://")
    if not separator or b"/" in scheme or b"?" in scheme:
        return False
    authority = rest.partition(b"/")[0].partition(b"?")[0].lower()
    return {value.strip(b" \t").lower() for name, value in headers if name == _HOST} != {authority}
