from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.core.git.worktree import find_work_tree


def test_it_is_the_nearest_folder_with_a_git_file_or_folder(tmp_path: Path) -> None:
    inner, outer = tmp_path / "outer" / "inner", tmp_path / "outer"
    (inner / "deep").mkdir(parents=True)
    (outer / ".git").mkdir()

    of_outer = find_work_tree(str(inner / "deep"))
    (inner / ".git").write_text("gitdir: x\n")

    assert of_outer == str(outer.resolve())
    assert find_work_tree(str(inner / "deep")) == str(inner.resolve())
    assert find_work_tree(str(tmp_path)) is None
