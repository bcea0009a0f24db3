"""What a JWT claims, read strictly: JSON without doubles, whole seconds, issuers and audiences by the letter."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from mcp_agent_mail.core.clock import LATEST, SECOND, Micros
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.identity.token_agents import NOBODY
from mcp_agent_mail.server.jwt.proofs import JwtReason, JwtRefused

Claims = Mapping[str, Any]  # JSON

LEEWAY_S = 60
"""Clocks of two machines differ: by so much `nbf` and `iat` may be ahead."""
MOST_AGENTS = 16
LONGEST_AGENT = 5_200
"""A name and a project's key."""
LONGEST_SUBJECT = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRules:
    """What a token must claim. No issuer, and no audiences, are any."""

    issuer: str | None
    audiences: frozenset[str]


def read_object(content: bytes) -> dict[str, Any]:
    """The one JSON object. Raises ValueError for anything else, a name that stands twice in an object among it: of two
    readers each could take another one.
    """
    try:
        found = json.loads(content.decode(), object_pairs_hook=_without_doubles, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("no object")  # noqa: TRY004  # what is read is wrong, not what was called
    return found


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def require_claims(claims: Claims, rules: ClaimRules, *, now: Micros) -> Micros:
    """Until when the token is good. Raises JwtRefused."""
    expires_ts = _require_times(claims, now)
    if rules.issuer is not None and claims.get("iss") != rules.issuer:
        raise JwtRefused(JwtReason.ISSUER)
    if rules.audiences and rules.audiences.isdisjoint(_audiences(claims.get("aud"))):
        raise JwtRefused(JwtReason.AUDIENCE)
    return expires_ts


def _require_times(claims: Claims, now: Micros) -> Micros:
    expires_ts = _time(claims, "exp")
    if expires_ts is None:
        raise JwtRefused(JwtReason.CLAIMS)
    begins = [at for name in ("nbf", "iat") if (at := _time(claims, name)) is not None]
    if expires_ts <= now:
        raise JwtRefused(JwtReason.EXPIRED)
    if any(at > now + LEEWAY_S * SECOND for at in begins):
        raise JwtRefused(JwtReason.NOT_YET)
    return expires_ts


def _time(claims: Claims, name: str) -> Micros | None:
    """Whole seconds within the calendar: `true` is 1 to Python, and no time."""
    if name not in claims:
        return None
    seconds = claims[name]
    if type(seconds) is not int or not 0 <= seconds <= LATEST // SECOND:
        raise JwtRefused(JwtReason.CLAIMS)
    return Micros(seconds * SECOND)


def _audiences(claim: object) -> Iterable[str]:
    return (one for one in (claim if isinstance(claim, list) else [claim]) if isinstance(one, str))


def subject_of(claims: Claims) -> str | None:
    """Of whom a token with `sub` is, told from those of other issuers; None for one without, or with none to show."""
    subject, issuer = claims.get("sub"), claims.get("iss")
    if not _is_shown(subject, LONGEST_SUBJECT):
        return None
    return json.dumps([issuer if _is_shown(issuer, LONGEST_SUBJECT) else None, subject], ensure_ascii=False)


def agents_of(claim: object) -> tuple[str, ...]:
    """The texts of the agent claim, a text or a list, each once. What can be no agent's name is left out; a claim of
    nothing else names NOBODY, where one that is not there (None) leaves the bearer free.
    """
    if claim is None:
        return ()
    listed = claim if isinstance(claim, list) else [claim]
    texts = dict.fromkeys(
        one for one in listed if isinstance(one, str) and one.strip() and _is_shown(one, LONGEST_AGENT)
    )
    return tuple(texts)[:MOST_AGENTS] or (NOBODY,)


def _is_shown(text: object, longest: int) -> bool:
    return isinstance(text, str) and 0 < len(text) <= longest and text.isprintable()


def find_claim(claims: Claims, path: str) -> Any:
    """The claim of that very name, else what the path's points lead to; None where there is nothing. An explicit null
    is there, and empty: it is given as a list of nothing.

    A name may have points itself (`https://mail.example/roles`, a client of Keycloak), so that at each step the
    longest name that is there is tried first.
    """
    return _lead(claims, path.split("."))


def _lead(claims: Claims, parts: list[str]) -> Any:
    for taken in range(len(parts), 0, -1):
        name = ".".join(parts[:taken])
        inner = claims.get(name)
        if taken == len(parts):
            if name in claims:
                return [] if inner is None else inner
        elif isinstance(inner, dict) and (found := _lead(inner, parts[taken:])) is not None:
            return found
    return None
