"""The project tools in each mode of identity."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from mcp_agent_mail.domain.project_identity import IdentityMode
from tests.features.identity.harness import IdentityHarness, open_identity

UID = "shared-project-1"


@asynccontextmanager
async def open_desk(tmp_path: Path, mode: IdentityMode) -> AsyncIterator[IdentityHarness]:
    async with open_identity(tmp_path / "store", mode=mode) as harness:
        yield harness


async def ensured(harness: IdentityHarness, path: Path | str, mode: str | None = None) -> dict[str, object]:
    found: dict[str, object] = await harness.call("ensure_project", human_key=str(path), identity_mode=mode)
    return found
