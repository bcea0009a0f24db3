"""`am docs insert`: what it prints, where it looks, and how it ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.shell import Shell


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """We stand below its top."""
    top = tmp_path / "repository"
    (top / ".git").mkdir(parents=True)
    (top / "src").mkdir()
    monkeypatch.chdir(top / "src")
    return top


def test_at_the_top_of_the_repository_a_file_is_made_and_taken_away_again(shell: Shell, repository: Path) -> None:
    made = shell.am("docs", "insert")
    there = (repository / "AGENTS.md").read_text()
    again = shell.am("docs", "insert")
    gone = shell.am("docs", "insert", "--remove")

    assert [(done.code, done.err) for done in (made, again, gone)] == [(0, "")] * 3
    assert [done.lines()[0][1] for done in (made, again, gone)] == [
        "made",
        "nothing to do",
        "deleted: it was ours alone",
    ]
    assert there.startswith("<!-- agent-mail:begin -->\n## Working with other agents\n")
    assert not (repository / "AGENTS.md").exists()


def test_files_that_are_named_are_changed_and_a_broken_one_is_told_with_its_line(
    shell: Shell, repository: Path
) -> None:
    good, broken = repository / "src" / "NOTES.md", repository / "src" / "BAD.md"
    good.write_text("# A\n")
    broken.write_text("a\n<!-- agent-mail:begin -->\n")

    done = shell.am("docs", "insert", "BAD.md", "NOTES.md")

    assert (done.code, done.lines()) == (1, [["BAD.md", "refused"], ["NOTES.md", "inserted"]])
    assert "BAD.md: Line 2 has <!-- agent-mail:begin -->, and no <!-- agent-mail:end --> stands after it." in done.err
    assert broken.read_text() == "a\n<!-- agent-mail:begin -->\n"
    assert "## Working with other agents" in good.read_text()


def test_a_link_that_leads_out_of_the_repository_is_changed_when_it_is_named_and_its_real_path_is_told(
    shell: Shell, repository: Path
) -> None:
    outside = repository.with_name("outside.md")
    outside.write_text("# A\n")
    (repository / "AGENTS.md").symlink_to(outside)

    refused = shell.am("docs", "insert")
    done = shell.am("docs", "insert", "../AGENTS.md")

    assert refused.code == 1
    assert f"leads out of {repository}, to {outside}" in refused.err
    assert (done.code, done.lines()[0]) == (0, [f"../AGENTS.md -> {outside}", "inserted"])
