from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.tools import Credentials
from tests.features.identity.harness import PROJECT, IdentityHarness, open_identity
from tests.seeded_store import SetClock

WINDOW = "3f0c1f52-58a6-4c8e-9a0a-5d1b6f2a7c11"
FROM_WINDOW = Credentials(via="mcp", window_id=WINDOW)
NOW = iso(SetClock().now)


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[IdentityHarness]:
    """BlueLake came from a window."""
    async with open_identity(tmp_path, clock=SetClock()) as opened:
        await opened.call("ensure_project", human_key=PROJECT)
        await opened.register("BlueLake", by=FROM_WINDOW)
        yield opened


async def test_windows_are_listed_with_the_name_they_give(harness: IdentityHarness) -> None:
    listed = await harness.call("list_window_identities", by=FROM_WINDOW, project_key=PROJECT)

    (window,) = listed["identities"]
    assert (listed["count"], window["window_uuid"], window["display_name"], window["age_days"]) == (
        1,
        WINDOW,
        "BlueLake",
        0,
    )


async def test_a_window_is_renamed_and_forgotten_by_its_id_in_any_letter_case(harness: IdentityHarness) -> None:
    window: dict[str, Any] = {"project_key": PROJECT, "window_uuid": WINDOW.upper()}

    renamed = await harness.call("rename_window", **window, new_display_name="RedStone")
    forgotten = await harness.call("expire_window", **window)

    assert (renamed["display_name"], renamed["old_display_name"]) == ("RedStone", "BlueLake")
    assert forgotten == {"window_uuid": WINDOW, "display_name": "RedStone", "expired": True, "expired_at": NOW}


@pytest.mark.parametrize(("tool", "more"), [("rename_window", {"new_display_name": "RedStone"}), ("expire_window", {})])
async def test_what_is_no_window_id_is_refused(harness: IdentityHarness, tool: str, more: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        await harness.call(tool, project_key=PROJECT, window_uuid="window-1", **more)
