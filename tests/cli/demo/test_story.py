from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcp_agent_mail.cli.demo.story import MAKER, PLANNER, play, wait_for_archive
from tests.cli.conftest import Post


async def test_the_task_is_done_by_mail_and_stands_in_git(post: Post, tmp_path: Path) -> None:
    told: list[Mapping[str, Any]] = []

    whois = await play(f"http://127.0.0.1:{post.server.port}", str(tmp_path), told.append, pause_s=0.0)

    assert [(mail["from"], *mail["to"]) for mail in told] == [
        (PLANNER, MAKER),
        (MAKER, PLANNER),
        (PLANNER, MAKER),
        (MAKER, PLANNER),
        (PLANNER, MAKER),
    ]
    assert told[-1]["cc"] == ["Human"]
    assert whois["name"] == MAKER
    assert whois["recent_commits"]


async def test_the_archive_is_waited_for_until_nothing_is_pending() -> None:
    pending = [2, 1, 0]
    asked: list[str] = []

    async def call(tool: str, arguments: dict[str, Any]) -> Any:
        assert arguments == {}
        asked.append(tool)
        return {"archive": {"pending_events": pending[len(asked) - 1]}}

    await wait_for_archive(call)

    assert asked == ["health_check"] * 3
