"""The operator's token: whoever can read this file of ours may act as `Human` over `/rpc`."""

from __future__ import annotations

import os
from pathlib import Path

from mcp_agent_mail.core.ids import OPERATOR_TOKEN_PREFIX, new_token

FILE_NAME = "operator.token"


def write_operator_token(storage_root: Path) -> str:
    """Make a new token and put it in place, mode 0600 from birth; the former one is void.

    The caller holds the store's lock. Written beside and renamed, so that a reader never sees half a token.
    """
    token = new_token(OPERATOR_TOKEN_PREFIX)
    path = storage_root / FILE_NAME
    fresh = storage_root / f".{FILE_NAME}.{os.getpid()}"
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(f"{token}\n")
    fresh.replace(path)
    return token
