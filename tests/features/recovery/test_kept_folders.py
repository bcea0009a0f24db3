from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.core.clock import system_clock
from mcp_agent_mail.features.recovery.kept_folders import free_place


def test_each_time_has_a_folder_of_its_own(tmp_path: Path) -> None:
    first, second = free_place(tmp_path, system_clock), free_place(tmp_path, system_clock)

    assert first != second
    assert (first.parent, first.exists()) == (tmp_path / "kept", False)
