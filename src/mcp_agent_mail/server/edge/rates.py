"""How much each token, JWT subject or address may ask: a bucket of tokens for each of them and class of request.

A bucket holds a burst and fills up at the rate. No library that is kept well has buckets with a burst of their own
(docs/adr): these are a dict and an addition.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network
from time import monotonic

from mcp_agent_mail.core.errors import RateLimited
from mcp_agent_mail.core.ids import IssuedTokenId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.identity.web_sessions import OpenedBy

MAX_BUCKETS = 10_000
"""Beyond them the idlest goes: it is the fullest, so that least is given away."""
REFUSED_A_MINUTE = 30
"""So many wrong credentials of one address are answered; a right one still passes."""
_MINUTE_S = 60.0
_MAX_ADDRESS = 100
"""Longer ones, which a proxy may say, are not kept."""
_PREFIX = 64
"""Of IPv6: who has one address there has all of the network's."""


class RateClass(StrEnum):
    """`others` are requests that are neither tool calls nor reads, `refused` those with wrong credentials."""

    TOOLS = "tools"
    RESOURCES = "resources"
    OTHERS = "others"
    REFUSED = "refused"


WORDS = {
    RateClass.TOOLS: "tool calls",
    RateClass.RESOURCES: "reads",
    RateClass.OTHERS: "requests",
    RateClass.REFUSED: "wrong tokens",
}
"""What a refusal calls what there was too much of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """So many a minute, and so many at once; 0 a minute is no bound, a burst of 0 a minute's."""

    per_minute: int
    burst: int = 0


@dataclass(slots=True)
class _Bucket:
    """`unknown`: requests under way that may count against it in the end."""

    left: float
    at: float
    unknown: int = 0


def token_payer(by: OpenedBy, *, issued_token: IssuedTokenId | None = None, subject_hash: bytes | None = None) -> str:
    """Of a token, whether a request shows it or a session that it opened: JWTs of one subject are one payer."""
    match by:
        case OpenedBy.LINK | OpenedBy.OPERATOR:
            return "operator"
        case OpenedBy.SERVER:
            return "server"
        case OpenedBy.ISSUED:
            return f"issued {issued_token}"
        case OpenedBy.JWT:
            return f"jwt {(subject_hash or b'').hex()}"


def address_payer(address: str | None) -> str:
    """Whose rate a request without a token counts against: its address, of IPv6 the network."""
    if address is None:
        return "address -"
    find = _payer_of if len(address) <= _MAX_ADDRESS else _payer_of.__wrapped__
    return find(address)


@lru_cache(maxsize=1_024)
def _payer_of(address: str) -> str:
    try:
        parsed = ip_address(address)
    except ValueError:
        return f"address {address:.100}"
    if isinstance(parsed, IPv6Address):
        if (mapped := parsed.ipv4_mapped) is not None:
            return f"address {mapped}"
        return f"address {ip_network((int(parsed), _PREFIX), strict=False)}"
    return f"address {parsed}"


class Rates:
    """Where `rates` has no class, or 0 a minute, nothing is counted."""

    def __init__(
        self, rates: Mapping[RateClass, Rate], *, now: Callable[[], float] = monotonic, most: int = MAX_BUCKETS
    ) -> None:
        self._rates = {one: rate for one, rate in rates.items() if rate.per_minute}
        self._now = now
        self._most = most
        self._buckets: OrderedDict[tuple[str, RateClass], _Bucket] = OrderedDict()
        self.limited: Counter[RateClass] = Counter()
        """How many requests of each class were turned away."""

    def __len__(self) -> int:
        """How many buckets are kept."""
        return len(self._buckets)

    @property
    def are_on(self) -> bool:
        return bool(self._rates)

    def take(self, payer: str, rate_class: RateClass) -> float:
        """Count one request. 0 where it may come; else in how many seconds one may, and nothing was counted."""
        rate = self._rates.get(rate_class)
        if rate is None:
            return 0.0
        bucket, per_s = self._filled(payer, rate_class, rate), rate.per_minute / _MINUTE_S
        if bucket.left >= 1.0:
            bucket.left -= 1.0
            return 0.0
        self.limited[rate_class] += 1
        return _rounded_up((1.0 - bucket.left) / per_s)

    def overdraw(self, payer: str, rate_class: RateClass) -> None:
        """Count one request that has been answered already: what is owed is waited out by those that come next."""
        if (rate := self._rates.get(rate_class)) is None:
            return
        bucket = self._filled(payer, rate_class, rate)
        bucket.left = max(bucket.left - 1.0, -float(rate.burst or rate.per_minute))

    def begin(self, payer: str, rate_class: RateClass) -> _Bucket | None:
        """One request more of which nobody knows yet what it counts as, until `unknown` of the bucket is lowered again;
        None where it counts nothing. Raises RateLimited while something is owed, and where as many are under way that
        they might owe more than `overdraw` keeps.
        """
        if (rate := self._rates.get(rate_class)) is None:
            return None
        bucket = self._filled(payer, rate_class, rate)
        most = bucket.left + float(rate.burst or rate.per_minute)
        if bucket.left < 0.0 or bucket.unknown >= most:
            self.limited[rate_class] += 1
            owed = max(-bucket.left, bucket.unknown - bucket.left)
            raise self._too_many(rate_class, _rounded_up(owed / (rate.per_minute / _MINUTE_S)))
        bucket.unknown += 1
        return bucket

    def _filled(self, payer: str, rate_class: RateClass, rate: Rate) -> _Bucket:
        now, burst = self._now(), float(rate.burst or rate.per_minute)
        bucket = self._bucket((payer, rate_class), now, burst)
        bucket.left = min(burst, bucket.left + (now - bucket.at) * rate.per_minute / _MINUTE_S)
        bucket.at = now
        return bucket

    def _bucket(self, key: tuple[str, RateClass], now: float, burst: float) -> _Bucket:
        bucket = self._buckets.get(key)
        if bucket is not None:
            self._buckets.move_to_end(key)
            return bucket
        if len(self._buckets) >= self._most:
            self._buckets.popitem(last=False)
        self._buckets[key] = bucket = _Bucket(left=burst, at=now)
        return bucket

    def require(self, payer: str, rate_class: RateClass) -> None:
        """Count one request. Raises RateLimited, with when it may be made again."""
        if retry_after_s := self.take(payer, rate_class):
            raise self._too_many(rate_class, retry_after_s)

    def _too_many(self, rate_class: RateClass, retry_after_s: float) -> RateLimited:
        return RateLimited(
            f"Too many {WORDS[rate_class]}: there may be {self._rates[rate_class].per_minute} a minute.",
            hint=f"Call again in {retry_after_s:g} s.",
            data={"retry_after_s": retry_after_s},
        )


def _rounded_up(seconds: float) -> float:
    """A hair more: after that wait there is a whole one, however it is rounded."""
    return math.ceil((seconds + 0.001) * 1_000) / 1_000


class Charge:
    """What one request counts against its payer's rates. What it counts as nothing else is another request in the end,
    which may have been a large one: whoever owes for such waits.
    """

    __slots__ = ("_bucket", "_payer", "_rates", "is_made")

    def __init__(self, rates: Rates, payer: str) -> None:
        self._rates = rates
        self._payer = payer
        self._bucket: _Bucket | None = None
        self.is_made = False

    def __call__(self, rate_class: RateClass) -> None:
        self._know()
        self.is_made = True
        self._rates.require(self._payer, rate_class)

    @contextmanager
    def settled(self) -> Iterator[None]:
        """Within, the request is answered. Raises RateLimited before as `Rates.begin` does."""
        self._bucket = self._rates.begin(self._payer, RateClass.OTHERS)
        if self.is_made:
            self._know()
        try:
            yield
        finally:
            self._know()
            if not self.is_made:
                self._rates.overdraw(self._payer, RateClass.OTHERS)

    def _know(self) -> None:
        if self._bucket is not None:
            self._bucket.unknown -= 1
            self._bucket = None


NO_RATES = Rates({})
