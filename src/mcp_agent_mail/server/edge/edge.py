"""The edge: what every request meets before it is answered, whatever it asks for.

In this order: Host and Origin, the token that it shows, the role that its path needs, its rate. A refusal is answered
here, before anything of the request's body is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager

from starlette.types import Receive, Scope, Send

from mcp_agent_mail.core.concurrency.token_end import called_by_token
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.roles import BeyondRole
from mcp_agent_mail.server.edge.admitted import Admitted, HttpRefusal
from mcp_agent_mail.server.edge.browsers import answer_preflight, guarded, is_preflight
from mcp_agent_mail.server.edge.gate import Gate, is_from_elsewhere
from mcp_agent_mail.server.edge.paths import AcceptedBearers, PathRule
from mcp_agent_mail.server.edge.proxies import NO_PROXIES, Proxies
from mcp_agent_mail.server.edge.rates import NO_RATES, Charge, RateClass, Rates, address_payer
from mcp_agent_mail.server.edge.token_watch import BegunAnswer, TokenWatch
from mcp_agent_mail.server.identity import Headers
from mcp_agent_mail.server.rendering.responses import send_detail, send_refusal, send_value

Answer = Callable[[Receive, Send], Awaitable[None]]

_UNAUTHORIZED, _FORBIDDEN, _TOO_MANY = 401, 403, 429
_OPENS_NOTHING = "This token opens nothing here."
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
        if self._is_granted_preflight(scope, headers, rule) and self._check_source(scope, headers, rule) is None:
            self.charge(address_payer(self.address(scope)), RateClass.OTHERS)
            await answer_preflight(send)
            return None
        admitted = await self.judge(scope, headers, rule)
        if isinstance(admitted, HttpRefusal):
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

    async def judge(
        self, scope: Scope, headers: Headers, rule: PathRule, session: Admitted | None = None
    ) -> Admitted | HttpRefusal:
        """Who is let in, or why nobody is, which is counted; nothing is answered here. `session` is who a cookie says
        it is: a token that is shown counts before it.
        """
        judged = self._check_source(scope, headers, rule)
        if judged is None and session is not None and b"authorization" not in headers:
            return session
        answer = judged or await self._judge_credentials(scope, headers, rule)
        self._count(answer)
        return answer

    async def judge_token(self, scope: Scope, token: str) -> Admitted | HttpRefusal:
        """What a token lets in that came in a form. One that opens nothing is wrong, also where nothing is locked."""
        headers = {b"authorization": b"Bearer " + token.encode("latin-1")}
        address = self.address(scope)
        judged = await self._gate.bearers.judge(headers, address, is_local=False, operator_may=True)
        if isinstance(judged, Admitted) and judged.opened_by is None:
            judged = HttpRefusal(status=_UNAUTHORIZED, detail=_OPENS_NOTHING)
        if isinstance(judged, HttpRefusal):
            judged = self._slowed(judged, headers, address)
        self._count(judged)
        return judged

    async def settle(self) -> None:
        """Wait for what JWTs are judged by, where it is not known yet: a few seconds at most."""
        await self._gate.bearers.settle()

    def _count(self, judged: Admitted | HttpRefusal) -> None:
        """What came too often is counted where rates are."""
        if isinstance(judged, HttpRefusal) and judged.status != _TOO_MANY:
            self._refused[judged.status] += 1

    def _check_source(self, scope: Scope, headers: Headers, rule: PathRule) -> HttpRefusal | None:
        if rule.from_any_host:
            return None
        return self._gate.check_source(scope["headers"], headers, has_cors=rule.has_cors)

    def _is_granted_preflight(self, scope: Scope, headers: Headers, rule: PathRule) -> bool:
        """Whether it is a browser's question if a page may ask, and the page is one that is granted."""
        is_granted = rule.has_cors and self._gate.origins.grants(headers.get(b"origin"))
        return is_granted and is_preflight(scope, headers)

    async def _judge_credentials(self, scope: Scope, headers: Headers, rule: PathRule) -> Admitted | HttpRefusal:
        address = self.address(scope)
        if rule.accepts is AcceptedBearers.NONE:
            return Admitted(payer=address_payer(address))
        judged = await self._gate.bearers.judge(
            headers,
            address,
            is_local=not is_from_elsewhere(headers, peer(scope)),
            operator_may=rule.accepts is AcceptedBearers.ANY,
        )
        return self._slowed(judged, headers, address) if isinstance(judged, HttpRefusal) else judged

    def _slowed(self, refusal: HttpRefusal, headers: Headers, address: str | None) -> HttpRefusal:
        """Wrong credentials are told apart from too many of them."""
        if _is_wrong(refusal, headers) and (
            retry_after_s := self._rates.take(address_payer(address), RateClass.REFUSED)
        ):
            return HttpRefusal(status=_TOO_MANY, detail=_TOO_MANY_WRONG, retry_after_s=retry_after_s)
        return refusal

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


def _is_wrong(judged: HttpRefusal, headers: Headers) -> bool:
    """Whether credentials were shown that open nothing, as far as anybody knows."""
    return judged.may_be_wrong or (judged.status == _UNAUTHORIZED and b"authorization" in headers)


async def refuse_method(scope: Scope, methods: tuple[str, ...], send: Send) -> None:
    refusal = {"detail": f"Use {' or '.join(methods)} {scope['path']:.200}."}
    await send_value(send, 405, refusal, (b"allow", ", ".join(methods).encode()))


def peer(scope: Scope) -> str | None:
    """The address at the other end of the connection."""
    client = scope.get("client")
    return client[0] if client else None
