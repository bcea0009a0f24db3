"""The edge: what every request meets before it is answered, whatever it asks for.

In this order: Host and Origin, the token that it shows, the role that its path needs, its rate. A refusal is answered
here, before anything of the request's body is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from starlette.types import Receive, Scope, Send

from mcp_agent_mail.core.concurrency.token_end import called_by_token
from mcp_agent_mail.core.roles import BeyondRole
from mcp_agent_mail.server.edge.admitted import Admitted, HttpRefusal
from mcp_agent_mail.server.edge.browsers import answer_preflight, guarded, is_preflight
from mcp_agent_mail.server.edge.gate import Gate, is_from_elsewhere
from mcp_agent_mail.server.edge.paths import PathRule, Showing
from mcp_agent_mail.server.edge.proxies import NO_PROXIES, Proxies
from mcp_agent_mail.server.edge.rates import NO_RATES, Charge, RateClass, Rates, address_payer
from mcp_agent_mail.server.edge.token_watch import BegunAnswer, TokenWatch
from mcp_agent_mail.server.identity import Headers
from mcp_agent_mail.server.rendering.responses import send_detail, send_refusal, send_value

Answer = Callable[[Receive, Send], Awaitable[None]]

_UNAUTHORIZED, _FORBIDDEN, _TOO_MANY = 401, 403, 429
_TOO_MANY_WRONG = "Too many wrong tokens came from this address."


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeFigures:
    """How many requests were `refused` here since the start, by status, and how many came too often, by what they were
    (wrong tokens, too): these stand there alone. `buckets` are those whose rate is watched just now.
    """

    refused: Mapping[int, int]
    limited: Mapping[RateClass, int]
    buckets: int


class Edge:
    """`challenge` is what a 401 says of how to come in."""

    def __init__(
        self, gate: Gate, *, proxies: Proxies = NO_PROXIES, rates: Rates = NO_RATES, challenge: bytes = b"Bearer"
    ) -> None:
        self._gate = gate
        self._proxies = proxies
        self._rates = rates
        self._challenge = challenge
        self._watch = TokenWatch()
        self._refused: Counter[int] = Counter()

    def opened(self) -> AbstractAsyncContextManager[None]:
        """Requests are judged between entry and exit."""
        return self._gate.bearers.opened()

    def figures(self) -> EdgeFigures:
        return EdgeFigures(refused=dict(self._refused), limited=dict(self._rates.limited), buckets=len(self._rates))

    def guarded(self, headers: Headers, rule: PathRule | None, send: Send) -> Send:
        """Each answer says how it may be used."""
        origins = self._gate.origins
        also = origins.told(headers.get(b"origin")) if origins.are_granted and rule and rule.has_cors else ()
        return guarded(send, rule, also, self._challenge)

    async def admit(self, scope: Scope, headers: Headers, rule: PathRule, send: Send) -> Admitted | None:
        """None where the request was answered here: refused, or a browser's question."""
        refusal = None
        if not rule.from_any_host:
            refusal = self._gate.check_source(scope["headers"], headers, has_cors=rule.has_cors)
        if refusal is None and self._is_question(scope, headers, rule):
            self.charge(address_payer(self.address(scope)), RateClass.OTHERS)
            await answer_preflight(send)
            return None
        admitted = refusal or await self._judge(scope, headers, rule)
        if isinstance(admitted, HttpRefusal):
            if admitted.status != _TOO_MANY:
                self._refused[admitted.status] += 1
            await send_refusal(send, admitted)
            return None
        if rule.methods is not None and scope["method"] not in rule.methods:
            self.charge(admitted.payer, RateClass.OTHERS)
            await refuse_method(scope, rule.methods, send)
            return None
        if admitted.role < rule.least:
            self.charge(admitted.payer, RateClass.OTHERS)
            self._refused[_FORBIDDEN] += 1
            await send_detail(send, 403, BeyondRole("This path", held=admitted.role, needed=rule.least).text)
            return None
        return admitted

    def _is_question(self, scope: Scope, headers: Headers, rule: PathRule) -> bool:
        """Of a browser, whether a page that is granted may ask."""
        is_granted = rule.has_cors and self._gate.origins.grants(headers.get(b"origin"))
        return is_granted and is_preflight(scope, headers)

    async def _judge(self, scope: Scope, headers: Headers, rule: PathRule) -> Admitted | HttpRefusal:
        address = self.address(scope)
        if rule.showing is Showing.NONE:
            return Admitted(payer=address_payer(address))
        judged = await self._gate.bearers.judge(
            headers,
            address,
            is_local=not is_from_elsewhere(headers, peer(scope)),
            operator_may=rule.showing is Showing.ANY,
        )
        if _is_wrong(judged, headers) and (
            retry_after_s := self._rates.take(address_payer(address), RateClass.REFUSED)
        ):
            return HttpRefusal(status=_TOO_MANY, detail=_TOO_MANY_WRONG, retry_after_s=retry_after_s)
        return judged

    def address(self, scope: Scope) -> str | None:
        """Of whoever asks, as far as proxies that are trusted say it."""
        return self._proxies.client(peer(scope), scope["headers"])

    def charge_of(self, admitted: Admitted) -> Charge | None:
        """Counts what the request asks for; None where nothing is counted."""
        return Charge(self._rates, admitted.payer) if self._rates.are_on else None

    def charge(self, payer: str, rate_class: RateClass) -> None:
        """Count one request. Raises RateLimited."""
        self._rates.require(payer, rate_class)

    async def answer_while_live(self, admitted: Admitted, receive: Receive, send: Send, answer: Answer) -> None:
        """What `answer` receives ends with the token that was shown, and so does what it sends. A call that waited ends
        with TokenEnded then.
        """
        if admitted.is_live is None:
            await answer(receive, send)
            return
        with self._watch.watching(admitted.is_live, receive) as receive_while_live:
            begun = BegunAnswer(send)
            with called_by_token(admitted.is_live):
                await answer(receive_while_live, begun.send)
        if not admitted.is_live():
            await begun.end()


def _is_wrong(judged: Admitted | HttpRefusal, headers: Headers) -> bool:
    """Whether credentials were shown that open nothing, as far as anybody knows."""
    if not isinstance(judged, HttpRefusal):
        return False
    return judged.may_be_wrong or (judged.status == _UNAUTHORIZED and b"authorization" in headers)


async def refuse_method(scope: Scope, methods: tuple[str, ...], send: Send) -> None:
    refusal = {"detail": f"Use {' or '.join(methods)} {scope['path']:.200}."}
    await send_value(send, 405, refusal, (b"allow", ", ".join(methods).encode()))


def peer(scope: Scope) -> str | None:
    """The address at the other end of the connection."""
    client = scope.get("client")
    return client[0] if client else None
