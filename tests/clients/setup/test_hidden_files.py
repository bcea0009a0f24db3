from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.clients.setup.hidden_files import OtherFileIgnored, require_nothing_hidden
from mcp_agent_mail.clients.setup.journal import Journal
from mcp_agent_mail.clients.setup.plan import carry_out, make_plan
from mcp_agent_mail.clients.setup.status import State, look_at_client
from tests.clients.setup.homes import wishes

HOOKS = '{\n  "model": "x",\n  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "~/bin/lint"}]}]}\n}\n'
CASES = [
    ("droid", ".factory/settings.json", HOOKS, ".factory/hooks.json", "hooks in {}:3 are not read once"),
    ("droid", ".factory/hooks/hooks.json", HOOKS, ".factory/hooks.json", "what stands in {}:1 may not be read once"),
    ("droid", ".factory/settings.json", "{\n oops", ".factory/hooks.json", "that file cannot be read ({}:2: "),
    ("amp", ".config/amp/settings.jsonc", '{"amp.x": 1} // mine', ".config/amp/settings.json", "what stands in {}:1"),
]


def put(home: Path, path: str, text: str) -> Path:
    (home / path).parent.mkdir(parents=True, exist_ok=True)
    (home / path).write_text(text)
    return home / path


@pytest.mark.parametrize(("client", "theirs", "text", "ours", "said"), CASES)
def test_a_file_that_would_switch_off_another_is_not_made_and_the_others_are(
    client: str, theirs: str, text: str, ours: str, said: str, tmp_path: Path
) -> None:
    other = put(tmp_path, theirs, text)
    wanted = wishes(tmp_path, client)
    plan = make_plan(wanted, project=None)
    with (journal := Journal(tmp_path)).held():
        carry_out(plan, journal)

    state = look_at_client(client, wanted, has_token=False, project=None)

    ((left,), (file,)) = plan.left_alone, [file for file in state.files if file.path == tmp_path / ours]
    assert (left.path, file.state, state.state) == (tmp_path / ours, State.LEFT_ALONE, State.LEFT_ALONE)
    assert said.format(other) in left.reason
    assert (left.reason, left.hint) == (file.reason, file.hint)
    assert left.hint.endswith("run am setup again.")
    assert not (tmp_path / ours).exists()
    assert len(plan.changes) == len(wanted) - 1
    assert other.read_text() == text


@pytest.mark.parametrize("text", ["", "{}", '{"hooks": {}}', '{"model": "x"}'])
def test_nothing_is_hidden_where_nothing_stands(text: str, tmp_path: Path) -> None:
    put(tmp_path, ".factory/settings.json", text)

    plan = make_plan(wishes(tmp_path, "droid"), project=None)

    assert (plan.left_alone, len(plan.changes)) == ([], 2)


def test_a_file_that_is_there_hides_the_other_already(tmp_path: Path) -> None:
    put(tmp_path, ".factory/settings.json", HOOKS)
    put(tmp_path, ".factory/hooks.json", "{}")

    assert make_plan(wishes(tmp_path, "droid"), project=None).left_alone == []


def test_in_a_project_its_own_settings_count(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "app"
    put(home, ".factory/settings.json", HOOKS)
    project.mkdir()
    assert make_plan(wishes(home, "droid", project), project=project).left_alone == []

    other = put(project, ".factory/settings.json", HOOKS)
    (left,) = make_plan(wishes(home, "droid", project), project=project).left_alone

    assert f"{other}:3" in left.reason


def test_what_is_no_plain_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / ".factory/settings.json").mkdir(parents=True)

    with pytest.raises(OtherFileIgnored, match="no plain file"):
        require_nothing_hidden(wishes(tmp_path, "droid"))
