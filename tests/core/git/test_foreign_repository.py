"""What is wrong with a file of a repository is told as the repository's."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_agent_mail.core.git.foreign_repository import (
    ForeignRepository,
    UnfitRepository,
    find_repository,
    read_again,
    repository_of,
)
from mcp_agent_mail.core.git.process import run_git


@pytest.mark.parametrize(
    ("spoiled", "ask"),
    [
        ("HEAD", ForeignRepository.head),
        ("HEAD", ForeignRepository.branch),
        ("HEAD", lambda known: find_repository(known.top or "")),
        ("config", lambda known: find_repository(known.top or "")),
        ("config", lambda known: repository_of(known.git_dir, None, known.top or "")),
        ("config", read_again),
    ],
)
def test_a_file_that_is_no_ordinary_one_makes_the_repository_unfit(
    tmp_path: Path, spoiled: str, ask: Callable[[ForeignRepository], object]
) -> None:
    run_git("init", "-q", str(tmp_path))
    known = find_repository(str(tmp_path))
    assert known is not None
    (tmp_path / ".git" / spoiled).unlink()
    os.mkfifo(tmp_path / ".git" / spoiled)

    with pytest.raises(UnfitRepository, match=f"{spoiled} is no ordinary file"):
        ask(known)
