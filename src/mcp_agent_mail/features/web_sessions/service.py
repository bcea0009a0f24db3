"""A person signs in to the pages, by a token or by a link of the operator's, and out again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import field, replace

from mcp_agent_mail.core.clock import Clock, Micros
from mcp_agent_mail.core.ids import (
    WEB_LINK_PREFIX,
    WEB_SESSION_PREFIX,
    WebSessionId,
    new_token,
    token_hash,
)
from mcp_agent_mail.core.lazy.dataclass import dataclass
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
    displaced,
)
from mcp_agent_mail.features.web_sessions.token_roles import TokenRoles
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
    """Each question asks `tokens` anew what the token of a session gives. `jwt_judges` are set by whoever judges
    JWTs: where nobody does, none counts; it gives None while what judges them is not known.

    All sessions are in memory, by the hashes of their secrets: whoever has the store's lock is the only one who writes.
    Links are nowhere else: a restart ends them.
    """

    def __init__(self, store: Store, *, tokens: TokenRoles, clock: Clock) -> None:
        self.jwt_judges: Callable[[], AbstractSet[bytes] | None] = frozenset
        self._store = store
        self._tokens = tokens
        self._clock = clock
        self._links: dict[bytes, Micros] = {}
        self._by_hash: dict[bytes, WebSession] | None = None
        self._ending: set[WebSessionId] = set()
        """Nobody is let in by these, and that is not written down yet: their rows are still there."""

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
        """A session of the operator. The link is spent by it, and stays good where none could be opened. Raises
        SpentLink.
        """
        hashed = token_hash(code)
        until = self._links.pop(hashed, None)
        if until is None or self._clock() >= until:
            raise SpentLink(
                "This sign-in link was used already, or its minute is over.", hint="Make another one: am web"
            )
        try:
            return await self.open(SessionGrant(by=OpenedBy.LINK, role=Role.OPERATOR))
        except Exception:
            self._links[hashed] = until
            raise

    async def open(self, grant: SessionGrant) -> OpenedSession:
        """A session of somebody whose token was judged: what `grant` says is believed. Those that have ended go, and
        those that it displaces. Raises TooManySessions.
        """
        if grant.by is OpenedBy.SERVER:
            grant = replace(grant, judged_by=self._tokens.server_token_hash)
        secret = new_token(WEB_SESSION_PREFIX)
        hashed = token_hash(secret)
        ended = self._ending | {one.id for one in self._sessions().values() if self._has_ended(one)}
        today = {one.id: found for one in self._sessions().values() if (found := self._today(one)) is not None}

        def unit(tx: Tx) -> list[tuple[bytes, WebSession]]:
            kept = [one for _, one in tx.web_sessions.list_()]
            live = [today.get(one.id, one) for one in kept if one.id not in ended]
            for number in (*ended, *(one.id for one in displaced(live, grant))):
                tx.web_sessions.remove(number)
            tx.web_sessions.add(hashed, grant, tx.now)
            return tx.web_sessions.list_()

        sessions = self._keep(await self._store.write(unit))
        return OpenedSession(session=sessions[hashed], secret=secret)

    def find(self, secret: str) -> WebSession | None:
        """The session of a browser that shows this, while it lasts, with the role that counts now; that it is in use is
        noted.
        """
        hashed = _hash_of(secret)
        session = self._sessions().get(hashed)
        if session is None or self._today(session) is None:
            return None
        return self._today(self._touched(hashed, session))

    def waits_for_judges(self, secret: str) -> bool:
        """Whether nobody can say of the session of this just now whether it counts: its JWT's judges are not known."""
        session = self._sessions().get(_hash_of(secret))
        return session is not None and session.grant.by is OpenedBy.JWT and self.jwt_judges() is None

    def is_live(self, session_id: WebSessionId) -> bool:
        """Whether it still counts: what lasts longer than a session ends with it."""
        return any(one.id == session_id and self._today(one) is not None for one in self._sessions().values())

    async def end(self, session_id: WebSessionId) -> None:
        """From when this is called nobody is let in by it, also where it raises what a sick store raises: the end is
        then owed, and tried again until it is written down or the server stops. Safe to repeat.
        """

        def unit(tx: Tx) -> WebSessionId:
            tx.web_sessions.remove(session_id)
            return session_id

        self._ending.add(session_id)
        self._keep(self._sessions().items())
        try:
            await self._store.write(unit)
        except BaseException:
            self._store.write_soon(unit, self._ending.discard)
            raise
        self._ending.discard(session_id)

    def _sessions(self) -> dict[bytes, WebSession]:
        if self._by_hash is None:
            return self._keep(self._store.read_now(lambda view: view.web_sessions.list_()))
        return self._by_hash

    def _keep(self, found: Iterable[tuple[bytes, WebSession]]) -> dict[bytes, WebSession]:
        """All that the store has, but for those that end just now."""
        self._by_hash = {hashed: one for hashed, one in found if one.id not in self._ending}
        return self._by_hash

    def _today(self, session: WebSession) -> WebSession | None:
        """As it counts now; None where it has ended, or nobody knows whether it has."""
        if session.grant.by is OpenedBy.JWT and self.jwt_judges() is None:
            return None
        return None if self._has_ended(session) else self._with_role_today(session)

    def _has_ended(self, session: WebSession) -> bool:
        """By itself, or with the token that it was opened with. What nobody knows has not."""
        if not session.is_live(self._clock()) or self._tokens.role_of(session.grant) is None:
            return True
        if session.grant.by is not OpenedBy.JWT:
            return False
        judges = self.jwt_judges()
        return judges is not None and session.grant.judged_by not in judges

    def _with_role_today(self, session: WebSession) -> WebSession:
        role = self._tokens.role_of(session.grant)
        assert role is not None, session
        return session if role is session.grant.role else replace(session, grant=replace(session.grant, role=role))

    def _touched(self, hashed: bytes, session: WebSession) -> WebSession:
        now = self._clock()
        if now - session.used_ts < TOUCHED_EVERY:
            return session
        touched = replace(session, used_ts=now)
        self._sessions()[hashed] = touched
        self._store.write_soon(lambda tx: tx.web_sessions.touch(session.id, now))
        return touched


def _hash_of(secret: str) -> bytes:
    """Under which a session of this secret is kept; of what is no secret of ours none is."""
    return token_hash(secret) if secret.startswith(WEB_SESSION_PREFIX) else b""
