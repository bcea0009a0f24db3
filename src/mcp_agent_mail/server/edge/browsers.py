"""What browsers are told: how answers may be used, and whose pages may ask."""

from __future__ import annotations

from collections.abc import Collection

from starlette.types import Message, Scope, Send

from mcp_agent_mail.core.settings.rows_edge import EVERY_ORIGIN
from mcp_agent_mail.server.edge.paths import PathRule
from mcp_agent_mail.server.identity import Headers

Pair = tuple[bytes, bytes]

ALWAYS: tuple[Pair, ...] = ((b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer"))
_OF_MAIL: tuple[Pair, ...] = ((b"cache-control", b"no-store"), (b"cross-origin-resource-policy", b"same-origin"))
_NAMES = frozenset(name for name, _ in (*ALWAYS, *_OF_MAIL))

_UNAUTHORIZED = 401
_CACHE_CONTROL = b"cache-control"
_AUTHENTICATE = b"www-authenticate"
_METHODS = b"GET, HEAD, POST, DELETE"
_REQUEST_HEADERS = (
    b"authorization, content-type, accept, last-event-id, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name, "
    b"x-agent-token, x-agent-window, x-agent-project, x-agent-name, x-tool-profile, x-output-format"
)
_EXPOSED = b"mcp-session-id, retry-after, www-authenticate"
_KEPT_S = b"600"


class Origins:
    """The pages that may ask from a browser, letter by letter; of none by default. Cookies are never allowed."""

    def __init__(self, granted: Collection[str] = ()) -> None:
        self._granted = frozenset(origin.encode() for origin in granted)
        self._every = EVERY_ORIGIN.encode() in self._granted

    @property
    def are_granted(self) -> bool:
        return bool(self._granted)

    def grants(self, origin: bytes | None) -> bool:
        return origin is not None and (self._every or origin.lower() in self._granted)

    def told(self, origin: bytes | None) -> tuple[Pair, ...]:
        """What an answer says where origins are granted at all."""
        if not self._granted:
            return ()
        if origin is None or not self.grants(origin):
            return ((b"vary", b"Origin"),)
        return (
            (b"access-control-allow-origin", origin),
            (b"access-control-expose-headers", _EXPOSED),
            (b"vary", b"Origin"),
        )


NO_ORIGINS = Origins()


def is_preflight(scope: Scope, headers: Headers) -> bool:
    """A browser asks whether it may ask."""
    return scope["method"] == "OPTIONS" and b"access-control-request-method" in headers and b"origin" in headers


async def answer_preflight(send: Send) -> None:
    """Who is granted learns what it may send; `guarded` names the origin."""
    headers = [
        (b"access-control-allow-methods", _METHODS),
        (b"access-control-allow-headers", _REQUEST_HEADERS),
        (b"access-control-max-age", _KEPT_S),
    ]
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def _kept_nowhere(pair: Pair) -> Pair:
    """The SDK lets caches keep its event streams if they ask anew."""
    name, value = pair
    if name != _CACHE_CONTROL or b"no-store" in value:
        return pair
    return name, value + b", no-store"


def guarded(send: Send, rule: PathRule | None, also: tuple[Pair, ...], challenge: bytes) -> Send:
    """Each answer says how it may be used, unless whoever answers has said so; `also` are said besides. A 401 says how
    to come in, which is the `challenge`.
    """
    holds_mail = rule is None or rule.holds_mail
    more = (*ALWAYS, *_OF_MAIL, *also) if holds_mail else (*ALWAYS, *also)

    async def send_guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = list(message.get("headers", ()))
            if holds_mail:
                given = [_kept_nowhere(pair) for pair in given]
            said = {name for name, _ in given if name in _NAMES}
            headers = [*given, *(pair for pair in more if pair[0] not in said)]
            if message["status"] == _UNAUTHORIZED and all(name != _AUTHENTICATE for name, _ in given):
                headers.append((_AUTHENTICATE, challenge))
            message = {**message, "headers": headers}
        await send(message)

    return send_guarded
