"""What checking a JWT ends with: a proof, a refusal, or that the keys to tell by are not there yet."""

from __future__ import annotations

from enum import StrEnum

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import Busy
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.roles import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class JwtProof:
    """What a good token says. `subject` tells whoever has it from others, in a log and for rates: the issuer and `sub`
    as JSON, or `token:` and a hash where there is none. `role` is None where no role is known and none is given to
    such. `agents` are the texts of the agent claim as they stand there, `Name@project` or a bare name, at most 16.
    `judged_by` is a hash of the settings and the key by which it was found good.
    """

    subject: str
    role: Role | None
    agents: tuple[str, ...]
    expires_ts: Micros
    judged_by: bytes = b""


class JwtReason(StrEnum):
    """Why a token is refused: for the log and the metrics alone."""

    MALFORMED = "malformed"
    TOO_LONG = "too_long"
    ALGORITHM = "algorithm"
    SIGNATURE = "signature"
    KEY = "key"
    EXPIRED = "expired"
    NOT_YET = "not_yet"
    ISSUER = "issuer"
    AUDIENCE = "audience"
    CRITICAL = "critical"
    CLAIMS = "claims"


class JwtRefused(Exception):
    """401. Whoever sent the token is not told why: each reason would help to make one that is less wrong."""

    def __init__(self, reason: JwtReason) -> None:
        super().__init__(f"a JWT is refused: {reason}")
        self.reason = reason


class NoJwt(JwtRefused):
    """It has not the form of one, and may be another kind of token."""

    def __init__(self) -> None:
        super().__init__(JwtReason.MALFORMED)


class KeysPending(Busy):
    """503: nobody can say whether the token is good before the issuer's keys are read."""

    def __init__(self, text: str, *, retry_after_s: int) -> None:
        super().__init__(text, retry_after_s=retry_after_s)
        self.retry_after_s = retry_after_s


class IssuerAway(KeysPending):
    """503: the issuer's keys cannot be had, so that nobody's token can be checked."""

    def __init__(self, *, retry_after_s: int) -> None:
        super().__init__("The keys of HTTP_JWT_JWKS_URL cannot be read.", retry_after_s=retry_after_s)


class KeyUnknown(KeysPending):
    """503: no key that is known has signed the token, and its issuer has not been asked for others since it came. It
    may be good, and may be anybody's: it counts as a wrong one.
    """

    def __init__(self, *, retry_after_s: int) -> None:
        super().__init__(
            "Whether the token is good shows once the keys of HTTP_JWT_JWKS_URL are read again.",
            retry_after_s=retry_after_s,
        )
