"""The pages over HTTP: who looks, by a cookie or as anybody looks over `/rpc`; forms read; pages and assets sent."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.types import Receive, Scope, Send

from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.core.clock import system_clock
from mcp_agent_mail.core.errors import AgentMailError, InvalidInput, PermissionDenied, RateLimited
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.core.tools import Json, JsonObject, call_as
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.identity.web_sessions import OpenedBy, SessionGrant, WebSession
from mcp_agent_mail.server.attachments import send_attachment
from mcp_agent_mail.server.dispatch import Calls, RequestFacts, free, masked
from mcp_agent_mail.server.edge.admitted import Admitted, HttpRefusal
from mcp_agent_mail.server.edge.edge import Edge, peer
from mcp_agent_mail.server.edge.gate import is_from_elsewhere
from mcp_agent_mail.server.edge.paths import AcceptedBearers, PathClass, PathRule
from mcp_agent_mail.server.edge.rates import RateClass, address_payer, token_payer
from mcp_agent_mail.server.identity import Headers, read_credentials
from mcp_agent_mail.server.pages.codings import ZIPPED, is_asked_by_own, takes_gzip, zipped
from mcp_agent_mail.server.pages.form_fields import MAX_FIELDS, UnfitForm, fields_of, read_form
from mcp_agent_mail.server.rendering.responses import without_body
from mcp_agent_mail.server.transport.answers import begin_stream
from mcp_agent_mail.server.transport.hearing import RequestHearing
from mcp_agent_mail.server.transport.limits import BodyTooLarge
from mcp_agent_mail.web.cookies import FORM_COOKIE, SESSION_COOKIE, cookie_name, read_cookies
from mcp_agent_mail.web.request import PageAnswer, PageHost, PageRequest, PageStream, Values

if TYPE_CHECKING:
    from mcp_agent_mail.web.app import WebApp

PAGES: Mapping[str, PathClass] = {
    "/": PathClass.PAGE,
    "/mail": PathClass.PAGE,
    "/mail/": PathClass.PAGE,
    "/assets/": PathClass.ASSET,
}
"""Whole paths, and with a closing slash all below; `/` is itself alone."""

NO_PAGES_BELOW = (
    "The pages for people are not served below a prefix: am serve has them, and so has uvicorn without --root-path."
)
_LOCKED = 401
_TOO_LARGE = "The form holds more than any of this page does; nothing was done."
_ASSET_HEADERS = (("cross-origin-resource-policy", "same-origin"), ("x-content-type-options", "nosniff"))
_FOREVER = "public, max-age=31536000, immutable"
_ZIPPING, _DECODING = 2, 1
"""At a time, beside the event loop."""


class UnfitQuery(InvalidInput):
    """More parts than any page asks for."""


class RefusedToken(PermissionDenied):
    """A token that was typed opens nothing here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Visit:
    """One request: `is_open` on the page to sign in at, where `secret` is the form's. `query` is None for one of too
    many parts, `takes_gzip` whether the answer may be compressed.
    """

    scope: Scope
    headers: Headers
    request_id: str
    query: Values | None
    is_open: bool
    session: WebSession | None
    secret: str | None
    takes_gzip: bool


class PagesEndpoint:
    """`public_origin` is HTTP_PUBLIC_URL's, where there is one: a proxy's pages have that."""

    def __init__(self, services: Services, calls: Calls, edge: Edge, *, public_url: str | None) -> None:
        self._services = services
        self._calls = calls
        self._edge = edge
        self._public_origin = _origin_of(public_url) if public_url else None
        self._zipping, self._decoding = asyncio.Semaphore(_ZIPPING), asyncio.Semaphore(_DECODING)
        self._made: WebApp | None = None

    @property
    def _web(self) -> WebApp:
        """Made at the first visit: a server without any does not import it."""
        if self._made is None:
            from mcp_agent_mail.web.app import WebApp  # noqa: PLC0415

            self._made = WebApp(self._services, clock=system_clock)
        return self._made

    async def answer(
        self, scope: Scope, headers: Headers, rule: PathRule, request_id: str, receive: Receive, send: Send
    ) -> None:
        """One request for a page, judged here as by the edge everywhere else, and refused by a page."""
        if scope["method"] == "HEAD":
            send = without_body(send)
        visit = await self._visit(scope, headers, request_id)
        if visit.is_open:
            rule = replace(rule, accepts=AcceptedBearers.NONE)
        session = None if visit.session is None else self._admitted(visit.session)
        judged = await self._edge.judge(scope, headers, rule, session)
        if isinstance(judged, HttpRefusal):
            request = self._request(visit, Role.READER, await self._unsent(visit, judged, receive))
            await self._answer(
                visit, send, await self._web.refused(request, judged.status, judged.detail, judged.retry_after_s)
            )
            return
        answer = partial(self._answer_admitted, visit, judged)
        await self._edge.answer_while_live(judged, receive, send, answer)

    async def _answer_admitted(self, visit: _Visit, admitted: Admitted, receive: Receive, send: Send) -> None:
        facts = self._facts(visit, admitted)
        try:
            facts.charge(RateClass.OTHERS)
            form = await self._form(visit, admitted, receive)
        except AgentMailError as refused:
            await self._answer(visit, send, await self._web.refusal(self._request(visit, admitted.role), refused))
            return
        except BodyTooLarge:
            await self._answer(
                visit, send, await self._web.refused(self._request(visit, admitted.role), 413, _TOO_LARGE, None)
            )
            return
        request = self._request(visit, admitted.role, form)
        left = asyncio.Event()

        async def identify() -> Caller:
            caller: Caller = await call_as(facts.credentials, self._services.identity.caller, {})
            return caller

        host = PageHost(
            run_tool=partial(self._run_tool, facts),
            judge_token=partial(self._judge_token, visit),
            masked=lambda error: masked(error, what="a page", request_id=visit.request_id),
            identify=identify,
            has_left=left.is_set,
            payer=admitted.payer,
        )

        async def make() -> Json:
            return await self._web.answer(request, host, self._services.identity.caller)

        hearing = RequestHearing(receive, send)
        with hearing.watched(left.set):
            answer: PageAnswer = await call_as(facts.credentials, make, {})
        if answer.stream is not None:
            if left.is_set():
                answer.stream.leave()
            await _send_stream(visit.scope, hearing, send, answer, answer.stream)
        elif answer.attachment is not None:
            try:
                await send_attachment(self._services.messaging, answer.attachment, visit.scope, receive, send)
            except AgentMailError as refused:
                await self._answer(visit, send, await self._web.refusal(request, refused))
        else:
            await self._answer(visit, send, answer)

    async def _form(self, visit: _Visit, admitted: Admitted, receive: Receive) -> Values:
        """What was posted, read only where a page takes it from whoever sends it. Raises what it is refused with."""
        if visit.query is None:
            raise UnfitQuery(f"The address asks for more than {MAX_FIELDS} things.", hint="Ask for fewer.")
        request = self._request(visit, admitted.role)
        if (unsent := self._web.unsent_bound(request)) is not None:
            return await self._read_unsent(visit, receive, unsent)
        at_most = self._web.form_bound(request)
        return (
            {} if at_most is None else await read_form(visit.headers, receive, at_most=at_most, places=self._decoding)
        )

    async def _unsent(self, visit: _Visit, refused: HttpRefusal, receive: Receive) -> Values:
        """A letter whose session has ended, where nobody comes in without one: paid for by the address."""
        at_most = self._web.unsent_bound(self._request(visit, Role.READER))
        if refused.status != _LOCKED or at_most is None:
            return {}
        try:
            self._edge.charge(address_payer(self._edge.address(visit.scope)), RateClass.OTHERS)
        except RateLimited:
            return {}
        return await self._read_unsent(visit, receive, at_most)

    async def _read_unsent(self, visit: _Visit, receive: Receive, at_most: int) -> Values:
        """What nothing is done with but to show it to who sent it; nothing of what is no form, or too much."""
        try:
            return await read_form(visit.headers, receive, at_most=at_most, places=self._decoding)
        except (UnfitForm, BodyTooLarge):
            return {}

    async def _answer(self, visit: _Visit, send: Send, answer: PageAnswer) -> None:
        await _send(send, await zipped(answer, self._zipping) if visit.takes_gzip else answer)

    async def answer_asset(self, scope: Scope, headers: Headers, send: Send) -> None:
        """What a page loads: no secret, so that it is compressed for whoever takes that. Under another digest than ours
        nothing is there.
        """
        from mcp_agent_mail.web.assets import asset_set  # noqa: PLC0415  # as `_web`

        found = asset_set().find(scope["path"])
        if found is None:
            missing = (("cache-control", "no-store"), *_ASSET_HEADERS)
            answer = PageAnswer(status=404, media_type="text/plain", body=b"No such asset.\n", headers=missing)
            await _send(send, answer)
            return
        said = (("cache-control", _FOREVER), ("vary", "accept-encoding"), *_ASSET_HEADERS)
        answer = PageAnswer(media_type=found.media_type, body=found.content, headers=said)
        if found.gzip is not None and takes_gzip(headers):
            answer = replace(answer, body=found.gzip, headers=(*said, ZIPPED))
        await _send(send, answer)

    async def _run_tool(self, facts: RequestFacts, name: str, arguments: JsonObject) -> Json:
        return await self._calls.run_tool(name, arguments, facts)

    async def _judge_token(self, visit: _Visit, token: str) -> SessionGrant:
        judged = await self._edge.judge_token(visit.scope, token)
        if isinstance(judged, HttpRefusal):
            if judged.retry_after_s is not None:
                raise RateLimited(
                    judged.detail, hint="Wait, then try again.", data={"retry_after_s": judged.retry_after_s}
                )
            raise RefusedToken("This token opens nothing here.", hint="An agent's own token does not: see am token.")
        assert judged.opened_by is not None, judged
        return SessionGrant(
            by=judged.opened_by,
            role=judged.role,
            issued_token=judged.issued_token,
            issued_to=judged.issued_to,
            claimed_agents=judged.claimed_agents,
            judged_by=judged.judged_by,
            subject_hash=judged.subject_hash,
            expires_ts=judged.expires_ts,
        )

    async def _visit(self, scope: Scope, headers: Headers, request_id: str) -> _Visit:
        is_open = self._web.is_open(_raw_path(scope))
        name = cookie_name(FORM_COOKIE if is_open else SESSION_COOKIE, _port(scope))
        secrets = read_cookies(headers.get(b"cookie", b"").decode("latin-1"), name)
        secret, session = next(iter(secrets), None), None
        if not is_open:
            secret, session = await self._session(secrets)
        return _Visit(
            scope=scope,
            headers=headers,
            request_id=request_id,
            query=_query(scope),
            is_open=is_open,
            session=session,
            secret=secret,
            takes_gzip=takes_gzip(headers) and is_asked_by_own(headers),
        )

    async def _session(self, secrets: Sequence[str]) -> tuple[str, WebSession] | tuple[None, None]:
        """The first that lives, with its secret."""
        sessions = self._services.pages.sessions
        if any(map(sessions.waits_for_judges, secrets)):
            await self._edge.settle()
        live = ((one, found) for one in secrets if (found := sessions.find(one)) is not None)
        return next(live, (None, None))

    def _admitted(self, session: WebSession) -> Admitted:
        grant = session.grant
        return Admitted(
            payer=token_payer(grant.by, issued_token=grant.issued_token, subject_hash=grant.subject_hash),
            role=grant.role,
            bearer_is_spent=True,
            is_operators_own=grant.by in (OpenedBy.LINK, OpenedBy.OPERATOR),
            issued_to=grant.issued_to,
            claimed_agents=grant.claimed_agents,
            is_live=partial(self._services.pages.sessions.is_live, session.id),
        )

    def _facts(self, visit: _Visit, admitted: Admitted) -> RequestFacts:
        client = visit.scope.get("client")
        return RequestFacts(
            credentials=read_credentials(
                visit.headers,
                via="rpc",
                admitted=admitted,
                origin=f"{client[0]}:{client[1]}" if client else None,
                is_remote=is_from_elsewhere(visit.headers, peer(visit.scope)),
            ),
            request_id=visit.request_id,
            opener=admitted.opener,
            charge=self._edge.charge_of(admitted) or free,
        )

    def _request(self, visit: _Visit, role: Role, form: Values | None = None) -> PageRequest:
        scope, headers = visit.scope, visit.headers
        return PageRequest(
            method="GET" if scope["method"] == "HEAD" else scope["method"],
            path=_raw_path(scope),
            role=role,
            port=_port(scope),
            query=visit.query or {},
            form=form or {},
            session=visit.session,
            secret=visit.secret,
            own_origins=self._own_origins(scope, headers),
            origin=_text(headers, b"origin"),
            referer=_text(headers, b"referer"),
            fetch_site=_text(headers, b"sec-fetch-site"),
            last_event_id=_text(headers, b"last-event-id") or "",
            is_secure=scope["scheme"] == "https" or (self._public_origin or "").startswith("https:"),
        )

    def _own_origins(self, scope: Scope, headers: Headers) -> frozenset[str]:
        """By the Host that the edge found to be ours, port included."""
        host = headers.get(b"host", b"").decode("latin-1").lower()
        origins = {f"{scope['scheme']}://{host}"}
        return frozenset(origins | ({self._public_origin} if self._public_origin else set()))


def _query(scope: Scope) -> Values | None:
    try:
        return fields_of(scope["query_string"].decode("latin-1"))
    except ValueError:
        return None


def _raw_path(scope: Scope) -> str:
    """As it was sent: what is quoted in it belongs to its part."""
    raw = scope.get("raw_path")
    return raw.decode("latin-1").partition("?")[0] if raw else str(scope["path"])


def _port(scope: Scope) -> int:
    server = scope.get("server")
    return int(server[1] or 0) if server else 0


def _text(headers: Headers, name: bytes) -> str | None:
    value = headers.get(name)
    return None if value is None else value.decode("latin-1").strip()


def _origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()


async def _send(send: Send, answer: PageAnswer) -> None:
    headers = [*_headers(answer), (b"content-length", b"%d" % len(answer.body))]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


async def _send_stream(
    scope: Scope, hearing: RequestHearing, send: Send, answer: PageAnswer, stream: PageStream
) -> None:
    """Until its reader leaves, or it ends by itself. Who asks for the headers alone gets these."""
    try:
        with hearing.watched(stream.leave):
            begin_stream(scope)
            await send({"type": "http.response.start", "status": answer.status, "headers": _headers(answer)})
            if scope["method"] != "HEAD":
                async for piece in stream.pieces:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
    finally:
        stream.close()


def _headers(answer: PageAnswer) -> list[tuple[bytes, bytes]]:
    return [
        (b"content-type", answer.media_type.encode()),
        *((name.encode(), value.encode("latin-1", "replace")) for name, value in answer.headers),
    ]
