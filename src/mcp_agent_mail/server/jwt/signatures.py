"""Signatures of JWTs and the keys that they are checked with: the one module that knows `joserfc`.

Its parts are used one by one, below its own reading of tokens: which algorithm counts is decided before a key is
looked for, and a key is taken into a set only if it fits one of them. (docs/adr/0173)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field
from itertools import islice
from typing import Any

from joserfc.errors import JoseError
from joserfc.jwk import ECKey, Key, OctKey, OKPKey, RSAKey
from joserfc.jws import JWSRegistry
from joserfc.util import urlsafe_b64decode

from mcp_agent_mail.core.json_limits import read_bounded
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.settings.kinds import Secret

MOST_KEYS = 64
MOST_TRIED = 4
"""Keys that one token may be checked with, where it names none or several have its name."""
MOST_PARTS = 4_096
"""Values in a document of keys."""
RSA_BITS = range(2_048, 8_193)
MOST_EXPONENT_BITS = 64
"""An RSA key with a long public exponent takes a hundred times as long to check with."""

_FAMILIES: Mapping[str, type[RSAKey | ECKey | OKPKey]] = {"RSA": RSAKey, "EC": ECKey, "OKP": OKPKey}
_PUBLIC_PARTS = {"RSA": ("n", "e"), "EC": ("crv", "x", "y"), "OKP": ("crv", "x")}
_PRIVATE_PARTS = frozenset(("d", "p", "q", "dp", "dq", "qi", "oth", "k"))
_SIGNING_CURVES = ("Ed25519", "Ed448")


class NoKeySet(ValueError):
    """What was read is no set of keys, or has none that could be used. Its message is fit for everybody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyingKey:
    """`kid` is None for one without; `algorithms` are those whose signatures it may check."""

    kid: str | None
    algorithms: frozenset[str]
    material: tuple[str, ...]
    key: Key = field(repr=False, compare=False)

    def verifies(self, algorithm: str, signed: bytes, signature: bytes) -> bool:
        """Whether the signature of `signed` is this key's."""
        try:
            return JWSRegistry.algorithms[algorithm].verify(signed, signature, self.key)
        except (JoseError, ValueError):  # A signature that is none: its length, its numbers.
            return False


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyingKeys:
    """Equal to another set when a token that is good with one of them is good with the other."""

    keys: tuple[VerifyingKey, ...]

    def find_fitting(self, kid: str | None, algorithm: str) -> tuple[VerifyingKey, ...]:
        """The keys of that name, or all where no name is given, which may check this algorithm: at most four."""
        fitting = (one for one in self.keys if algorithm in one.algorithms and kid in (None, one.kid))
        return tuple(islice(fitting, MOST_TRIED))


def shared_key(secret: Secret, algorithms: Collection[str]) -> VerifyingKeys:
    """The settings' own key, for whatever name a token may have for it."""
    key = OctKey.import_key(secret.reveal().encode())
    one = VerifyingKey(kid=None, algorithms=frozenset(algorithms), material=(), key=key)
    return VerifyingKeys(keys=(one,))


def read_key_set(content: bytes, algorithms: Collection[str]) -> VerifyingKeys:
    """The keys of a JWKS that may check one of `algorithms`. What else it has is left out: keys for other ends, of
    other kinds, too weak, broken, shared, and those with private parts, with which anybody could sign. Raises NoKeySet.
    """
    try:
        document = read_bounded(content, MOST_PARTS)
    except (ValueError, RecursionError):
        raise NoKeySet("its answer is no JSON, or too much of it") from None
    listed = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise NoKeySet("its answer is no set of keys")
    if len(listed) > MOST_KEYS:
        raise NoKeySet(f"it has {len(listed)} keys, and {MOST_KEYS} are read at most")
    keys = tuple(key for one in listed if (key := _verifying_key(one, algorithms)) is not None)
    if not keys:
        raise NoKeySet("none of its keys fits HTTP_JWT_ALGORITHMS")
    return VerifyingKeys(keys=keys)


def _verifying_key(given: object, algorithms: Collection[str]) -> VerifyingKey | None:
    if not isinstance(given, dict) or not _PRIVATE_PARTS.isdisjoint(given) or not _is_for_signatures(given):
        return None
    kty, kid = given.get("kty"), given.get("kid")
    if not isinstance(kty, str) or kty not in _FAMILIES or not isinstance(kid, str | None):
        return None
    parts = {name: given.get(name) for name in _PUBLIC_PARTS[kty]}
    if not all(isinstance(part, str) for part in parts.values()):
        return None
    key = _imported(kty, parts)
    its = frozenset(name for name in algorithms if key is not None and _fits(key, name, given.get("alg", name)))
    if key is None or not its:
        return None
    return VerifyingKey(kid=kid, algorithms=its, material=(kty, *map(str, parts.values())), key=key)


def _is_for_signatures(given: Mapping[str, Any]) -> bool:
    operations = given.get("key_ops", ["verify"])
    return given.get("use", "sig") == "sig" and isinstance(operations, list) and "verify" in operations


def _imported(kty: str, parts: Mapping[str, Any]) -> Key | None:
    """None for a key that is broken, or weak: `joserfc` would warn of it only."""
    try:
        if kty == "RSA" and not _is_strong(_number(parts["n"]), _number(parts["e"])):
            return None
        if kty == "OKP" and parts["crv"] not in _SIGNING_CURVES:
            return None
        return _FAMILIES[kty].import_key({"kty": kty, **parts})
    except (JoseError, ValueError, TypeError, KeyError):
        return None


def _is_strong(modulus: int, exponent: int) -> bool:
    return modulus.bit_length() in RSA_BITS and 1 < exponent.bit_length() <= MOST_EXPONENT_BITS


def _number(part: str) -> int:
    return int.from_bytes(decoded(part))


def _fits(key: Key, algorithm: str, said: object) -> bool:
    """Whether the key is of the algorithm's kind and curve, and is not said to be for another one."""
    try:
        JWSRegistry.algorithms[algorithm].check_key(key)
    except JoseError:
        return False
    return said == algorithm


def decoded(part: str) -> bytes:
    """Of base64url without padding, blanks, or bits left over. Raises ValueError."""
    return urlsafe_b64decode(part.encode("ascii"))
