from __future__ import annotations

from tests.cli.setup.test_command import DONE, REFUSED, ground, named, outcomes, person
from tests.cli.shell import Shell

__all__ = ["ground", "person"]


def test_hooks_that_ours_would_switch_off_are_said_everywhere_and_the_others_go_on(person: Shell) -> None:
    (person.home / ".factory").mkdir()
    theirs = person.home / ".factory/settings.json"
    theirs.write_text('{\n  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "lint"}]}]}\n}\n')

    shown = person.am("setup", *named("droid", "cursor"), "--dry-run")
    ended = person.am("setup", *named("droid", "cursor"), "--yes", "--json")
    status = person.am("setup", *named("droid", "cursor"), "--status")
    theirs.unlink()
    after = person.am("setup", *named("droid", "cursor"), "--yes", "--json")

    assert (shown.code, ended.code, status.code, after.code) == (REFUSED, REFUSED, REFUSED, DONE)
    for said in (shown.out, ended.out, status.out):
        assert f"hooks in {theirs}:2 are not read once there is a hooks.json" in said
        assert f"Move them into {person.home}/.factory/hooks.json yourself" in said
    assert outcomes(ended.json()) == {"cursor": ["proven", "proven"], "droid": ["proven", "left out"]}
    assert outcomes(after.json())["droid"] == ["proven", "proven"]


def test_a_hook_in_other_words_is_shown_not_doubled_not_run_and_named_by_the_way_back(person: Shell) -> None:
    person.am("setup", *named("codex"), "--yes")
    path = person.home / ".codex/hooks.json"
    path.write_text(path.read_text().replace("hook codex UserPromptSubmit", "hook codex UserPromptSubmit || true"))
    before = path.read_text()

    shown = person.am("setup", *named("codex"), "--dry-run")
    again = person.am("setup", *named("codex"), "--yes", "--json")
    status = person.am("setup", *named("codex"), "--status")
    after = path.read_text()
    back = person.am("setup", "--undo", "--yes")
    twice = person.am("setup", "--undo", "--yes")

    assert (shown.code, again.code, status.code, back.code, twice.code) == (REFUSED, REFUSED, REFUSED, REFUSED, DONE)
    words = "runs am hook in other words (codex UserPromptSubmit)"
    assert [words in said for said in (shown.out, again.out, status.out, back.out)] == [True] * 4
    assert "drifted: line " in status.out
    assert after == before
    assert outcomes(again.json()) == {"codex": ["proven", "failed"]}
    assert path.read_text().count("hook codex") == 1
