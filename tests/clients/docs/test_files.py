"""Files for agents on a real disk: links, modes, several at once, and what is left alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mcp_agent_mail.clients.docs import block, files
from mcp_agent_mail.clients.docs.block import BEGIN, END, insert
from mcp_agent_mail.clients.docs.files import WRITTEN, InsertOutcome, default_files, digest_of, edit_all, usage_text
from mcp_agent_mail.clients.setup.staged_file import staged_at


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
    assert said == [
        *("it is no plain file", "it is no plain file", "it is read-only"),
        *("it has several names (hard links), which a write would part", "", f"there is no folder {tmp_path / 'no'}"),
    ]
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

    assert problem(path) == "it was changed by somebody else just now; run the same command again"
    assert path.read_text() == "# Another's\n"
    assert [one.name for one in tmp_path.iterdir()] == ["AGENTS.md"]


def test_a_file_that_came_meanwhile_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "AGENTS.md"
    text = files.usage_text

    def slow() -> str:
        path.write_text("# Another's\n")
        return text()

    monkeypatch.setattr(files, "usage_text", slow)

    assert problem(path) == "it was changed by somebody else just now; run the same command again"
    assert path.read_text() == "# Another's\n"


def test_what_a_kill_has_left_beside_a_file_goes_with_the_next_write(tmp_path: Path) -> None:
    path = tmp_path / "AGENTS.md"
    staged_at(path).write_text("half")

    assert outcomes(path) == [InsertOutcome.MADE]
    assert [one.name for one in tmp_path.iterdir()] == ["AGENTS.md"]


def test_the_second_name_that_a_kill_has_left_of_a_new_file_is_none(tmp_path: Path) -> None:
    path = tmp_path / "AGENTS.md"
    path.write_text("# Mine\n")
    staged_at(path).hardlink_to(path)

    assert outcomes(path) == [InsertOutcome.INSERTED]
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


@pytest.mark.parametrize("leads_to", ["../outside.md", ".git/hooks/post-checkout", "docs/lost.md", "../lost.md"])
def test_of_files_that_nobody_named_no_link_is_followed_to_where_nobody_looks(leads_to: str, tmp_path: Path) -> None:
    top = tmp_path / "app"
    (top / ".git/hooks").mkdir(parents=True)
    (top / "docs").mkdir()
    (tmp_path / "outside.md").write_text("# A\n")
    (top / ".git/hooks/post-checkout").write_text("#!/bin/sh\n")
    (top / "AGENTS.md").symlink_to(leads_to)
    target = top / leads_to
    before = target.read_text() if target.exists() else None

    for removes in (False, True):
        (told,) = edit_all(default_files(top), removes=removes, within=top)

        assert told.outcome is InsertOutcome.REFUSED
    assert (target.read_text() if target.exists() else None) == before


def test_what_changed_meanwhile_is_not_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "AGENTS.md"
    outcomes(path)

    def slow(content: bytes) -> bytes | None:
        path.write_text("# Another's\n")
        return block.remove(content)

    monkeypatch.setattr("mcp_agent_mail.clients.docs.files.remove", slow)
    (told,) = edit_all([path], removes=True)

    assert told.outcome is InsertOutcome.REFUSED
    assert path.read_text() == "# Another's\n"


def test_a_link_within_the_project_is_followed(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/agents.md").write_text("# A\n")
    (tmp_path / "AGENTS.md").symlink_to("docs/agents.md")

    (told,) = edit_all(default_files(tmp_path), removes=False, within=tmp_path)

    assert (told.outcome, told.real) == (InsertOutcome.INSERTED, str(tmp_path / "docs/agents.md"))


@pytest.mark.parametrize("removes", [False, True])
def test_what_somebody_wrote_between_the_marks_is_not_lost(removes: bool, tmp_path: Path) -> None:
    path = tmp_path / "AGENTS.md"
    path.write_bytes(b"# A\r\n\r\n" + insert(b"", usage_text()).replace(b"\n" + END, b"\nMine.\n" + END))
    before = path.read_bytes()

    (told,) = edit_all([path], removes=removes)

    assert told.problem is not None
    assert told.problem.message.startswith("From line 4 on stands between the marks")
    assert path.read_bytes() == before


def test_an_earlier_text_of_ours_and_an_empty_block_go_and_are_brought_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "WRITTEN", (digest_of(b"## Of before\nUse it."), *WRITTEN))
    paths = [tmp_path / name for name in ("a", "b", "c", "d")]
    for path, content in zip(paths, [b"## Of before\r\nUse it.\r\n", b""] * 2, strict=True):
        path.write_bytes(b"# A\n" + BEGIN + b"\r\n" + content + END + b"\n")

    assert outcomes(*paths[:2]) == [InsertOutcome.UPDATED] * 2
    assert outcomes(*paths[2:], removes=True) == [InsertOutcome.REMOVED] * 2


def test_the_text_of_now_is_the_last_that_is_known_as_ours() -> None:
    assert digest_of(usage_text().encode()) == WRITTEN[-1], "add its digest to WRITTEN, behind those of before"
