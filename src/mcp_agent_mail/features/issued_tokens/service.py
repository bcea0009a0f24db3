"""The operator issues tokens, sees when each was used, and revokes them."""

from __future__ import annotations

import asyncio

from mcp_agent_mail.core.clock import LATEST, SECOND, Clock, Micros
from mcp_agent_mail.core.errors import NotFound
from mcp_agent_mail.core.ids import ISSUED_TOKEN_PREFIX, AgentId, IssuedTokenId, new_token, token_hash
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.domain.agents import AgentKind
from mcp_agent_mail.domain.identity.caller import Caller, ReservedIdentity, require_operator
from mcp_agent_mail.domain.identity.issued_tokens import (
    MAX_LIVE,
    IssuedToken,
    NewIssuedToken,
    TooManyIssuedTokens,
    UnfitAgent,
    UnknownIssuedToken,
    choose_role,
    read_lifetime,
)
from mcp_agent_mail.features.identity.lookup import require_agent
from mcp_agent_mail.features.issued_tokens.book import IssuedTokenBook
from mcp_agent_mail.features.projects.lookup import require_project, require_writable
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import Tx, View

_FIRST = (
    "An agent registers before it gets a token of its own: give its machine a writer's first (am token create --role "
    "writer), and issue this one once the agent has registered over MCP with that."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenWish:
    """What is to be issued: `expires` as people say it (`90d`, `never`), `agent` of `project` or neither."""

    expires: str
    role: str | None = None
    agent: str | None = None
    project: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issued:
    """`text` is the token itself, told this once."""

    token: IssuedToken
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenListing:
    """The tokens as they are at `at`, newest first."""

    tokens: list[IssuedToken]
    at: Micros


class IssuedTokenService:
    """Whoever issues and revokes does so through the one `book`, which requests are judged by."""

    def __init__(self, store: Store, book: IssuedTokenBook, *, clock: Clock) -> None:
        self._store = store
        self._book = book
        self._clock = clock

    async def create(self, caller: Caller, wish: TokenWish) -> Issued:
        """A token of its own at each call. Its text is in this answer alone: one whose answer nobody waits for any more
        is removed. Raises UnfitLifetime, UnfitRole, UnfitAgent, TooManyIssuedTokens.
        """
        require_operator(caller)
        lifetime_s = read_lifetime(wish.expires)
        if (wish.agent is None) != (wish.project is None):
            lacking = "agent_name" if wish.agent is None else "project_key"
            raise UnfitAgent(
                "A token is of one agent of a project, or of none.",
                hint="Name the agent and its project, or neither.",
                data={"parameter": lacking},
            )
        role = choose_role(wish.role, is_agents=wish.agent is not None)
        text = new_token(ISSUED_TOKEN_PREFIX)
        hashed = token_hash(text)

        def unit(tx: Tx) -> IssuedToken:
            return _issue(tx, wish, role=role, lifetime_s=lifetime_s, hashed=hashed)

        token = await self._store.write(unit, unheard=lambda tx, made: tx.issued_tokens.remove(made.id))
        self._book.add(hashed, token)
        return Issued(token=token, text=text)

    async def list_(self, caller: Caller, limit: int, *, with_ended: bool = False) -> TokenListing:
        """Those in force, newest first, at most `limit`; `with_ended` also those that were revoked or have
        expired, until they are forgotten.
        """
        require_operator(caller)

        def look(view: View) -> list[IssuedToken]:
            return view.issued_tokens.list_(view.now, limit, with_ended=with_ended)

        return TokenListing(tokens=self._book.with_use(await self._store.read(look)), at=self._clock())

    async def revoke(self, caller: Caller, token_id: int) -> IssuedToken:
        """End a token: when this answers, no request finds it any more. Safe to repeat. Raises UnknownIssuedToken."""
        require_operator(caller)
        number = IssuedTokenId(token_id)

        def unit(tx: Tx) -> IssuedToken:
            tx.issued_tokens.revoke(number, tx.now)
            if (token := tx.issued_tokens.find(number)) is None:
                raise UnknownIssuedToken(
                    f"There is no issued token {token_id}.",
                    hint="am token list --all shows them.",
                    data={"parameter": "issued_token_id"},
                )
            return token

        try:
            token = await self._store.write(unit)
        except asyncio.CancelledError:
            # Whether it was revoked is known once what is queued behind it has run.
            self._store.write_soon(lambda tx: tx.issued_tokens.live(tx.now), self._book.replace)
            raise
        self._book.end(number)
        (shown,) = self._book.with_use([token])
        return shown


def _issue(tx: Tx, wish: TokenWish, *, role: Role, lifetime_s: int | None, hashed: bytes) -> IssuedToken:
    now = tx.now
    agent_id = _require_agent_id(tx, wish)
    if tx.issued_tokens.count_live(now) >= MAX_LIVE:
        raise TooManyIssuedTokens(
            f"{MAX_LIVE} issued tokens are in force already.",
            hint="Revoke some that nobody uses: am token list, then am token revoke ID",
            data={"max": MAX_LIVE},
        )
    tx.require_room()
    expires_ts = None if lifetime_s is None else Micros(min(now + lifetime_s * SECOND, LATEST))
    new = NewIssuedToken(token_hash=hashed, role=role, agent_id=agent_id, note=wish.note, expires_ts=expires_ts)
    return tx.issued_tokens.add(new, now)


def _require_agent_id(view: View, wish: TokenWish) -> AgentId | None:
    if wish.agent is None or wish.project is None:
        return None
    try:
        agent = require_agent(view, require_writable(require_project(view, wish.project)), wish.agent)
    except NotFound as unknown:
        raise type(unknown)(unknown.message, hint=f"{unknown.hint} {_FIRST}".lstrip(), data=unknown.data) from unknown
    if agent.kind is not AgentKind.AGENT:
        raise ReservedIdentity(f"{agent.name} has no token.", hint="Name a registered agent.")
    return agent.id
