from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.clients.contracts.reader import CLIENTS
from mcp_agent_mail.clients.setup.places import PLACES, Surroundings


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
