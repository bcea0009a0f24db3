from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail import __version__
from mcp_agent_mail.clients.contracts.reader import CLIENTS, read_contract
from mcp_agent_mail.clients.setup.contract_wishes import Settings, plugin_text, wishes_of
from mcp_agent_mail.clients.setup.found import Surroundings
from mcp_agent_mail.clients.setup.wishes import Part
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


@pytest.mark.parametrize("client", CLIENTS)
def test_every_event_that_is_installed_runs_am_by_its_absolute_path_and_without_a_version(client: str) -> None:
    wishes = [wish for wish in wishes_of(client, SETTINGS, HOME, None) if wish.part is Part.HOOKS]
    text = json.dumps([wish.to_json() for wish in wishes])

    installed = [name for name, event in read_contract(client)["events"].items() if event["install"]]
    marks = [hook.mark for wish in wishes for hook in wish.hooks]

    assert __version__ not in text
    if marks:
        assert marks == [f"hook {client} {event}" for event in installed]
        assert text.count(f"{shlex.quote(SETTINGS.am)} hook {client} ") == len(installed)
    elif installed:
        assert [wish.path.name for wish in wishes] == installed
        assert all(wish.is_executable and shlex.quote(SETTINGS.am) in (wish.content or "") for wish in wishes)
    else:
        assert [json.dumps(SETTINGS.am) in (wish.content or "") for wish in wishes] == [True]


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
    odd = Settings(am='/a "b"\\c/am', url="", has_token=False)

    line = next(line for line in plugin_text("opencode", odd.am).split("\n") if line.startswith("const AM = "))

    assert json.loads(line.removeprefix("const AM = ")) == odd.am
