"""What judged a JWT, as a hash: the settings, and the key that its signature was checked with.

Whatever outlives the request that showed a token asks whether its judge is there still: another secret, issuer,
audience, role or key makes another one.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields

from mcp_agent_mail.core.settings.kinds import Secret
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.server.jwt.signatures import VerifyingKey

_JUDGING = ("http_jwt_", "http_rbac_")


def settings_hash(settings: Settings) -> bytes:
    """Of all that is set of JWTs and of roles, the secret among it: 32 bytes."""
    judging = {one.name: getattr(settings, one.name) for one in fields(settings) if one.name.startswith(_JUDGING)}
    return hashlib.sha256(json.dumps(judging, sort_keys=True, default=_revealed).encode()).digest()


def judge_hash(settings: bytes, key: VerifyingKey) -> bytes:
    """Of one key under these settings: 32 bytes."""
    return hashlib.sha256(settings + json.dumps([key.kid, *key.material]).encode()).digest()


def _revealed(value: object) -> str:
    assert isinstance(value, Secret), value
    return value.reveal()
