"""What reads what strangers send, each called by itself: what it is given, and which refusals are its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote

from mcp_agent_mail.core.arguments import bind
from mcp_agent_mail.core.clock import system_clock
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.likeness import one_hint_budget
from mcp_agent_mail.core.profiles import Profiles
from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.core.tools import ToolSpec
from mcp_agent_mail.domain.addresses import parse_address
from mcp_agent_mail.domain.guard.events import read_guard_event
from mcp_agent_mail.domain.identity.names import KnownNames, bare_name, flaw_of, name_key
from mcp_agent_mail.domain.patterns.budget import WorkBudget
from mcp_agent_mail.domain.patterns.path_expansion import expanded_braces
from mcp_agent_mail.domain.patterns.pattern import covers, overlap, parse_pattern
from mcp_agent_mail.domain.projects import canonical_path, plain_slug
from mcp_agent_mail.domain.search.query import read_query as read_search
from mcp_agent_mail.domain.threads import parse_thread_id, parse_topic
from mcp_agent_mail.features.guarding.schemas import read_check, read_events
from mcp_agent_mail.server.edge.admitted import Admitted
from mcp_agent_mail.server.edge.bearers import BearerRules, Bearers
from mcp_agent_mail.server.edge.gate import Gate, is_from_elsewhere
from mcp_agent_mail.server.edge.proxies import Proxies
from mcp_agent_mail.server.edge.rates import address_payer
from mcp_agent_mail.server.identity import read_credentials, read_query
from mcp_agent_mail.server.jwt.claims import ClaimRules
from mcp_agent_mail.server.jwt.proofs import JwtRefused
from mcp_agent_mail.server.jwt.roles import RoleWords
from mcp_agent_mail.server.jwt.signatures import read_key_set
from mcp_agent_mail.server.jwt.verifier import JwtRules, JwtVerifier, looks_like_jwt
from mcp_agent_mail.server.observability.trace_context import read_trace
from mcp_agent_mail.server.plain_calls import is_json, parse_object
from mcp_agent_mail.server.preferences import Connections
from mcp_agent_mail.server.rest.arguments import from_query, read_pairs
from mcp_agent_mail.server.rest.routes import ROUTES
from mcp_agent_mail.server.sessions.request_ids import cancelled_id_of, request_id_of
from mcp_agent_mail.server.transport.limits import (
    BodyTooLarge,
    TooManyValues,
    declared_too_large,
    read_body,
)
from mcp_agent_mail.server.transport.partial_content import NoSuchPart, is_known, read_range
from mcp_agent_mail.server.transport.posted_message import MessageRefused, read_message
from mcp_agent_mail.server.transport.progress_stream import progress_token
from mcp_agent_mail.server.transport.request_target import names_another_host
from tests.fuzz.making import Maker
from tests.server.jwt.issuing import AUDIENCE, ISSUER, b64, claims, key_set, new_key, public, signed
from tests.server.reference_pages import declared

Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """`make` an input and `read` it. What `read` raises beside the `refusals` is a fault. `share` of all inputs."""

    make: Callable[[Maker], Any]
    read: Callable[[Any], object]
    refusals: tuple[type[Exception], ...] = (AgentMailError,)
    share: int = 1


def _run(coroutine: Any) -> Any:
    """Of what never waits."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return ended.value
    raise AssertionError("it waits")


# --- Headers ----------------------------------------------------------------------------------------------------------

_NAMES = (
    *(b"host", b"origin", b"authorization", b"x-agent-token", b"x-agent-window", b"x-agent-project", b"x-agent-name"),
    *(b"content-type", b"content-length", b"accept", b"mcp-session-id", b"mcp-protocol-version", b"last-event-id"),
    *(b"x-tool-profile", b"x-output-format", b"traceparent", b"tracestate", b"x-forwarded-for", b"forwarded", b"via"),
    *(b"if-none-match", b"range", b"sec-fetch-site", b"x-mailbox", b"cookie"),
)
_VALUES = (
    *("localhost", "127.0.0.1", "[::1]", ":8765", "::1", "http://", "https://", "null", "Bearer ", "bearer", "Basic "),
    *(
        "amt_x",
        "amk_x",
        "application/json",
        "; charset=utf-8",
        "text/event-stream",
        "*/*",
        "2026-07-28",
        "core",
        "toon",
    ),
    *("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "bytes=", "0-", "-1", '"tag"', "W/", "fe80::1%eth0"),
)


def _headers(maker: Maker) -> Headers:
    return [(maker.pick(_NAMES), maker.content(6, _VALUES)) for _ in range(int(maker.random.random() * 8))]


_RULES = BearerRules(server_token="the-server's-own", operator_token="amo_the-operator's")
_GATE = Gate(allowed_hosts=("mail.example", "::1"), bearers=Bearers(_RULES))
_CONNECTIONS = Connections(Profiles())


def _read_headers(given: Headers) -> None:
    headers = dict(given)
    _GATE.check_source(given, headers, has_cors=True)
    judged = _run(_GATE.bearers.judge(headers, "127.0.0.1", is_local=True, operator_may=True))
    admitted = judged if isinstance(judged, Admitted) else Admitted(payer="")
    read_credentials(headers, via="rpc", admitted=admitted, is_remote=is_from_elsewhere(headers, "::1"))
    read_trace(headers)
    is_json(headers)
    declared_too_large(headers)
    is_known(headers.get(b"if-none-match"), b'"tag"')
    _CONNECTIONS.wishes({}, headers, is_rpc=True)


def _read_part(given: Headers) -> None:
    read_range(dict(given).get(b"range"), 1_000)
    names_another_host(b"http://" + dict(given).get(b"origin", b""), given)


_PROXIES = Proxies(("127.0.0.0/8", "10.0.0.0/8", "fd00::/8"))
_HOPS = (
    "127.0.0.1",
    "10.1.2.3",
    "8.8.8.8",
    "fd00::1",
    "[fd00::1]:80",
    "1.2.3.4:80",
    "::ffff:10.0.0.1",
    ",",
    ", ",
    "fe80::1%x",
)


def _forwarded(maker: Maker) -> Headers:
    lines = range(1 + int(maker.random.random() * 3))
    return [(b"x-forwarded-for", maker.content(20, _HOPS)) for _ in lines]


def _read_forwarded(given: Headers) -> None:
    address_payer(_PROXIES.client("127.0.0.1", given))


def _query(maker: Maker) -> bytes:
    return quote(maker.text(10, _KEYS), safe="=&%+").encode() if maker.is_so(0.5) else maker.content(10, _KEYS)


_KEYS = (
    "project_key=",
    "agent_name=",
    "&",
    "limit=",
    "to=",
    "format=toon",
    "profile=core",
    "mark_read=true",
    "token=x",
)


def _read_query(query: bytes) -> None:
    said = read_query(query)
    _CONNECTIONS.wishes(said, {}, is_rpc=False)
    from_query(read_pairs(query), ("to",))


def _path(maker: Maker) -> str:
    return "/rest/v1/" + maker.text(8, ("messages", "/", "inbox", "1", "status", "reply"))


def _read_path(path: str) -> None:
    for route in ROUTES:
        route.match(path)


# --- Tokens -----------------------------------------------------------------------------------------------------------

_HEADER_NAMES = ("alg", "kid", "typ", "crit", "b64", "jwk", "jku", "x5u", "cty", "zip", "enc")
_CLAIM_NAMES = ("iss", "aud", "exp", "nbf", "iat", "sub", "role", "agent", "scope", "realm_access", "jti")
_JWT_WORDS = ("HS256", "none", "RS256", "JWT", "at+jwt", ISSUER, AUDIENCE, "operator", "reader")


def _jwt(maker: Maker) -> str:
    """Now and then well signed, whatever it says."""
    head = {"alg": "HS256", **{maker.pick(_HEADER_NAMES): maker.json_value(2, _JWT_WORDS) for _ in range(2)}}
    said = {**claims(), **{maker.pick(_CLAIM_NAMES): maker.json_value(2, _JWT_WORDS) for _ in range(2)}}
    if maker.is_so(0.3):
        return signed(maker.written(said), header=maker.written(head))
    if maker.is_so(0.5):
        return signed(said, header=json.dumps({**head, "alg": "HS256"}).encode())
    parts = [b64(maker.written(head)), b64(maker.written(said)), b64(maker.content(8))]
    return maker.damaged(".".join(parts).encode()).decode("latin-1")


@cache
def _verifier() -> JwtVerifier:
    from mcp_agent_mail.core.settings.kinds import Secret
    from mcp_agent_mail.server.jwt.signatures import shared_key
    from tests.server.jwt.issuing import SECRET

    words = RoleWords(by_word={"operator": Role.OPERATOR, "reader": Role.READER}, default=None)
    rules = JwtRules(
        algorithms=frozenset({"HS256"}),
        claims=ClaimRules(issuer=ISSUER, audiences=frozenset({AUDIENCE})),
        roles=words,
        role_claim="realm_access.roles",
        agent_claim="agent",
    )
    return JwtVerifier(rules, shared_key(Secret(SECRET), {"HS256"}), clock=system_clock)


def _read_jwt(token: str) -> None:
    verifier = _verifier()
    if looks_like_jwt(token):
        _run(verifier.verify(token))


def _key_document(maker: Maker) -> bytes:
    keys = [{**public(new_key("ES256"), kid="one"), maker.text(2, _KEY_PARTS): maker.json_value(1)} for _ in range(2)]
    return maker.damaged(key_set(*keys)) if maker.is_so(0.5) else key_set(*keys, maker.json_value(2))


_KEY_PARTS = ("kty", "crv", "x", "y", "kid", "alg", "use", "key_ops", "n", "e", "d")


# --- Bodies -----------------------------------------------------------------------------------------------------------

_RPC_WORDS = ("jsonrpc", "2.0", "id", "method", "params", "tools/call", "name", "arguments", "_meta", "progressToken")


def _json_rpc(maker: Maker) -> bytes:
    message = {"jsonrpc": "2.0", "id": maker.json_value(1), "method": maker.text(2, _RPC_WORDS)}
    message["params"] = {maker.pick(_RPC_WORDS): maker.json_value(3, _RPC_WORDS) for _ in range(2)}
    content = maker.written(message)
    if maker.is_so(0.02):
        content = content[:-1] + b',"pad":"' + b"x" * 70_000 + b'"}'
    return content


def _read_json_rpc(body: bytes) -> None:
    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    _run(read_body(receive))
    with suppress(MessageRefused):
        message = read_message({b"content-type": b"application/json"}, body)
        progress_token({b"accept": b"text/event-stream, application/json"}, message)
        request_id_of(message)
        cancelled_id_of(message)
    parse_object(body)


@cache
def _tools() -> tuple[list[ToolSpec], ResourceTable]:
    tools, resources = declared()
    return tools, ResourceTable(resources)


def _call(maker: Maker) -> tuple[ToolSpec, Mapping[str, Any]]:
    spec = maker.pick(_tools()[0])
    names = [*spec.params, "registration_token", maker.text(3)]
    return spec, {maker.pick(names): maker.json_value(2, (*_WORDS, *spec.params)) for _ in range(1 + len(names) // 2)}


_WORDS = (
    "BlueLake",
    "/code/app",
    "2026-01-01",
    "T00:00:00Z",
    "+02:00",
    "90d",
    "1h",
    "normal",
    "src/*.py",
    "[1]",
    '["a"]',
)


def _read_call(call: tuple[ToolSpec, Mapping[str, Any]]) -> None:
    spec, arguments = call
    with one_hint_budget():
        bind(spec.params, arguments, what=spec.name)


def _uri(maker: Maker) -> str:
    template = maker.pick(_tools()[1].specs()).uri.replace("{", "").replace("}", "")
    if maker.is_so(0.5):
        return template.partition("?")[0] + maker.text(4, ("?", "&", "project=", "limit=", "/"))
    return maker.damaged(template.encode()).decode("latin-1")


def _read_uri(uri: str) -> None:
    with one_hint_budget():
        spec, given = _tools()[1].match(uri)
        bind(spec.params, given, what=spec.name)


# --- What calls hold --------------------------------------------------------------------------------------------------

_SEARCH = ("AND ", "OR ", "NOT ", "NEAR(", ")", "(", '"', "*", "^", "subject:", "body:", "-{", "}", "+", ",", "word ")
_GLOB = ("*", "**", "**/", "?", "[a-z]", "[!a]", "[", "]", "{a,b}", "{", "}", ",", "/", "src/", ".py", "\\", "../", "!")
_NAME = ("BlueLake", "Blue", "Human", "System", "@", "/code/app", "app-1", " ", '"', "<", ">", ",", "project:", "#")


def _patterns(maker: Maker) -> tuple[str, str]:
    return maker.text(10, _GLOB), maker.text(10, _GLOB)


def _read_patterns(texts: tuple[str, str]) -> None:
    work = WorkBudget()
    expanded_braces(texts[0], work)
    one, other = (parse_pattern(text, project_root="/code/app", ignore_case=True) for text in texts)
    overlap(one, other, work)
    covers(one, "src/app.py", work)


_KNOWN = KnownNames(["BlueLake", "RedStone", "GreyOwl"], ["OldOne"])


def _name(maker: Maker) -> str:
    return maker.text(6, _NAME)


def _read_name(text: str) -> None:
    flaw_of(text)
    name_key(text)
    bare_name(text)
    plain_slug(text)
    _KNOWN.nearest(text[:200])
    for read in (parse_address, parse_thread_id, parse_topic, canonical_path):
        try:
            read(text)
        except AgentMailError:
            continue


def _check(maker: Maker) -> Mapping[str, Any]:
    check = {"project": maker.text(3, _NAME), "agent": maker.text(3, _NAME), "author": maker.json_value(1)}
    check["paths"] = [maker.text(6, ("src", "/", "%2e", "%")) for _ in range(int(maker.random.random() * 5))]
    events = [{name: maker.json_value(2, _EVENT) for name in _EVENT} for _ in range(2)]
    return {**check, "events": events, maker.pick(("paths", "events", "project")): maker.json_value(3, _EVENT)}


_EVENT = ("at", "kind", "project", "repository", "detail", "paths", "agent", "hook", "outcome", "id", "commit", "mode")


def _read_guard(value: Mapping[str, Any]) -> None:
    try:
        events = read_events(value)
    except AgentMailError:
        events = []
    for event in events:
        try:
            read_guard_event(event, system_clock())
        except AgentMailError:
            continue
    read_check(value)


TARGETS: Mapping[str, Target] = {
    "headers": Target(make=_headers, read=_read_headers, share=4),
    "parts of contents": Target(make=_headers, read=_read_part, refusals=(NoSuchPart,)),
    "forwarded addresses": Target(make=_forwarded, read=_read_forwarded, share=2),
    "queries of URLs": Target(make=_query, read=_read_query, share=2),
    "paths": Target(make=_path, read=_read_path),
    "JWTs": Target(make=_jwt, read=_read_jwt, refusals=(JwtRefused,), share=2),
    "keys of issuers": Target(
        make=_key_document, read=lambda body: read_key_set(body, {"ES256"}), refusals=(ValueError,)
    ),
    "JSON-RPC": Target(
        make=_json_rpc, read=_read_json_rpc, refusals=(AgentMailError, BodyTooLarge, TooManyValues), share=3
    ),
    "arguments": Target(make=_call, read=_read_call, share=2),
    "URIs of resources": Target(make=_uri, read=_read_uri),
    "searches": Target(make=lambda maker: maker.text(16, _SEARCH), read=read_search, share=2),
    "patterns": Target(make=_patterns, read=_read_patterns, share=2),
    "names and addresses": Target(make=_name, read=_read_name, share=2),
    "questions of the guard": Target(make=_check, read=_read_guard, share=2),
}
