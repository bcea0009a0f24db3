from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.clients.contracts.reader import CLIENTS
from mcp_agent_mail.clients.setup.contract_wishes import wishes_of
from mcp_agent_mail.clients.setup.places import PLACES, Surroundings, is_known
from tests.clients.setup.homes import SETTINGS, wishes


def test_every_client_has_its_place() -> None:
    assert tuple(PLACES) == CLIENTS


def test_a_client_is_found_by_its_folder_or_its_program(tmp_path: Path) -> None:
    (tmp_path / ".codex").mkdir()
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "cursor-agent").write_text("")
    (programs / "cursor-agent").chmod(0o755)
    (programs / "droid").write_text("not to be run")

    found = Surroundings(home=tmp_path, environ={"PATH": str(programs)}).find_clients()

    assert found == ["codex", "cursor"]


def test_a_variable_moves_the_folder_of_a_client(tmp_path: Path) -> None:
    around = Surroundings(
        home=Path("/home/me"),
        environ={"CODEX_HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": "/else", "COPILOT_HOME": "relative"},
    )

    assert around.find_clients() == ["codex"]
    assert around.user_path("codex", "~/.codex/config.toml") == tmp_path / "config.toml"
    assert around.user_path("claude", "~/.claude/settings.json") == Path("/else/settings.json")
    assert around.user_path("claude", "~/.claude.json") == Path("/else/.claude.json")
    assert around.user_path("copilot", "~/.copilot/mcp-config.json") == Path("/home/me/.copilot/mcp-config.json")
    assert around.user_path("cline", "~/Documents/Cline/Hooks") == Path("/home/me/Documents/Cline/Hooks")


@pytest.mark.parametrize("client", CLIENTS)
def test_what_we_write_is_known_and_nothing_else(client: str, tmp_path: Path) -> None:
    project = tmp_path / "app"
    moved = {name: str(tmp_path / "moved") for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME")}
    around = Surroundings(home=tmp_path, environ=moved)
    written = [
        *wishes(tmp_path, client),
        *wishes(tmp_path, client, project),
        *wishes_of(client, SETTINGS, around, None),
    ]

    for wish in written:
        assert is_known(wish, tmp_path)
        for other in (wish.path.with_name("authorized_keys"), Path("/etc/cron.d/x"), project / ".." / wish.path.name):
            assert not is_known(replace(wish, path=other), tmp_path)
        assert not is_known(replace(wish, client="emacs"), tmp_path)
    if PLACES[client].variable is None:
        for wish in wishes(tmp_path / "elsewhere", client):
            assert not is_known(wish, tmp_path)
