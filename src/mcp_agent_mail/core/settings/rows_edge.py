"""The settings of the edge: browsers and proxies, roles, JWT, rates. Standard library only."""

from __future__ import annotations

import re

from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.core.settings import kinds
from mcp_agent_mail.core.settings.addresses import is_loopback
from mcp_agent_mail.core.settings.kinds import BadValue, PathContext, Row, Secret, SettingKind, Values

SHORTEST_JWT_SECRET = 32
"""Bytes; a shorter key of HMAC can be guessed from one token."""
SHARED_KEY_ALGORITHMS = ("HS256", "HS384", "HS512")
KEY_PAIR_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
MOST_PROXIES = 64
MOST_ORIGINS = 64

EVERY_ORIGIN = "*"

_ALGORITHMS = {name.lower(): name for name in (*SHARED_KEY_ALGORITHMS, *KEY_PAIR_ALGORITHMS)}
_ORIGIN = lazy_pattern(r"https?://(?:[a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?")
_JWKS_URL = lazy_pattern(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?(?:/[!-~]*)?", re.IGNORECASE
)


def _items(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item.strip() for item in text.split(",") if item.strip()))


def _nets(text: str, _: PathContext) -> tuple[str, ...]:
    import ipaddress  # noqa: PLC0415  # hooks start without it

    found: list[str] = []
    for item in _items(text):
        try:
            found.append(str(ipaddress.ip_network(item, strict=False)))
        except ValueError:
            raise BadValue(f"{item!r:.100} is no network such as 127.0.0.1 or 10.0.0.0/8.") from None
    if not 1 <= len(found) <= MOST_PROXIES:
        raise BadValue("")
    return tuple(dict.fromkeys(found))


NETS = SettingKind(
    label="networks", expected=f"1 to {MOST_PROXIES} addresses or networks with commas between them", parse=_nets
)


def _origins(text: str, _: PathContext) -> tuple[str, ...]:
    origins = tuple(dict.fromkeys(item.lower() for item in _items(text)))
    for origin in origins:
        if origin != EVERY_ORIGIN and not _ORIGIN.fullmatch(origin):
            raise BadValue(f"{origin!r:.100} is none: scheme, host and port alone, with nothing behind them.")
    if not 1 <= len(origins) <= MOST_ORIGINS:
        raise BadValue("")
    return origins


ORIGINS = SettingKind(
    label="list",
    expected=f"1 to {MOST_ORIGINS} origins such as https://mail.example.com with commas between them, or *",
    parse=_origins,
)


def _algorithms(text: str, _: PathContext) -> tuple[str, ...]:
    named = _items(text)
    algorithms = tuple(_ALGORITHMS.get(name.lower(), "") for name in named)
    if not all(algorithms) or not algorithms:
        raise BadValue("")
    if len({name in SHARED_KEY_ALGORITHMS for name in algorithms}) > 1:
        raise BadValue("HS* use one shared secret, the others pairs of keys: name those of one kind.")
    return algorithms


ALGORITHMS = SettingKind(
    label="list",
    expected=f"some of {', '.join(_ALGORITHMS.values())}, all HS* or none",
    parse=_algorithms,
)


def _jwt_secret(text: str, context: PathContext) -> Secret:
    secret = kinds.SECRET.parse(text, context)
    assert isinstance(secret, Secret), secret
    if len(secret) < SHORTEST_JWT_SECRET:
        raise BadValue("It is too short to be one; make one: openssl rand -hex 32.")
    return secret


JWT_KEY = SettingKind(
    label=f"secret, at least {SHORTEST_JWT_SECRET} characters",
    expected=f"{SHORTEST_JWT_SECRET} to 4096 visible ASCII characters without blanks",
    parse=_jwt_secret,
    secret=True,
)


def _jwks_url(text: str, _: PathContext) -> str:
    found = _JWKS_URL.fullmatch(text)
    if found is None or len(text) > 2_000:
        raise BadValue("Leave out user, password and what begins with `#`.")
    if found["scheme"].lower() == "http" and not _is_local(found["host"]):
        raise BadValue("Keys that come over http could be anybody's: https, but for a host of this machine.")
    return text


def _is_local(host: str) -> bool:
    return is_loopback(host.lower().removeprefix("[").removesuffix("]"))


JWKS_URL = SettingKind(label="URL", expected="a URL that begins with https://", parse=_jwks_url)
CLAIM = kinds.matching(
    "claim", r"[!-~]{1,200}", "the name of a claim, with points before those inside others, at most 200"
)


def _words(text: str, _: PathContext) -> tuple[str, ...]:
    words = _items(text)
    if not words or any(len(word) > 200 or not word.isprintable() for word in words):
        raise BadValue("")
    return words


WORDS = SettingKind(label="list", expected="words with commas between them, at most 200 characters each", parse=_words)


def _is_reached_from_elsewhere(values: Values) -> bool:
    return not all(is_loopback(str(values[name])) for name in ("HTTP_HOST", "FACADES_HOST"))


def _jwt_algorithms(values: Values) -> tuple[str, ...]:
    return ("HS256",) if values.get("HTTP_JWT_JWKS_URL") is None else ("RS256", "ES256", "EdDSA")


EDGE_ROWS = (
    Row(
        name="HTTP_PUBLIC_URL",
        kind=kinds.URL,
        default="",
        does="The address by which others reach this server, such as https://mail.example.com: it stands in links, and "
        "its host is answered.",
        group="HTTP",
    ),
    Row(
        name="HTTP_TRUSTED_PROXIES",
        kind=NETS,
        default="",
        does="Proxies whose X-Forwarded-For counts, read from the right. Anybody else's never does.",
        group="HTTP",
    ),
    Row(
        name="HTTP_MAX_CONNECTIONS",
        kind=kinds.whole(100, 65_535),
        default="8192",
        does="How many connections may be open at once; the soft limit of open files is raised to it. Beyond: 503.",
        group="HTTP",
    ),
    Row(
        name="HTTP_MAX_CALLS",
        kind=kinds.whole(8, 4_096),
        default="256",
        does="How many calls may be at work at once, waits not counted. Beyond: UNAVAILABLE with retry_after_s.",
        group="HTTP",
    ),
    Row(
        name="HTTP_CORS_ENABLED",
        kind=kinds.BOOL,
        default="false",
        does="Let pages of HTTP_CORS_ORIGINS call MCP, /rpc and REST from a browser. Their cookies never count.",
        group="HTTP",
    ),
    Row(
        name="HTTP_CORS_ORIGINS",
        kind=ORIGINS,
        default="",
        does="The origins that may, letter by letter. `*` is any, with AGENT_AUTH=strict only.",
        group="HTTP",
    ),
)

ROLE_ROWS = (
    Row(
        name="HTTP_BEARER_ROLE",
        kind=kinds.one_of("reader", "writer", "operator"),
        default="writer",
        does="What whoever shows HTTP_BEARER_TOKEN may do: `reader` looks, `writer` calls all tools of agents, "
        "`operator` does what you may.",
        group="Roles",
    ),
    Row(
        name="HTTP_RBAC_ENABLED",
        kind=kinds.BOOL,
        default="true",
        does="Whether roles count. `false`: whoever may come in is a writer.",
        group="Roles",
    ),
    Row(
        name="HTTP_RBAC_READER_ROLES",
        kind=WORDS,
        default="reader,read,ro",
        does="The roles in a JWT that mean `reader` here.",
        group="Roles",
    ),
    Row(
        name="HTTP_RBAC_WRITER_ROLES",
        kind=WORDS,
        default="writer,write,tools,rw",
        does="Those that mean `writer`.",
        group="Roles",
    ),
    Row(
        name="HTTP_RBAC_OPERATOR_ROLES",
        kind=WORDS,
        default="operator,admin",
        does="Those that mean `operator`.",
        group="Roles",
    ),
    Row(
        name="HTTP_RBAC_DEFAULT_ROLE",
        kind=kinds.one_of("reader", "writer", "none"),
        default="reader",
        does="What a JWT without any of them gives; `none` refuses it with 403.",
        group="Roles",
    ),
)

JWT_ROWS = (
    Row(
        name="HTTP_JWT_ENABLED",
        kind=kinds.BOOL,
        default="false",
        does="Accept JWTs as bearer tokens, beside all others.",
        group="JWT",
    ),
    Row(
        name="HTTP_JWT_SECRET",
        kind=JWT_KEY,
        default="",
        does="The key that HS* tokens are signed with.",
        group="JWT",
    ),
    Row(
        name="HTTP_JWT_JWKS_URL",
        kind=JWKS_URL,
        default="",
        does="Where your issuer publishes its public keys; kept for ten minutes. Beats HTTP_JWT_SECRET.",
        group="JWT",
    ),
    Row(
        name="HTTP_JWT_ALGORITHMS",
        kind=ALGORITHMS,
        default="HS256; with HTTP_JWT_JWKS_URL RS256,ES256,EdDSA",
        computed=_jwt_algorithms,
        does="The signatures that are accepted, whatever a token says of itself.",
        group="JWT",
    ),
    Row(
        name="HTTP_JWT_AUDIENCE",
        kind=WORDS,
        default="",
        does="The audiences of which a token must name one. Required with HTTP_JWT_JWKS_URL: without, tokens that the "
        "issuer made for others would pass.",
        group="JWT",
    ),
    Row(
        name="HTTP_JWT_ISSUER",
        kind=kinds.LINE,
        default="",
        does="The issuer that a token must name, letter by letter. Of a URL clients learn where to sign in.",
        group="JWT",
    ),
    Row(
        name="HTTP_JWT_ROLE_CLAIM",
        kind=CLAIM,
        default="role",
        does="The claim that holds the roles, a list, or a text that is split at blanks as `scope` is: the highest "
        "counts. Points lead into objects (`realm_access.roles`).",
        group="JWT",
    ),
    Row(
        name="HTTP_JWT_AGENT_CLAIM",
        kind=CLAIM,
        default="agent",
        does="The claim that names the agents which a token proves: `Name@project` or a list. A bare name counts where "
        "one project alone has it; once another has it too it proves nobody, and the log says so.",
        group="JWT",
    ),
)

RATE_ROWS = (
    Row(
        name="HTTP_RATE_LIMIT_ENABLED",
        kind=kinds.BOOL,
        default="true beyond loopback",
        computed=_is_reached_from_elsewhere,
        does="Bound how much each token, JWT subject or address may ask.",
        group="Rates",
    ),
    Row(
        name="HTTP_RATE_LIMIT_PER_MINUTE",
        kind=kinds.whole(0, 1_000_000),
        default="600",
        does="Requests a minute that are neither tool calls nor reads; 0 is no bound, here and below.",
        group="Rates",
    ),
    Row(
        name="HTTP_RATE_LIMIT_TOOLS_PER_MINUTE",
        kind=kinds.whole(0, 1_000_000),
        default="600",
        does="Tool calls a minute.",
        group="Rates",
    ),
    Row(
        name="HTTP_RATE_LIMIT_TOOLS_BURST",
        kind=kinds.whole(0, 1_000_000),
        default="0",
        does="How many of them may come at once; 0 is as many as a minute's.",
        group="Rates",
    ),
    Row(
        name="HTTP_RATE_LIMIT_RESOURCES_PER_MINUTE",
        kind=kinds.whole(0, 1_000_000),
        default="600",
        does="Reads of resources a minute.",
        group="Rates",
    ),
    Row(
        name="HTTP_RATE_LIMIT_RESOURCES_BURST",
        kind=kinds.whole(0, 1_000_000),
        default="0",
        does="How many of them may come at once; 0 is as many as a minute's.",
        group="Rates",
    ),
)
