"""The operator's token: whoever can read this file of ours may act as `Human` over `/rpc`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mcp_agent_mail.core.ids import OPERATOR_TOKEN_PREFIX, new_token
from mcp_agent_mail.core.private_files import replace_private

FILE_NAME = "operator.token"


@contextmanager
def operator_token_file(storage_root: Path) -> Iterator[str]:
    """A new token, in its file while the server runs: mode 0600 from birth, whole or not there.

    The caller holds the store's lock, so the file is nobody else's to write or remove.
    """
    token = new_token(OPERATOR_TOKEN_PREFIX)
    path = storage_root / FILE_NAME
    replace_private(path, f"{token}\n")
    try:
        yield token
    finally:
        path.unlink(missing_ok=True)
