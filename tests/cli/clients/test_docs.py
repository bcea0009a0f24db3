"""`am docs insert`: what it prints, where it looks, and how it ends."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
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


def test_as_json_each_file_is_an_object(shell: Shell, repository: Path) -> None:
    made = shell.am("docs", "insert", "--json")

    assert (made.code, made.json()) == (0, {"files": [{"path": str(repository / "AGENTS.md"), "outcome": "made"}]})


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


NAMED = r"If you mean that file, name it: am docs insert "


@pytest.mark.parametrize(
    ("leads_to", "hint"),
    [
        ("../outside.md", NAMED),
        ("../out side.md", NAMED),
        ("docs/lost.md", NAMED),
        ("../lost.md", NAMED),
        (None, "Make it writable if you mean it: chmod "),
        # Naming the file would be refused too.
        (".git/notes.md", ""),
        ("../bare.git/hooks/post-checkout", ""),
        ("missing/lost.md", ""),
        ("../missing/lost.md", ""),
        ("../folder", ""),
        ("../locked.md", ""),
        ("../twice.md", ""),
        ("../theirs.md", ""),
    ],
)
def test_whoever_does_as_a_hint_says_is_not_refused(
    leads_to: str | None, hint: str, shell: Shell, repository: Path
) -> None:
    around = repository.parent
    for folder in ("folder", "bare.git/objects", "bare.git/refs", "bare.git/hooks", "repository/docs"):
        (around / folder).mkdir(parents=True)
    (around / "bare.git/HEAD").write_text("ref: refs/heads/main\n")
    for name in ("outside.md", "out side.md", "locked.md", "twice.md", "repository/.git/notes.md"):
        (around / name).write_text("# A\n")
    (around / "locked.md").chmod(0o444)
    os.link(around / "twice.md", around / "other.md")
    (around / "theirs.md").write_text("<!-- agent-mail:begin -->\nMine.\n<!-- agent-mail:end -->\n")
    agents = repository / "AGENTS.md"
    if leads_to is None:
        agents.write_text("# A\n")
        agents.chmod(0o444)
    else:
        agents.symlink_to(leads_to)

    refused = shell.am("docs", "insert")

    found = re.search(rf"^Hint: ({re.escape(hint)}.*)$", refused.err, re.MULTILINE)
    assert refused.code == 1
    assert found is not None if hint else "Hint" not in refused.err
    if found is not None:
        command = shlex.split(found[1].partition(": ")[2])
        if command[0] == "am":
            assert shell.am(*command[1:]).code == 0
            assert shell.am(*command[1:3], "--remove", *command[3:]).code == 0
        else:
            subprocess.run(command, check=True)
            assert shell.am("docs", "insert").code == 0


def test_a_folder_that_is_missing_is_made_as_the_hint_says(shell: Shell, repository: Path) -> None:
    refused = shell.am("docs", "insert", "a/b c/AGENTS.md")

    (hint,) = re.findall(r"^Hint: .*?: (mkdir .*)$", refused.err, re.MULTILINE)
    subprocess.run(shlex.split(hint), check=True)

    assert refused.code == 1
    assert shell.am("docs", "insert", "a/b c/AGENTS.md").code == 0
    assert (repository / "src" / "a" / "b c" / "AGENTS.md").exists()


def test_the_hint_for_taking_the_text_out_takes_it_out(shell: Shell, repository: Path) -> None:
    outside = repository.with_name("outside.md")
    outside.write_text("# A\n")
    (repository / "AGENTS.md").symlink_to(outside)
    nothing = shell.am("docs", "insert", "--remove")
    shell.am("docs", "insert", str(outside))
    refused = shell.am("docs", "insert", "--remove")

    (command,) = re.findall(r"am (docs insert .*)$", refused.err, re.MULTILINE)

    assert (nothing.code, "Hint" in nothing.err) == (1, False)
    assert shell.am(*shlex.split(command)).code == 0
    assert outside.read_text() == "# A\n"
