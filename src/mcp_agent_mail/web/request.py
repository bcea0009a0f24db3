"""What a page is asked for, and what it answers; the server turns both into HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import field

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.core.tools import Json, JsonObject
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.identity.web_sessions import SessionGrant, WebSession
from mcp_agent_mail.features.messaging.attachments import SeenAttachment
from mcp_agent_mail.web.addresses import with_query

Values = Mapping[str, tuple[str, ...]]
"""Of a query or a form: all values of each name, in the order given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """`session` is the browser's own while it lasts, and `secret` what its cookie holds; on the page to sign in it is
    that of the form's cookie. `own_origins` are those that our pages have. `role` is what let the request in,
    `port` the server's own.

    `origin`, `referer` and `fetch_site` are what the browser says of the page that asks; None for nothing.
    `last_event_id` is where a stream of events is to go on.
    """

    method: str
    path: str
    role: Role
    port: int
    query: Values = field(default_factory=dict)
    form: Values = field(default_factory=dict)
    session: WebSession | None = None
    secret: str | None = field(default=None, repr=False)
    own_origins: frozenset[str] = frozenset()
    origin: str | None = None
    referer: str | None = None
    fetch_site: str | None = None
    last_event_id: str = ""
    is_secure: bool = False

    @property
    def address(self) -> str:
        """The path with the last value of each name in the query."""
        return with_query(self.path, {name: values[-1] for name, values in self.query.items() if values})

    def asked(self, name: str, default: str = "") -> str:
        """The last value of this name in the query."""
        values = self.query.get(name, ())
        return values[-1].strip() if values else default

    def field(self, name: str, default: str = "") -> str:
        """The last value of this field of the form, as it was written."""
        values = self.form.get(name, ())
        return values[-1] if values else default


@dataclass(frozen=True, slots=True, kw_only=True)
class PageStream:
    """What is sent piece by piece, and ends when it is told to `leave`: its reader has gone, or its session has ended.
    Whoever sends it calls `close` in the end, whatever happened.
    """

    pieces: AsyncIterator[bytes]
    leave: Callable[[], None]
    close: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageAnswer:
    """`body` is whole: pages are bounded. `headers` beside those that every page has. With a `stream` that is sent in
    place of the body, and so is an `attachment`, with what the route of attachments says of it to browsers.
    """

    status: int = 200
    body: bytes = b""
    media_type: str = "text/html; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()
    attachment: SeenAttachment | None = None
    stream: PageStream | None = None


def _nobody_leaves() -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class PageHost:
    """What the server lends a page for one request: to run a tool as whoever asks, to judge a token that was typed, and
    to ask once more who asks, for what lasts.

    `judge_token` raises what a refused token is refused with; `masked` logs a bug and says what is shown of it.
    `has_left`: whoever asked has gone, and nobody reads what is answered. `payer` is whose share of what is bounded the
    request takes, None for nobody's.
    """

    run_tool: Callable[[str, JsonObject], Awaitable[Json]]
    judge_token: Callable[[str], Awaitable[SessionGrant]]
    masked: Callable[[Exception], AgentMailError]
    identify: Callable[[], Awaitable[Caller]]
    has_left: Callable[[], bool] = _nobody_leaves
    payer: str | None = None


def redirect(location: str, *headers: tuple[str, str]) -> PageAnswer:
    """Go there with GET."""
    return PageAnswer(status=303, headers=(("location", location), *headers))
