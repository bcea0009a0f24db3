"""What `Authorization: Bearer` shows, and what that lets its bearer do.

Tried in this order: the server's own token, the operator's, an issued one, a JWT where they are on, else an agent's
registration token, which proves its agent and opens no locked door. A refusal tells what kind of token it
was by its prefix alone, which is no secret, and never why a JWT counts for nothing.
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import field
from typing import TYPE_CHECKING

from mcp_agent_mail.core.clock import Clock, system_clock
from mcp_agent_mail.core.ids import AGENT_TOKEN_PREFIX, ISSUED_TOKEN_PREFIX, token_hash
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.domain.identity.web_sessions import OpenedBy
from mcp_agent_mail.server.edge.admitted import Admitted, HttpRefusal
from mcp_agent_mail.server.edge.rates import address_payer, token_payer
from mcp_agent_mail.server.identity import Headers, bearer_token
from mcp_agent_mail.server.jwt.proofs import IssuerAway, JwtRefused, KeysPending, KeyUnknown, NoJwt

if TYPE_CHECKING:
    from mcp_agent_mail.features.issued_tokens.book import IssuedTokenBook
    from mcp_agent_mail.server.jwt.verifier import JwtVerifier

logger = logging.getLogger("mcp_agent_mail.http")


@dataclass(frozen=True, slots=True, kw_only=True)
class BearerRules:
    """`trust_loopback`: this machine needs no token. Without `has_roles` whoever comes in is a writer, but for the
    operator's own token.
    """

    server_token: str | None = field(default=None, repr=False)
    operator_token: str | None = field(default=None, repr=False)
    server_role: Role = Role.WRITER
    has_roles: bool = True
    trust_loopback: bool = False
    challenge: bytes = b"Bearer"
    """What `WWW-Authenticate` says, without the error."""


_MISSING = "This server needs its token: send Authorization: Bearer <HTTP_BEARER_TOKEN>, or one that it has issued."
_WRONG = "The bearer token opens nothing here. An agent's own token belongs in X-Agent-Token."
_NOT_IN_FORCE = (
    "This issued token was revoked, has expired, or is another server's. The operator issues another: am token create."
)
"""One text for all three: who guesses learns nothing."""
_AGENTS_OWN = (
    "An agent's own token belongs in X-Agent-Token; as Authorization: Bearer this server takes HTTP_BEARER_TOKEN, or a "
    "token that it has issued."
)
_NO_ROLE = "The token gives no role here."


class Bearers:
    """Judges what requests show, between `opened`'s entry and exit. Without `tokens` and `jwts` there are none."""

    def __init__(
        self,
        rules: BearerRules,
        *,
        tokens: IssuedTokenBook | None = None,
        jwts: JwtVerifier | None = None,
        clock: Clock = system_clock,
    ) -> None:
        self._rules = rules
        self._server_token = rules.server_token.encode() if rules.server_token else None
        self._operator_token = rules.operator_token.encode() if rules.operator_token else None
        self._tokens = tokens
        self._jwts = jwts
        self._clock = clock
        self._is_locked = self._server_token is not None or jwts is not None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Between entry and exit an issuer's keys are kept fresh."""
        if self._jwts is None:
            yield
            return
        self._jwts.start()
        try:
            yield
        finally:
            await self._jwts.stop()

    async def settle(self) -> None:
        """Wait for an issuer's keys where none are known, a few seconds at most."""
        if self._jwts is not None:
            await self._jwts.settle()

    async def judge(
        self, headers: Headers, address: str | None, *, is_local: bool, operator_may: bool
    ) -> Admitted | HttpRefusal:
        """Let the request in, or say why not. `address` is the client's; `is_local`: it comes from this very machine.
        `operator_may`: the operator's own token counts on this path.
        """
        given = bearer_token(headers)
        if given is None:
            return self._unopened(address, _MISSING, is_local=is_local, is_wrong=False)
        if (own := self._own(given, operator_may=operator_may)) is not None:
            return own
        if self._tokens is not None and given.startswith(ISSUED_TOKEN_PREFIX):
            return self._issued(self._tokens, given)
        if self._jwts is not None and (signed := await self._signed(self._jwts, given)) is not None:
            return signed
        return self._unopened(address, _words_of(given), is_local=is_local, is_wrong=True)

    def _own(self, given: str, *, operator_may: bool) -> Admitted | None:
        sent = given.encode("latin-1")
        if self._server_token is not None and hmac.compare_digest(sent, self._server_token):
            return Admitted(
                payer=token_payer(OpenedBy.SERVER),
                role=self._role(self._rules.server_role),
                bearer_is_spent=True,
                opened_by=OpenedBy.SERVER,
            )
        if operator_may and self._operator_token and hmac.compare_digest(sent, self._operator_token):
            return Admitted(
                payer=token_payer(OpenedBy.OPERATOR),
                role=Role.OPERATOR,
                bearer_is_spent=True,
                is_operators_own=True,
                opened_by=OpenedBy.OPERATOR,
            )
        return None

    def _unopened(self, address: str | None, detail: str, *, is_local: bool, is_wrong: bool) -> Admitted | HttpRefusal:
        """What was shown opens nothing: good where nothing has to be opened."""
        if self._is_locked and not (self._rules.trust_loopback and is_local):
            return self._refusal(detail, is_wrong=is_wrong)
        return Admitted(payer=address_payer(address))

    def _issued(self, tokens: IssuedTokenBook, given: str) -> Admitted | HttpRefusal:
        """One that is revoked, expired or nobody's is refused where no token is needed, too."""
        token = tokens.find(given)
        if token is None:
            return self._refusal(_words_of(given), is_wrong=True)
        tokens.note_use(token.id)
        return Admitted(
            payer=token_payer(OpenedBy.ISSUED, issued_token=token.id),
            role=self._role(token.role),
            bearer_is_spent=True,
            issued_to=token.agent_id,
            opened_by=OpenedBy.ISSUED,
            issued_token=token.id,
            expires_ts=token.expires_ts,
            is_live=lambda: tokens.is_live(token.id),
        )

    async def _signed(self, jwts: JwtVerifier, given: str) -> Admitted | HttpRefusal | None:
        """None for what is no JWT."""
        try:
            proof = await jwts.verify(given)
        except NoJwt:
            return None
        except IssuerAway as away:
            return _for_now(away, may_be_wrong=False)
        except KeyUnknown as unknown:
            logger.info("a JWT is refused for %d s: no key that is known has signed it", unknown.retry_after_s)
            return _for_now(unknown, may_be_wrong=True)
        except JwtRefused as refused:
            logger.info("%s", refused)
            return self._refusal(_WRONG, is_wrong=True)
        if proof.role is None and self._rules.has_roles:
            return HttpRefusal(status=403, detail=_NO_ROLE)
        subject_hash = token_hash(proof.subject)
        return Admitted(
            payer=token_payer(OpenedBy.JWT, subject_hash=subject_hash),
            role=self._role(proof.role or Role.WRITER),
            bearer_is_spent=True,
            claimed_agents=proof.agents,
            opened_by=OpenedBy.JWT,
            judged_by=proof.judged_by,
            subject_hash=subject_hash,
            expires_ts=proof.expires_ts,
            is_live=lambda: self._clock() < proof.expires_ts,
        )

    def _role(self, role: Role) -> Role:
        return role if self._rules.has_roles else Role.WRITER

    def _refusal(self, detail: str, *, is_wrong: bool) -> HttpRefusal:
        """`error` stands there where a token was sent, as RFC 6750 has it."""
        joined = b", " if b" " in self._rules.challenge else b" "
        error = joined + b'error="invalid_token"' if is_wrong else b""
        return HttpRefusal(status=401, detail=detail, headers=((b"www-authenticate", self._rules.challenge + error),))


def _for_now(pending: KeysPending, *, may_be_wrong: bool) -> HttpRefusal:
    return HttpRefusal(status=503, detail=pending.text, retry_after_s=pending.retry_after_s, may_be_wrong=may_be_wrong)


def _words_of(given: str) -> str:
    """Why a token that is no JWT opens nothing, by its prefix."""
    if given.startswith(ISSUED_TOKEN_PREFIX):
        return _NOT_IN_FORCE
    return _AGENTS_OWN if given.startswith(AGENT_TOKEN_PREFIX) else _WRONG
