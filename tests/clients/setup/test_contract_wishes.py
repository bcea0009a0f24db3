from __future__ import annotations

import json
import shlex
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail import __version__
from mcp_agent_mail.clients.contracts.reader import CLIENTS, read_contract
from mcp_agent_mail.clients.setup.contract_wishes import SetupSettings, plugin_text, wishes_of
from mcp_agent_mail.clients.setup.file_edit import differences, put_into
from mcp_agent_mail.clients.setup.places import Surroundings
from mcp_agent_mail.clients.setup.wishes import EntryWish, FileFormat, FileWish, Part, is_ours
from tests.clients.setup.homes import SETTINGS

HOME = Surroundings(home=Path("/home/me"), environ={})
SECRET = "s3cret-token"


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("project", [None, Path("/code/app")])
def test_the_files_are_those_of_the_contract(client: str, project: Path | None) -> None:
    files = read_contract(client)["files"]
    scope = "user" if project is None else "project"

    found = wishes_of(client, SETTINGS, HOME, project)

    for part in Part:
        row = files[part][scope]
        paths = {str(wish.path) for wish in found if wish.part is part}
        if row is None:
            assert paths == set()
            continue
        place = f"{project}/{row['path']}" if project else row["path"].replace("~", "/home/me")
        assert paths
        assert all(path == place or path.startswith(f"{place}/") for path in paths)


def hooks_of(client: str) -> list[FileWish]:
    return [wish for wish in wishes_of(client, SETTINGS, HOME, None) if wish.part is Part.HOOKS]


def installed_of(client: str) -> list[str]:
    return [name for name, event in read_contract(client)["events"].items() if event["install"]]


@pytest.mark.parametrize("client", [client for client in CLIENTS if client not in ("opencode", "cline", "amp")])
def test_every_event_that_is_installed_runs_am_by_its_absolute_path(client: str) -> None:
    (wish,) = hooks_of(client)
    text = json.dumps(wish.to_json())

    watched = ["Stop --wake"] if client == "claude" else []
    assert [hook.mark for hook in wish.hooks] == [f"hook {client} {event}" for event in installed_of(client) + watched]
    assert text.count(f"{shlex.quote(SETTINGS.am)} hook {client} ") == len(wish.hooks)
    assert __version__ not in text


def test_claude_starts_a_watcher_at_the_end_of_a_turn() -> None:
    (wish,) = hooks_of("claude")

    first, second = [hook for hook in wish.hooks if hook.path == ["hooks", "Stop"]]

    command = f"{shlex.quote(SETTINGS.am)} hook claude Stop"
    assert first.item == {"hooks": [{"type": "command", "command": command, "timeout": 5}]}
    watcher = {"type": "command", "command": f"{command} --wake", "timeout": 86_400, "asyncRewake": True}
    assert second.item == {"hooks": [watcher]}
    assert is_ours(watcher, second.mark)
    assert not is_ours(watcher, first.mark)


def test_copilot_tells_mail_of_no_notification_but_that_a_shell_has_ended() -> None:
    (wish,) = hooks_of("copilot")

    (found,) = [hook.item for hook in wish.hooks if hook.path == ["hooks", "notification"]]

    assert found["matcher"] == "shell_completed|shell_detached_completed"
    assert sum("matcher" in hook.item for hook in wish.hooks) == 1


def test_a_client_that_runs_programs_gets_one_for_each_event() -> None:
    wishes = hooks_of("cline")

    assert [wish.path.name for wish in wishes] == installed_of("cline")
    assert all(wish.is_executable for wish in wishes)
    assert all(f"exec {shlex.quote(SETTINGS.am)} hook cline" in (wish.content or "") for wish in wishes)


@pytest.mark.parametrize("client", ["opencode", "amp"])
def test_a_client_that_loads_a_plugin_gets_one(client: str) -> None:
    (wish,) = hooks_of(client)

    assert f"const AM = {json.dumps(SETTINGS.am)}\n" in (wish.content or "")
    assert __version__ not in (wish.content or "")


@pytest.mark.parametrize("client", CLIENTS)
def test_a_token_is_named_by_its_variable_and_only_where_there_is_one(
    client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_MAIL_TOKEN", SECRET)
    (mcp,) = [wish for wish in wishes_of(client, SETTINGS, HOME, None) if wish.part is Part.MCP]
    (without,) = [
        wish for wish in wishes_of(client, replace(SETTINGS, has_token=False), HOME, None) if wish.part is Part.MCP
    ]

    text, bare = json.dumps(mcp.to_json()), json.dumps(without.to_json()["entries"][0]["value"])

    assert SECRET not in text
    assert ("AGENT_MAIL_TOKEN" in text) == (read_contract(client)["token"]["reference"] is not None)
    assert "AGENT_MAIL_TOKEN" not in bare
    assert "Bearer" not in bare
    assert SETTINGS.url in bare


def test_a_path_of_any_letters_is_one_word_of_a_plugin() -> None:
    odd = SetupSettings(am='/a "b"\\c/am', url="", has_token=False)

    line = next(line for line in plugin_text("opencode", odd.am).split("\n") if line.startswith("const AM = "))

    assert json.loads(line.removeprefix("const AM = ")) == odd.am


@pytest.mark.parametrize("has_token", [True, False])
def test_clients_that_share_a_file_of_a_project_leave_each_other_in_peace(has_token: bool, tmp_path: Path) -> None:
    around = Surroundings(home=tmp_path, environ={})
    everybody, alone = (
        [
            wish
            for client in CLIENTS
            for wish in wishes_of(client, replace(SETTINGS, has_token=has_token or is_other), around, tmp_path)
        ]
        for is_other in (True, False)
    )
    for wish in everybody:
        held = wish.path.read_bytes() if wish.path.exists() else None
        wish.path.parent.mkdir(parents=True, exist_ok=True)
        wish.path.write_bytes(put_into(held, [wish]))

    for wish in [*everybody, *alone]:
        assert differences(wish.path.read_bytes(), wish) == []


@pytest.mark.parametrize("client", CLIENTS)
def test_in_a_project_our_entry_holds_nothing_foreign_and_at_home_it_may(client: str, tmp_path: Path) -> None:
    around = Surroundings(home=tmp_path, environ={})
    for project in (None, tmp_path):
        for wish in wishes_of(client, SETTINGS, around, project):
            if wish.part is Part.MCP:
                assert (wish.entries[0].at_most is None) is (project is None)


RUNS_OR_LEADS = {
    "headersHelper": "evil",
    "command": "evil",
    "args": ["x"],
    "env": {"NODE_OPTIONS": "x"},
    "url": "http://elsewhere/mcp",
    "httpUrl": "http://elsewhere/mcp",
    "serverUrl": "http://elsewhere/mcp",
    "headers": {"X-More": "1"},
    "http_headers": {"X-More": "1"},
}


def entry_of(client: str, project: Path | None, home: Path) -> FileWish | None:
    wanted = wishes_of(client, SETTINGS, Surroundings(home=home, environ={}), project)
    return next((wish for wish in wanted if wish.part is Part.MCP), None)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("is_project", [False, True])
def test_a_persons_number_flag_or_list_is_kept_and_what_runs_or_leads_elsewhere_is_not(
    client: str, is_project: bool, tmp_path: Path
) -> None:
    wish = entry_of(client, tmp_path if is_project else None, tmp_path)
    if wish is None:
        return
    (entry,) = wish.entries
    chosen = {"number": 7, "flag": True, "texts": ["one"]}
    bare = replace(wish, entries=[replace(entry, value={name: chosen[kind] for name, kind in entry.free.items()})])
    held = put_into(put_into(None, [bare]), [wish])

    assert differences(held, wish) == []
    assert [name for name, kind in entry.free.items() if _entry_in(held, wish)[name] != chosen[kind]] == []
    assert not {*RUNS_OR_LEADS, "enabled", "disabled"} & entry.free.keys()
    for name, value in RUNS_OR_LEADS.items():
        if not is_project and (name == "headers" or name not in (*entry.value, *entry.drop)):
            continue  # At home an entry may have more, and more headers.
        hostile = put_into(held, [replace(wish, entries=[EntryWish(path=entry.path, value={name: value})])])
        assert any(name in one.what for one in differences(hostile, wish)), name
        assert _entry_in(put_into(hostile, [wish]), wish) == _entry_in(held, wish), name


# Plain values.
def _entry_in(held: bytes, wish: FileWish) -> Any:
    found = tomllib.loads(held.decode()) if wish.file_format is FileFormat.TOML else json.loads(held)
    for name in wish.entries[0].path:
        found = found[name]
    return found


def test_what_lets_tools_run_unasked_is_no_projects_to_say() -> None:
    for client in CLIENTS:
        row = read_contract(client)["files"]["mcp"]["project"]
        assert not {"trust", "autoApprove", "tools"} & (row or {"free": {}})["free"].keys()
