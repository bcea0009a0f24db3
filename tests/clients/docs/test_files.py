"""Files for agents on a real disk: links, modes, several at once, and what is left alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mcp_agent_mail.clients.docs import files
from mcp_agent_mail.clients.docs.block import BEGIN
from mcp_agent_mail.clients.docs.files import InsertOutcome, default_files, edit_all
from mcp_agent_mail.clients.setup.targets import staged_at


def outcomes(*paths: Path, removes: bool = False) -> list[InsertOutcome]:
    return [one.outcome for one in edit_all(paths, removes=removes)]


def problem(path: Path) -> str:
    (one,) = edit_all([path], removes=False)
    return "" if one.problem is None else one.problem.message


def test_there_and_back_again_leaves_every_byte_the_mode_and_nothing_beside(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("AGENTS.md", "CLAUDE.md", "GEMINI.md")]
    before = [b"# A\r\nx", b"\xef\xbb\xbf# B\n", b""]
    for path, content in zip(paths, before, strict=True):
        path.write_bytes(content)
        path.chmod(0o640)

    there = outcomes(*paths)
    with_text = [path.read_bytes() for path in paths]
    again = outcomes(*paths)
    same = [path.read_bytes() for path in paths]
    back = outcomes(*paths, removes=True)

    assert (there, again, back) == (
        [InsertOutcome.INSERTED] * 3,
        [InsertOutcome.UNCHANGED] * 3,
        [InsertOutcome.REMOVED] * 3,
    )
    assert with_text == same
    assert all(BEGIN in content for content in with_text)
    assert [path.read_bytes() for path in paths] == before
    assert [stat.S_IMODE(path.stat().st_mode) for path in paths] == [0o640] * 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["AGENTS.md", "CLAUDE.md", "GEMINI.md"]


def test_a_file_is_made_and_goes_again(tmp_path: Path) -> None:
    path = tmp_path / "AGENTS.md"

    assert (outcomes(path), outcomes(path, removes=True), outcomes(path, removes=True)) == (
        [InsertOutcome.MADE],
        [InsertOutcome.DELETED],
        [InsertOutcome.UNCHANGED],
    )
    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_one_and_its_target_is_changed_once(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    target = tmp_path / "docs" / "agents.md"
    target.write_text("# A\n")
    links = [tmp_path / "AGENTS.md", tmp_path / "CLAUDE.md"]
    links[0].symlink_to("docs/agents.md")
    links[1].symlink_to("AGENTS.md")

    assert outcomes(*links) == [InsertOutcome.INSERTED]
    assert [str(link.readlink()) for link in links] == ["docs/agents.md", "AGENTS.md"]
    assert target.read_bytes().count(BEGIN) == 1
    assert outcomes(*links, removes=True) == [InsertOutcome.REMOVED]
    assert target.read_text() == "# A\n"


def test_what_is_no_fit_file_is_named_and_left_alone_and_the_others_go_on(tmp_path: Path) -> None:
    folder, pipe, locked, twice, good = (tmp_path / name for name in ("folder", "pipe", "locked", "twice", "good"))
    folder.mkdir()
    os.mkfifo(pipe)
    for path in (locked, twice, good):
        path.write_text("# A\n")
    locked.chmod(0o444)
    os.link(twice, tmp_path / "other")

    told = edit_all([folder, pipe, locked, twice, good, tmp_path / "no" / "way"], removes=False)

    refused = InsertOutcome.REFUSED
    assert [one.outcome for one in told] == [refused, refused, refused, refused, InsertOutcome.INSERTED, refused]
    said = [one.problem.message if one.problem else "" for one in told]
    assert "no ordinary file" in said[0]
    assert "no ordinary file" in said[1]
    assert said[2:5] == ["It is read-only.", "It has several names (hard links), which a write would part.", ""]
    assert "No such file" in said[5]
    assert (locked.read_text(), twice.read_text()) == ("# A\n", "# A\n")
    assert BEGIN in good.read_bytes()


def test_what_changed_meanwhile_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "AGENTS.md"
    path.write_text("# A\n")
    text = files.usage_text

    def slow() -> str:
        path.write_text("# Another's\n")
        return text()

    monkeypatch.setattr(files, "usage_text", slow)

    assert problem(path) == "It was changed meanwhile."
    assert path.read_text() == "# Another's\n"
    assert [one.name for one in tmp_path.iterdir()] == ["AGENTS.md"]


def test_a_file_that_came_meanwhile_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "AGENTS.md"
    text = files.usage_text

    def slow() -> str:
        path.write_text("# Another's\n")
        return text()

    monkeypatch.setattr(files, "usage_text", slow)

    assert problem(path) == "It was changed meanwhile."
    assert path.read_text() == "# Another's\n"


def test_what_a_kill_has_left_beside_a_file_goes_with_the_next_write(tmp_path: Path) -> None:
    path = tmp_path / "AGENTS.md"
    staged_at(path).write_text("half")

    assert outcomes(path) == [InsertOutcome.MADE]
    assert [one.name for one in tmp_path.iterdir()] == ["AGENTS.md"]


def test_an_endless_chain_of_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")

    assert outcomes(tmp_path / "a") == [InsertOutcome.REFUSED]


def test_by_default_those_that_are_there_are_meant_else_the_first(tmp_path: Path) -> None:
    none = default_files(tmp_path)
    for name in ("GEMINI.md", "CLAUDE.md"):
        (tmp_path / name).write_text("x")

    assert [path.name for path in none] == ["AGENTS.md"]
    assert [path.name for path in default_files(tmp_path)] == ["CLAUDE.md", "GEMINI.md"]
