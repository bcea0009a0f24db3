"""Checks a JWT: whether the issuer has signed it, for us, and it counts now.

Which algorithms and keys count is the settings' word. What a token says of its own key is a name to look up among
those, and nothing else: no address, key or certificate in it is followed. (docs/adr/0173)
"""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import replace
from typing import Any

from mcp_agent_mail.core.clock import Clock, Micros
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.server.jwt.claims import (
    ClaimRules,
    agents_of,
    find_claim,
    read_object,
    require_claims,
    subject_of,
)
from mcp_agent_mail.server.jwt.judge_digests import judge_hash, settings_hash
from mcp_agent_mail.server.jwt.key_document import KeyDocument
from mcp_agent_mail.server.jwt.key_set import KeySet
from mcp_agent_mail.server.jwt.proofs import IssuerAway, JwtProof, JwtReason, JwtRefused, NoJwt
from mcp_agent_mail.server.jwt.roles import RoleWords, role_words
from mcp_agent_mail.server.jwt.signatures import VerifyingKey, VerifyingKeys, decoded, shared_key

LONGEST_TOKEN = 8 * 1_024
MOST_REMEMBERED = 1_000
"""Tokens that were good and are not checked again."""

_JWT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")


def looks_like_jwt(text: str) -> bool:
    """Whether it is three parts of base64url: what is none is another kind of token."""
    return _JWT.fullmatch(text) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class JwtRules:
    """What the settings ask of a token, and where in it roles and agents stand; `settings` is a hash of them all."""

    algorithms: frozenset[str]
    claims: ClaimRules
    roles: RoleWords
    role_claim: str
    agent_claim: str
    settings: bytes = b""


@dataclass(frozen=True, slots=True)
class _Token:
    """The parts of a token whose signature has not been checked yet."""

    algorithm: str
    kid: str | None
    signed: bytes
    signature: bytes
    payload: bytes


class JwtVerifier:
    """`start()` on the running loop, `await stop()` at its end. `keys` are the issuer's, or the one shared key."""

    def __init__(self, rules: JwtRules, keys: KeySet | VerifyingKeys, *, clock: Clock) -> None:
        self._rules = rules
        self._keys = keys
        self._clock = clock
        self._proven: OrderedDict[bytes, tuple[VerifyingKeys, JwtProof]] = OrderedDict()
        self._judges: tuple[VerifyingKeys | None, AbstractSet[bytes]] = (None, frozenset())

    @property
    def key_set(self) -> KeySet | None:
        """The issuer's keys, with their keeper and figures for health; None where there is one shared key."""
        return self._keys if isinstance(self._keys, KeySet) else None

    def start(self) -> None:
        if self.key_set is not None:
            self.key_set.start()

    async def stop(self) -> None:
        if self.key_set is not None:
            await self.key_set.stop()

    def judges(self) -> AbstractSet[bytes] | None:
        """What may have judged a token that counts now (`JwtProof.judged_by`). None while nobody knows: the issuer's
        keys have not been read, or too long ago.
        """
        keys = self._keys.served() if isinstance(self._keys, KeySet) else self._keys
        if keys is None:
            return None
        if self._judges[0] is not keys:
            self._judges = keys, frozenset(judge_hash(self._rules.settings, key) for key in keys.keys)
        return self._judges[1]

    async def settle(self) -> None:
        """Wait for the issuer's keys where there are none, as long as `verify` would."""
        if isinstance(self._keys, KeySet):
            with suppress(IssuerAway):
                await self._keys.current()

    async def verify(self, token: str) -> JwtProof:
        """What a good token proves. Raises NoJwt, JwtRefused, or KeysPending where nobody can say whether it is good.

        A good one is remembered until it expires or the keys change, so that its next request costs a hash.
        """
        if not looks_like_jwt(token):
            raise NoJwt
        if len(token) > LONGEST_TOKEN:
            raise JwtRefused(JwtReason.TOO_LONG)
        keys = await self._keys.current() if isinstance(self._keys, KeySet) else self._keys
        digest = hashlib.sha256(token.encode("ascii")).digest()
        if (proof := self._recall(digest, keys)) is not None:
            return proof
        read = self._read(token)
        keys, key = await self._require_signed(read, keys, digest)
        proof = replace(self._proof(read.payload, digest), judged_by=judge_hash(self._rules.settings, key))
        self._remember(digest, keys, proof)
        return proof

    def _recall(self, digest: bytes, keys: VerifyingKeys) -> JwtProof | None:
        found = self._proven.get(digest)
        if found is None:
            return None
        if found[0] is not keys or found[1].expires_ts <= self._clock():
            del self._proven[digest]
            return None
        self._proven.move_to_end(digest)
        return found[1]

    def _remember(self, digest: bytes, keys: VerifyingKeys, proof: JwtProof) -> None:
        self._proven[digest] = keys, proof
        while len(self._proven) > MOST_REMEMBERED:
            self._proven.popitem(last=False)

    def _read(self, token: str) -> _Token:
        head, payload, signature = token.split(".")
        try:
            header = read_object(decoded(head))
            read = decoded(payload), decoded(signature)
        except ValueError:
            raise JwtRefused(JwtReason.MALFORMED) from None
        algorithm, kid = header.get("alg"), header.get("kid")
        if not isinstance(algorithm, str) or algorithm not in self._rules.algorithms:
            raise JwtRefused(JwtReason.ALGORITHM)
        if "crit" in header or header.get("b64", True) is not True:
            raise JwtRefused(JwtReason.CRITICAL)
        if not isinstance(kid, str | None) or _is_for_other_ends(header):
            raise JwtRefused(JwtReason.MALFORMED)
        return _Token(algorithm, kid, f"{head}.{payload}".encode("ascii"), read[1], read[0])

    async def _require_signed(
        self, token: _Token, keys: VerifyingKeys, digest: bytes
    ) -> tuple[VerifyingKeys, VerifyingKey]:
        """The keys that one of is the token's, and that one. Raises JwtRefused, KeysPending."""
        if not isinstance(self._keys, KeySet):
            if (own := _signing_key(token, keys, None)) is None:
                raise JwtRefused(JwtReason.SIGNATURE)
            return keys, own
        while (found := _signing_key(token, keys, token.kid)) is None:
            if token.kid is not None and keys.find_fitting(token.kid, token.algorithm):
                raise JwtRefused(JwtReason.SIGNATURE)
            newer = await self._keys.newer_than(keys, digest)
            if newer is None:
                raise JwtRefused(JwtReason.KEY)
            keys = newer
        return keys, found

    def _proof(self, payload: bytes, digest: bytes) -> JwtProof:
        rules = self._rules
        try:
            claims = read_object(payload)
        except ValueError:
            raise JwtRefused(JwtReason.MALFORMED) from None
        expires_ts: Micros = require_claims(claims, rules.claims, now=self._clock())
        return JwtProof(
            subject=subject_of(claims) or f"token:{digest.hex()[:32]}",
            role=rules.roles.role_of(find_claim(claims, rules.role_claim)),
            agents=agents_of(find_claim(claims, rules.agent_claim)),
            expires_ts=expires_ts,
        )


def _signing_key(token: _Token, keys: VerifyingKeys, kid: str | None) -> VerifyingKey | None:
    fitting = keys.find_fitting(kid, token.algorithm)
    return next((key for key in fitting if key.verifies(token.algorithm, token.signed, token.signature)), None)


def _is_for_other_ends(header: Mapping[str, Any]) -> bool:
    """Whether the same issuer signs such tokens for sign-outs, events, proofs of a key; or has put one into another."""
    kind, content = header.get("typ", "JWT"), header.get("cty", "json")
    if not isinstance(kind, str) or not isinstance(content, str) or content.upper() == "JWT":
        return True
    purpose = kind.lower().removeprefix("application/")
    return purpose.endswith("+jwt") and purpose != "at+jwt"


def jwt_verifier(settings: Settings, *, clock: Clock) -> JwtVerifier:
    """As the settings say, which see to it that there is one key, of the algorithms' kind."""
    algorithms = frozenset(settings.http_jwt_algorithms)
    rules = JwtRules(
        algorithms=algorithms,
        claims=ClaimRules(issuer=settings.http_jwt_issuer, audiences=frozenset(settings.http_jwt_audience or ())),
        roles=role_words(settings),
        role_claim=settings.http_jwt_role_claim,
        agent_claim=settings.http_jwt_agent_claim,
        settings=settings_hash(settings),
    )
    if settings.http_jwt_jwks_url is not None:
        document = KeyDocument(settings.http_jwt_jwks_url, algorithms)
        return JwtVerifier(rules, KeySet(document.read, clock=clock, close=document.close), clock=clock)
    assert settings.http_jwt_secret is not None, "the settings see to it"
    return JwtVerifier(rules, shared_key(settings.http_jwt_secret, algorithms), clock=clock)
