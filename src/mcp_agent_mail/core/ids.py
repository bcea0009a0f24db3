"""Identifiers and tokens. Randomness comes from the operating system."""

from __future__ import annotations

import hashlib
from typing import NewType

ProjectId = NewType("ProjectId", int)
AgentId = NewType("AgentId", int)
MessageId = NewType("MessageId", int)
ContactId = NewType("ContactId", int)
OutboxSeq = NewType("OutboxSeq", int)
LeaseId = NewType("LeaseId", int)
ProductId = NewType("ProductId", int)
WindowId = NewType("WindowId", int)
JoinCodeId = NewType("JoinCodeId", int)
IssuedTokenId = NewType("IssuedTokenId", int)
WebSessionId = NewType("WebSessionId", int)

MOST_NUMBER = 1 << 53
"""No number that somebody else gives is above it: a store that took it over has as many left again, and more."""

_DIGITS = 15
"""All of them stand for a number below MOST_NUMBER."""

MOST_TAKEN_OVER = MOST_NUMBER // 2
"""No store is taken over that has given out higher ones: too few would be left."""

AGENT_TOKEN_PREFIX = "amt_"
OPERATOR_TOKEN_PREFIX = "amo_"
JOIN_CODE_PREFIX = "amj_"
ISSUED_TOKEN_PREFIX = "amk_"
WEB_SESSION_PREFIX = "ams_"
WEB_LINK_PREFIX = "aml_"
TOKEN_PREFIXES = (
    AGENT_TOKEN_PREFIX,
    OPERATOR_TOKEN_PREFIX,
    JOIN_CODE_PREFIX,
    ISSUED_TOKEN_PREFIX,
    WEB_SESSION_PREFIX,
    WEB_LINK_PREFIX,
)
"""Of all that proves or opens something: what begins so is shown to nobody."""


def read_number(text: str) -> int | None:
    """A number as addresses write it, in ASCII digits alone; None for anything else, and for one of over 15 digits."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None


def new_store_id() -> str:
    """Names one store for good; database and archives carry it, so that they are never mixed up."""
    import uuid  # noqa: PLC0415  # hooks start without it

    return str(uuid.uuid4())


def new_product_uid() -> str:
    """128 random bits as 32 hexadecimal digits in lower case."""
    import secrets  # noqa: PLC0415  # hooks start without it

    return secrets.token_hex(16)


def new_token(prefix: str) -> str:
    """256 random bits behind a prefix that says what the token is for (and lets scanners find leaks)."""
    import secrets  # noqa: PLC0415  # hooks start without it

    return prefix + secrets.token_urlsafe(32)


def token_hash(token: str) -> bytes:
    """SHA-256: tokens are random, so no salt and no slow hash are needed."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
