"""The operator's token: whoever can read this file of ours may act as `Human` over `/rpc`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mcp_agent_mail.core.ids import OPERATOR_TOKEN_PREFIX, new_token

FILE_NAME = "operator.token"


@contextmanager
def operator_token_file(storage_root: Path) -> Iterator[str]:
    """A new token, in its file while the server runs: mode 0600 from birth, whole or not there.

    The caller holds the store's lock, so the file is nobody else's to write or remove.
    """
    token = new_token(OPERATOR_TOKEN_PREFIX)
    path = storage_root / FILE_NAME
    fresh = storage_root / f".{FILE_NAME}.{os.getpid()}"
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(f"{token}\n")
    fresh.replace(path)
    try:
        yield token
    finally:
        path.unlink(missing_ok=True)
