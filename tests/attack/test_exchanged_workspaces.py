"""Who can write to a project's directory, or above it, and exchanges a folder for a link or for another folder.

With ARCHIVE_LOCATION=workspace files of the archive, and one of the code repository around it, are written on that way.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.archive import code_status
from mcp_agent_mail.core.clock import SECOND, Micros
from tests.archive_harness import ArchiveHarness, fill, git, write


def test_a_git_directory_exchanged_for_a_link_leads_to_no_other_repository(
    code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at the repository and the write: the exchange is made in that very instant."""
    work, modules = tmp_path / "parent" / "work", tmp_path / "parent" / ".git" / "modules"
    modules.mkdir(parents=True)
    git(tmp_path, "init", "-q", "--separate-git-dir", str(modules / ".git"), str(work))
    git(tmp_path, f"--git-dir={modules / '.git'}", "config", "core.worktree", str(work))
    before = (code / ".git/info/exclude").read_bytes()
    exchanged: list[object] = []

    def find(project: Path) -> object:
        found = _find(project)
        if modules.is_symlink():
            return found
        modules.rename(modules.with_name("modules.kept"))
        modules.symlink_to(code)
        exchanged.append(found)
        return found

    _find = code_status._find
    monkeypatch.setattr(code_status, "_find", find)

    with pytest.raises(code_status.CodeRepositoryRefused):
        code_status.keep_out_of_status(work, ".mcp-mail")

    assert exchanged
    assert exchanged[0] is not None
    assert (code / ".git/info/exclude").read_bytes() == before


def test_a_git_directory_exchanged_for_another_is_not_written_to(
    code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    git(tmp_path, "init", "-q", str(other))
    (code / ".git/info/exclude").write_text("ours\n")
    (other / ".git/info/exclude").write_text("theirs\n")
    find = code_status._find

    def exchange(project: Path) -> object:
        found = find(project)
        if not (code / ".git.kept").exists():
            (code / ".git").rename(code / ".git.kept")
            (other / ".git").rename(code / ".git")
            (code / ".git" / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tworktree = /elsewhere\n")
        return found

    monkeypatch.setattr(code_status, "_find", exchange)

    code_status.keep_out_of_status(code, ".mcp-mail")

    assert (code / ".git/info/exclude").read_text() == "theirs\n"
    assert (code / ".git.kept/info/exclude").read_text() == "ours\n"


def swap(project: Path, victim: Path) -> None:
    """The owner of the directory above puts a link in the project's place."""
    project.rename(project.with_name("kept"))
    project.symlink_to(victim)


def nothing_written(victim: Path) -> bool:
    return not (victim / ".mcp-mail").exists() and b".mcp-mail" not in (victim / ".git/info/exclude").read_bytes()


@pytest.mark.parametrize("above", [False, True], ids=["the project", "the folder above"])
def test_a_project_replaced_by_a_link_leads_nowhere(
    harness: ArchiveHarness, code: Path, tmp_path: Path, above: bool
) -> None:
    place = tmp_path / "mine" / "sub"
    place.mkdir(parents=True)
    project = fill(harness, place)
    assert harness.archive() == 0
    swap(place.parent if above else place, code.parent if above else code)
    if above:
        code.rename(code.with_name("sub"))
        code = code.with_name("sub")
    write(harness, project)

    left = harness.archive()

    assert left == 1
    assert nothing_written(code)
    assert "over a link now" in harness.failures[-1].message


def test_a_project_replaced_by_a_link_while_its_archive_is_open_leads_nowhere(
    harness: ArchiveHarness, code: Path, tmp_path: Path
) -> None:
    place = tmp_path / "mine" / "sub"
    place.mkdir(parents=True)
    project = fill(harness, place)
    (code / ".mcp-mail").mkdir()
    with harness.drain() as drain:
        drain.resume()
        until = Micros(harness.clock() + 60 * SECOND)
        assert drain.flush(until) == 0
        swap(place, code)
        write(harness, project)
        drain.flush(until)

    assert list((code / ".mcp-mail").iterdir()) == []
    assert b".mcp-mail" not in (code / ".git/info/exclude").read_bytes()
    assert harness.failures


def test_a_project_replaced_by_a_link_in_the_instant_before_exclude_is_written_leads_nowhere(
    code: Path, tmp_path: Path
) -> None:
    place = tmp_path / "mine" / "sub"
    place.mkdir(parents=True)
    swap(place, code)

    code_status.keep_out_of_status(place, ".mcp-mail")

    assert nothing_written(code)
