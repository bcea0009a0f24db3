from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.archive.transfer.entry_limits import MOST_BESIDE, MOST_PER_OBJECT, bounded
from mcp_agent_mail.core.git.process import GitFailed
from tests.archive.one_archive import IDENTITY, add_commit, begin


def test_as_much_is_listed_as_the_objects_account_for(path: Path) -> None:
    repository = begin(path)
    add_commit(repository, {"archive.json": IDENTITY}, seq=1)
    most = MOST_BESIDE + 3 * MOST_PER_OBJECT  # a commit, a tree and a file

    assert sum(1 for _ in bounded(repository, ["x"] * most)) == most
    with pytest.raises(GitFailed, match="do not account for"):
        list(bounded(repository, ["x"] * (most + 1)))
