"""Addresses that servers are bound to, as text: whom they reach, and by which URL. Standard library only."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache


@lru_cache(maxsize=256)
def is_loopback(host: str) -> bool:
    """Whether this text is an address of this machine itself, or `localhost`. Any other name, and what is no address,
    is not: nothing is looked up.
    """
    from ipaddress import ip_address  # noqa: PLC0415  # hooks start without it

    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def bound_url(host: str, port: int) -> str:
    """The URL of exactly what a server listens on."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def base_url(host: str, port: int) -> str:
    """How clients on this machine reach a server bound to `host`."""
    from ipaddress import ip_address  # noqa: PLC0415  # hooks start without it

    with suppress(ValueError):
        if (bound := ip_address(host)).is_unspecified:
            return bound_url("127.0.0.1" if bound.version == 4 else "::1", port)
    return bound_url(host, port)
