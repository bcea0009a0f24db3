from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_agent_mail.clients.setup.journal import Journal
from mcp_agent_mail.clients.setup.plan import carry_out, make_plan
from mcp_agent_mail.clients.setup.reworded_hooks import reworded_hooks
from mcp_agent_mail.clients.setup.status import State, look_at_client
from mcp_agent_mail.clients.setup.undo import make_undo_plan, take_back
from tests.clients.setup.homes import KINDS, SETTINGS, made_up, wishes

STOP = f"'{SETTINGS.am}' hook claude Stop"
TAILS = [
    f"{STOP} 2>/dev/null",
    f"{STOP} || true",
    f"{STOP} ; true",
    f"timeout 5 {STOP}",
    f"AGENT_NAME=BlueLake {STOP}",
    f"{STOP} --x",
]


def reword(path: Path, wanted: str) -> int:
    """Put `wanted` in the place of our line for Stop, and say at which line it stands."""
    text = path.read_text()
    assert text.count(f"{json.dumps(STOP)}") == 1
    path.write_text(changed := text.replace(json.dumps(STOP), json.dumps(wanted)))
    return changed[: changed.index(json.dumps(wanted))].count("\n") + 1


@pytest.mark.parametrize("wanted", TAILS)
def test_a_hook_in_other_words_is_drift_and_neither_doubled_nor_taken_out(wanted: str, tmp_path: Path) -> None:
    wishing = made_up(home := tmp_path / "home", "claude", KINDS[2])
    with (journal := Journal(home)).held():
        carry_out(make_plan(wishing, project=None), journal)
    path = wishing[1].path
    line = reword(path, wanted)
    before = path.read_text()

    state = look_at_client("claude", wishing, has_token=True, project=None)
    again = make_plan(wishing, project=None)
    shown = reworded_hooks(wishing, project=None)
    with journal.held():
        back = make_undo_plan(journal, clients=[], project=None)
        take_back(back, journal)

    ((differing,),) = [file.differences for file in state.files if file.differences]
    assert (state.state, differing.what) == (State.DRIFTED, "runs am hook in other words (claude Stop)")
    assert differing.line == line
    assert "other words" in str(state.next_step)
    assert again.changes == []
    assert [one.line for one in shown] == [differing.line]
    left = path.read_text()
    assert left != before
    assert json.dumps(wanted) in left
    assert f"'{SETTINGS.am}' hook claude" in left
    assert left.count("hook claude") == 1
    ((named,),) = [back.left_alone]
    assert "in other words (claude Stop), and stays" in named.reason
    assert "hook claude Stop" in left.splitlines()[int(named.line or 0) - 1]
    assert not journal.path.exists()


def test_what_is_missing_beside_it_is_put_there(tmp_path: Path) -> None:
    wishing = made_up(home := tmp_path / "home", "claude", KINDS[0])
    wishing[1].path.parent.mkdir()
    wishing[1].path.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [{"command": TAILS[0]}]}]}}))

    with (journal := Journal(home)).held():
        carry_out(make_plan(wishing, project=None), journal)

    commands = [
        handler["command"]
        for groups in json.loads(wishing[1].path.read_text())["hooks"].values()
        for group in groups
        for handler in group["hooks"]
    ]
    assert len(commands) == len(set(commands)) == len(wishing[1].hooks)
    assert STOP not in commands
    assert f"{STOP} --wake" in commands


def test_one_that_was_there_before_us_comes_back_without_a_word(tmp_path: Path) -> None:
    wishing = made_up(home := tmp_path / "home", "claude", KINDS[0])
    wishing[1].path.parent.mkdir()
    wishing[1].path.write_text(before := json.dumps({"hooks": {"Stop": [{"hooks": [{"command": TAILS[0]}]}]}}))
    with (journal := Journal(home)).held():
        carry_out(make_plan(wishing, project=None), journal)
        back = make_undo_plan(journal, clients=[], project=None)
        take_back(back, journal)

    assert back.left_alone == []
    assert wishing[1].path.read_text() == before


def test_a_file_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    wishing = wishes(tmp_path, "claude")
    (tmp_path / ".claude").mkdir()
    wishing[1].path.write_text("{")

    assert reworded_hooks(wishing, project=None) == []
