from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.clients.contracts.reader import CLIENTS
from mcp_agent_mail.clients.setup.journal import Journal
from mcp_agent_mail.clients.setup.plan import carry_out, make_plan
from mcp_agent_mail.clients.setup.status import ClientState, State, look_at_client
from mcp_agent_mail.clients.setup.wishes import FileWish
from tests.clients.setup.homes import KINDS, made_up, wishes


def look(client: str, wanted: list[FileWish], *, has_token: bool = True) -> ClientState:
    return look_at_client(client, wanted, has_token=has_token, project=None)


def set_up(home: Path, wanted: list[FileWish]) -> None:
    with (journal := Journal(home)).held():
        carry_out(make_plan(wanted, project=None), journal)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_is_missing_then_installed(client: str, tmp_path: Path) -> None:
    wanted = made_up(tmp_path / "home", client, KINDS[2])
    before = look(client, wanted)

    set_up(tmp_path / "home", wanted)
    after = look(client, wanted)

    assert (before.state, after.state) == (State.MISSING, State.INSTALLED)
    assert sum(after.marks.values()) > 5


def test_some_of_it_is_partly_installed(tmp_path: Path) -> None:
    wanted = made_up(tmp_path / "home", "codex", KINDS[0])

    set_up(tmp_path / "home", wanted[:1])

    assert look("codex", wanted).state is State.PARTLY


def test_a_broken_file_is_named_with_its_line(tmp_path: Path) -> None:
    wanted = made_up(tmp_path / "home", "claude", KINDS[0])
    wanted[0].path.write_text("{\n  oops\n}")

    state = look("claude", wanted)

    assert state.state is State.UNREADABLE
    assert (state.files[0].line, state.files[0].path) == (2, wanted[0].path)


def test_a_program_that_may_not_be_run_has_drifted(tmp_path: Path) -> None:
    wanted = made_up(tmp_path / "home", "cline", KINDS[0])
    set_up(tmp_path / "home", wanted)
    wanted[1].path.chmod(0o644)

    assert look("cline", wanted).state is State.DRIFTED
    set_up(tmp_path / "home", wanted)
    assert look("cline", wanted).state is State.INSTALLED


def test_what_only_a_person_sees_or_does_is_said(tmp_path: Path) -> None:
    codex = made_up(tmp_path / "codex", "codex", KINDS[0])
    assert look("codex", codex).trust is None
    set_up(tmp_path / "codex", codex)

    assert "/hooks" in str(look("codex", codex).trust)
    assert look("codex", codex).cannot == ["wake"]
    windsurf = look("windsurf", made_up(tmp_path / "windsurf", "windsurf", KINDS[0]))
    assert "no text" in str(windsurf.advisory)
    assert set(windsurf.cannot) >= {"inject", "continue"}
    cline = made_up(tmp_path / "cline", "cline", KINDS[0])
    assert ["token" in step for step in look("cline", cline).person] == [True]
    (later,) = look("cline", cline, has_token=False).person
    assert later.startswith("Should the server get a token")


def test_it_is_said_by_what_an_idle_session_is_woken_or_that_nothing_is_known(tmp_path: Path) -> None:
    woken = {
        client: look(client, made_up(tmp_path / client, client, KINDS[0])).woken
        for client in ("claude", "opencode", "copilot", "gemini", "droid")
    }

    assert {client: one.way for client, one in woken.items()} == {
        "claude": "asyncRewake",
        "opencode": "plugin",
        "copilot": "notification",
        "gemini": None,
        "droid": None,
    }
    assert woken["claude"].in_words().endswith("am hook claude Stop --wake (documented)")
    assert "am wait" in woken["copilot"].in_words()
    assert woken["gemini"].in_words() == "by nothing that is known: mail waits for its next turn (documented)"
    assert woken["droid"].in_words().endswith("(inferred)")


def test_a_watcher_that_is_missing_or_was_changed_is_seen_and_put_right(tmp_path: Path) -> None:
    wanted = made_up(tmp_path / "home", "claude", KINDS[2])
    set_up(tmp_path / "home", wanted)
    path = wanted[1].path
    whole = path.read_text()
    path.write_text(whole.replace('"asyncRewake": true', '"asyncRewake": false'))

    drifted = look("claude", wanted)
    path.write_text(whole.replace(" Stop --wake", " Stop --wakes"))
    reworded = look("claude", wanted)
    path.write_text(whole.replace('"asyncRewake": true', '"asyncRewake": false'))
    set_up(tmp_path / "home", wanted)

    assert [one.what for file in drifted.files for one in file.differences] == ["hook claude Stop --wake"]
    assert (drifted.state, reworded.state) == (State.DRIFTED, State.DRIFTED)
    assert sorted(one.what for file in reworded.files for one in file.differences) == [
        "hook claude Stop --wake",
        "runs am hook in other words (claude Stop)",
    ]
    assert path.read_text() == whole


def test_codex_is_not_asked_of_a_projects_hooks(tmp_path: Path) -> None:
    wanted = wishes(tmp_path, "codex", tmp_path)
    with (journal := Journal(tmp_path)).held():
        carry_out(make_plan(wanted, project=tmp_path), journal)
    asked: list[bool] = []

    def ask() -> None:
        asked.append(True)

    of_project = look_at_client("codex", wanted, has_token=True, project=tmp_path, read_trust=ask)
    at_home = look_at_client("codex", wanted, has_token=True, project=None, read_trust=ask)

    assert "not asked of a project's hooks" in str(of_project.trust)
    assert "could not be asked" in str(at_home.trust)
    assert len(asked) == 1


def test_servers_of_codex_in_one_line_are_named_with_line_reason_and_what_to_do(tmp_path: Path) -> None:
    wanted = made_up(tmp_path / "home", "codex", KINDS[0])
    wanted[0].path.parent.mkdir()
    wanted[0].path.write_text('model = "x"\nmcp_servers = { other = { command = "npx" } }\n')

    (file, _) = look("codex", wanted).files
    plan = make_plan(wanted, project=None)

    assert (file.state, file.line) == (State.UNREADABLE, 2)
    assert "written as one value" in str(file.reason)
    assert [(left.line, left.reason, left.hint) for left in plan.left_alone] == [(2, file.reason, file.hint)]
    assert "run am setup again" in file.hint


def test_what_would_wake_a_session_counts_once_our_line_for_it_is_there(tmp_path: Path) -> None:
    for client in ("claude", "opencode", "copilot"):
        wanted = made_up(tmp_path / client, client, KINDS[0])
        before = look(client, wanted)
        set_up(tmp_path / client, wanted)
        assert (before.woken.is_installed, look(client, wanted).woken.is_installed) == (False, True), client
    path = wishes(tmp_path / "claude", "claude")[1].path
    whole = path.read_text()
    path.write_text(whole.replace("hook claude PreToolUse", "hook claude Other"))
    assert look("claude", wishes(tmp_path / "claude", "claude")).woken.is_installed
    path.write_text(whole.replace('"asyncRewake": true', '"asyncRewake": false'))
    assert not look("claude", wishes(tmp_path / "claude", "claude")).woken.is_installed


def test_each_state_that_is_not_right_says_what_to_do_next(tmp_path: Path) -> None:
    wanted = made_up(tmp_path / "home", "cursor", KINDS[0])
    said = {(state := look("cursor", wanted)).state: state.next_step}
    set_up(tmp_path / "home", wanted[:1])
    said |= {(state := look("cursor", wanted)).state: state.next_step}
    set_up(tmp_path / "home", wanted)
    said |= {(state := look("cursor", wanted)).state: state.next_step}
    wanted[0].path.write_text(wanted[0].path.read_text().replace("/mcp", "/other"))
    said |= {(state := look("cursor", wanted)).state: state.next_step}
    wanted[0].path.write_text("{")
    said |= {(state := look("cursor", wanted)).state: state.next_step}

    assert said == {
        State.MISSING: "am setup --client cursor puts it there.",
        State.PARTLY: "am setup --client cursor puts there what is missing.",
        State.INSTALLED: None,
        State.DRIFTED: "am setup --client cursor puts it right.",
        State.UNREADABLE: "Mend what cannot be read, and run am setup --client cursor.",
    }
    assert state.files[0].hint == "Mend the line and run am setup again."
    (tmp_path / "an app").mkdir()
    of_project = look_at_client(
        "cursor", wishes(tmp_path, "cursor", tmp_path / "an app"), has_token=False, project=tmp_path / "an app"
    )
    assert f"--project '{tmp_path}/an app' puts it there" in str(of_project.next_step)
