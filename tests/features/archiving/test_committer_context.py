from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.archive.ownership import ArchiveOwner
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.features.archiving.committer_context import DrainPlan


def test_all_that_is_beside_the_archives_lies_beside_their_folder(tmp_path: Path) -> None:
    owner = ArchiveOwner(store_id="s", author_name="a", author_email="a@example.com")

    plan = DrainPlan(projects_path=tmp_path / "projects", owner=owner, interval=Micros(1))

    assert plan.locks_path.parent == tmp_path
    assert plan.places.projects_path == tmp_path / "projects"
