"""Whose request it is where a proxy passes it on: `X-Forwarded-For`, of proxies that the settings trust alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

_FORWARDED_FOR = b"x-forwarded-for"
MAX_HOPS = 32
"""So many of its addresses are looked at, from the right."""


class Proxies:
    """`networks` are those of proxies whose word counts."""

    def __init__(self, networks: Iterable[str] = ()) -> None:
        self._networks: Sequence[IPv4Network | IPv6Network] = [ip_network(network) for network in networks]

    def client(self, peer: str | None, headers: Sequence[tuple[bytes, bytes]]) -> str | None:
        """The address of whoever asks: the peer's, unless that is a trusted proxy; then the first from the right that
        is none. What is no address was put there by somebody else: the last good one counts.
        """
        if not self._networks or peer is None or not self._is_trusted(peer):
            return peer
        said = b",".join(value for name, value in headers if name == _FORWARDED_FOR)
        found = peer
        for part in said.decode("latin-1").rsplit(",", MAX_HOPS)[::-1][:MAX_HOPS]:
            address = _address(part.strip())
            if address is None:
                return found
            found = address
            if not self._is_trusted(address):
                return found
        return found

    def _is_trusted(self, address: str) -> bool:
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None:
            parsed = parsed.ipv4_mapped
        return any(parsed in network for network in self._networks)


def _address(text: str) -> str | None:
    """An address, as proxies write it: of IPv6 also in brackets, both also with a port."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        return str(ip_address(text))
    except ValueError:
        return None


NO_PROXIES = Proxies()
