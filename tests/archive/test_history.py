"""The history of an archive as people are shown it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.archive.history import FileHistory, FilePlace, read_history
from mcp_agent_mail.archive.reading.bounded_reader import ArchiveNotFound
from tests.archive_harness import ArchiveHarness, git, open_archive_harness


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[ArchiveHarness]:
    with open_archive_harness(tmp_path) as opened:
        yield opened


def test_commits_come_newest_first_with_who_acted(harness: ArchiveHarness) -> None:
    project = harness.add_project("/srv/shop")
    lake, stone = harness.add_agent(project, "BlueLake"), harness.add_agent(project, "RedStone")
    harness.archive()
    harness.send(lake, [stone], subject="Who takes the parser?")
    harness.archive()

    newest, oldest = read_history(harness.path(project), agent=None, limit=10)

    assert newest.summary == "mail: BlueLake -> RedStone | Who takes the parser?"
    assert (newest.author, newest.agents) == ("BlueLake", ("BlueLake",))
    assert newest.last_seq == 6  # a project, four profiles, a mail
    assert "RedStone" in oldest.agents


def test_commits_of_one_agent_ignore_case_and_keep_to_the_limit(harness: ArchiveHarness) -> None:
    project = harness.add_project("/srv/shop")
    lake, stone = harness.add_agent(project, "BlueLake"), harness.add_agent(project, "RedStone")
    for subject in ("one", "two", "three"):
        harness.send(lake, [stone], subject=subject)
        harness.archive()

    found = read_history(harness.path(project), agent="bluelake", limit=2)
    of_nobody = read_history(harness.path(project), agent="GreenHill", limit=2)

    assert [entry.summary.rpartition(" ")[2] for entry in found] == ["three", "two"]
    assert of_nobody == []


def test_a_commit_made_by_a_person_has_no_sequence(harness: ArchiveHarness) -> None:
    project = harness.add_project("/srv/shop")
    harness.archive()
    git(harness.path(project), "commit", "--allow-empty", "-m", "a note of mine")

    newest = read_history(harness.path(project), agent=None, limit=1)[0]

    assert (newest.summary, newest.last_seq, newest.agents) == ("a note of mine", None, ())


def test_a_folder_without_an_archive_is_a_typed_error(tmp_path: Path) -> None:
    with pytest.raises(ArchiveNotFound, match="no readable history"):
        read_history(tmp_path, agent=None, limit=1)


def test_a_hooks_environment_does_not_redirect_the_look(
    harness: ArchiveHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = harness.add_project("/srv/shop")
    harness.archive()
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))

    found = read_history(harness.path(project), agent=None, limit=5)

    assert len(found) == 1


def test_the_versions_of_a_file_come_newest_first_and_no_more_than_were_asked_for(harness: ArchiveHarness) -> None:
    project = harness.add_project("/srv/shop")
    lake = harness.add_agent(project, "BlueLake")
    for task in ("", "lexer", "parser"):
        harness.clock.step(1)
        harness.describe(project, lake, task)
        harness.archive()

    history = FileHistory(harness.path(project))
    versions = history.versions("agents/BlueLake/profile.json", limit=2, max_bytes=10_000)

    assert [
        f'"task_description": "{task}"'.encode() in (one.content or b"")
        for one, task in zip(versions, ("parser", "lexer"), strict=True)
    ] == [True, True]
    assert [one.content for one in history.versions("agents/BlueLake/profile.json", limit=1, max_bytes=10)] == [None]
    assert history.versions("agents/Nobody/profile.json", limit=9, max_bytes=10_000) == []


def test_a_file_of_an_earlier_commit_is_found_by_its_place_and_what_is_no_file_there_is_not(
    harness: ArchiveHarness,
) -> None:
    project = harness.add_project("/srv/shop")
    harness.archive()
    tip = git(harness.path(project), "rev-parse", "main").strip()
    path = "agents/Human/profile.json"

    history = FileHistory(harness.path(project))
    places = [
        FilePlace(tip, "agents/No body.json"),
        FilePlace(tip, path),
        FilePlace(tip, "agents"),
        FilePlace("0" * 40, path),
    ]
    (found,) = history.find(places)

    content = (harness.path(project) / path).read_bytes()
    assert (found.place, found.size_bytes, history.read(found)) == (FilePlace(tip, path), len(content), content)


def test_files_of_an_archive_that_is_not_there_are_a_typed_error(tmp_path: Path) -> None:
    history = FileHistory(tmp_path / "nothing")

    with pytest.raises(ArchiveNotFound, match="no readable history"):
        history.versions("archive.json", limit=1, max_bytes=1)
    with pytest.raises(ArchiveNotFound, match="no readable history"):
        history.find([FilePlace("0" * 40, "archive.json")])
