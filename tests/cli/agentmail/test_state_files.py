from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mcp_agent_mail.cli.agentmail.refusals import Failure
from mcp_agent_mail.cli.agentmail.state_files import ProjectFiles


@pytest.fixture
def files(tmp_path: Path) -> ProjectFiles:
    return ProjectFiles({"HOME": str(tmp_path)}, "/code/my app")


def test_each_project_has_a_private_folder_of_its_own(files: ProjectFiles, tmp_path: Path) -> None:
    other = ProjectFiles({"HOME": str(tmp_path)}, "/other/my app")

    files.note_counted(7)

    assert (files.counted_to(), other.counted_to()) == (7, 0)
    assert Path(files.folder).parent == tmp_path / ".local/state/mcp-agent-mail/agentmail"
    assert stat.S_IMODE(Path(files.folder).stat().st_mode) == 0o700


def test_one_notifies_at_a_time(files: ProjectFiles) -> None:
    nobody = files.running()
    held = files.take()
    running = files.running()
    with pytest.raises(Failure, match=rf"^mailman daemon already running \(PID: {os.getpid()}\)$") as second:
        files.take()
    files.leave(held)

    assert (nobody, running, files.running()) == (None, os.getpid(), None)
    assert second.value.code == 2
    assert not files.is_stale()


def test_who_was_killed_leaves_a_stale_number_that_is_nobodys(files: ProjectFiles) -> None:
    held = files.take()
    os.close(held)

    assert files.running() is None
    assert files.is_stale()
    os.close(files.take())


def test_a_file_that_holds_no_number_is_refused(files: ProjectFiles) -> None:
    Path(files.folder).mkdir(parents=True)
    Path(files.path("mailman.pid")).write_text("x1\n")

    with pytest.raises(Failure, match=r"^corrupt PID file: ") as refused:
        files.running()

    assert refused.value.code == 1
