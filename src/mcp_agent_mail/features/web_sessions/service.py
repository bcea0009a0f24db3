"""A person signs in to the pages, by a token or by a link of the operator's, and out again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from mcp_agent_mail.core.clock import Clock, Micros
from mcp_agent_mail.core.ids import (
    WEB_LINK_PREFIX,
    WEB_SESSION_PREFIX,
    IssuedTokenId,
    WebSessionId,
    new_token,
    token_hash,
)
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.domain.identity.caller import Caller, require_operator
from mcp_agent_mail.domain.identity.web_sessions import (
    LINK_LIFETIME,
    MAX_LINKS,
    TOUCHED_EVERY,
    OpenedBy,
    SessionGrant,
    SpentLink,
    TooManyLinks,
    WebSession,
)
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedSession:
    """`secret` is what the browser keeps, told this once."""

    session: WebSession
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInLink:
    """`code` opens one session as the operator, once, until `expires_ts`."""

    code: str = field(repr=False)
    expires_ts: Micros


class WebSessionService:
    """`is_live_token` knows the issued tokens in force. `server_token`: HTTP_BEARER_TOKEN, if there is one.

    All sessions are in memory, by the hashes of their secrets: whoever has the store's lock is the only one who writes.
    Links are nowhere else: a restart ends them.
    """

    def __init__(
        self,
        store: Store,
        *,
        is_live_token: Callable[[IssuedTokenId], bool],
        server_token: str | None,
        clock: Clock,
    ) -> None:
        self._store = store
        self._is_live_token = is_live_token
        self._server_token_hash = None if server_token is None else token_hash(server_token)
        self._clock = clock
        self._links: dict[bytes, Micros] = {}
        self._by_hash: dict[bytes, WebSession] | None = None

    def make_link(self, caller: Caller) -> SignInLink:
        """A link for the operator's browser. Raises TooManyLinks."""
        require_operator(caller)
        now = self._clock()
        self._links = {code: until for code, until in self._links.items() if now < until}
        if len(self._links) >= MAX_LINKS:
            raise TooManyLinks(
                f"{MAX_LINKS} sign-in links wait to be used.", hint="Use the last one, or wait a minute for another."
            )
        code = new_token(WEB_LINK_PREFIX)
        expires_ts = Micros(now + LINK_LIFETIME)
        self._links[token_hash(code)] = expires_ts
        return SignInLink(code=code, expires_ts=expires_ts)

    async def open_by_link(self, code: str) -> OpenedSession:
        """A session of the operator. The link is spent, whatever happens next. Raises SpentLink."""
        until = self._links.pop(token_hash(code), 0)
        if self._clock() >= until:
            raise SpentLink(
                "This sign-in link was used already, or its minute is over.", hint="Make another one: am web"
            )
        return await self.open(SessionGrant(by=OpenedBy.LINK, role=Role.OPERATOR))

    async def open(self, grant: SessionGrant) -> OpenedSession:
        """A session of somebody whose token was judged: what `grant` says is believed."""
        if grant.by is OpenedBy.SERVER:
            grant = replace(grant, server_token_hash=self._server_token_hash)
        secret = new_token(WEB_SESSION_PREFIX)
        hashed = token_hash(secret)

        def unit(tx: Tx) -> list[tuple[bytes, WebSession]]:
            tx.web_sessions.add(hashed, grant, tx.now)
            return tx.web_sessions.list_()

        self._by_hash = dict(await self._store.write(unit))
        return OpenedSession(session=self._by_hash[hashed], secret=secret)

    def find(self, secret: str) -> WebSession | None:
        """The session of a browser that shows this, while it lasts; that it is in use is noted."""
        if not secret.startswith(WEB_SESSION_PREFIX):
            return None
        hashed = token_hash(secret)
        session = self._sessions().get(hashed)
        if session is None or not self._counts(session):
            return None
        return self._touched(hashed, session)

    def is_live(self, session_id: WebSessionId) -> bool:
        """Whether it still counts: what lasts longer than a session ends with it."""
        return any(one.id == session_id and self._counts(one) for one in self._sessions().values())

    async def end(self, session_id: WebSessionId) -> None:
        """From when this answers nobody is let in by it. Safe to repeat."""

        def unit(tx: Tx) -> list[tuple[bytes, WebSession]]:
            tx.web_sessions.remove(session_id)
            return tx.web_sessions.list_()

        self._by_hash = {hashed: one for hashed, one in self._sessions().items() if one.id != session_id}
        self._by_hash = dict(await self._store.write(unit))

    def _sessions(self) -> dict[bytes, WebSession]:
        if self._by_hash is None:
            self._by_hash = dict(self._store.read_now(lambda view: view.web_sessions.list_()))
        return self._by_hash

    def _counts(self, session: WebSession) -> bool:
        """Neither the session has ended by itself nor the token that it was opened with."""
        grant = session.grant
        if not session.is_live(self._clock()):
            return False
        if grant.by is OpenedBy.SERVER and grant.server_token_hash != self._server_token_hash:
            return False
        return grant.issued_token is None or self._is_live_token(grant.issued_token)

    def _touched(self, hashed: bytes, session: WebSession) -> WebSession:
        now = self._clock()
        if now - session.used_ts < TOUCHED_EVERY:
            return session
        touched = replace(session, used_ts=now)
        self._sessions()[hashed] = touched
        self._store.write_soon(lambda tx: tx.web_sessions.touch(session.id, now))
        return touched
