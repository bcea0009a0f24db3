from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_agent_mail.core.settings.client import ClientSettings, load_client_settings, read_client_settings
from mcp_agent_mail.core.settings.rows import CLIENT_ROWS
from mcp_agent_mail.core.settings.server import Settings, load_settings
from mcp_agent_mail.core.settings.sources import SettingsError

_EXAMPLES = {
    "STORAGE_ROOT": "~/elsewhere",
    "HTTP_HOST": "[::1]",
    "HTTP_PORT": "9000",
    "HTTP_PATH": "/mail/",
    "AGENT_MAIL_ENV_FILE": "",
    "AGENT_MAIL_URL": "http://127.0.0.1:9000/mail",
    "AGENT_MAIL_TOKEN": "'a-token'",
    "AGENT_MAIL_AGENT_TOKEN": "amt_x",
    "AGENT_MAIL_PROJECT": "../code",
    "AGENT_NAME": "BlueLake",
    "AGENT_MAIL_GUARD_MODE": "Advisory",
    "AGENT_MAIL_GUARD_REQUIRE_NAME": "1",
    "AGENT_MAIL_GUARD_ON_ERROR": "block",
    "AGENT_MAIL_BYPASS": "yes",
    "AGENT_MAIL_INTERVAL": "60",
    "AGENTMAIL_NAME": "agent 1",
    "CLAUDE_MAILBOX_PORTS": "4000,5000",
    "CLAUDE_MAILBOX_URL": "http://127.0.0.1:4000",
    "MCP_AGENT_MAIL_WINDOW_ID": "3F0C1F52-58a6-4c8e-9a0a-5d1b6f2a7c11",
}


def test_there_is_one_attribute_per_client_row_with_the_servers_type() -> None:
    of_server = {field.name: field.type for field in dataclasses.fields(Settings)}
    of_client = {field.name: field.type for field in dataclasses.fields(ClientSettings)}

    assert of_client.pop("names_store") == "bool"
    assert list(of_client) == [row.attribute for row in CLIENT_ROWS]
    assert of_client == {name: of_server[name] for name in of_client}
    assert _EXAMPLES.keys() == {row.name for row in CLIENT_ROWS}


@pytest.mark.parametrize("text", ["", "\n".join(f"{name}={value}" for name, value in _EXAMPLES.items())])
def test_the_client_reads_what_the_server_reads(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mail.env"
    path.write_text(text)
    environ = {"HOME": str(tmp_path)}

    client = load_client_settings(environ, env_file=path)

    server = load_settings(environ, cwd=tmp_path, env_file=path).settings
    read = dataclasses.asdict(client)
    assert read.pop("names_store") == bool(text)
    assert read == {name: getattr(server, name) for name in read}


def test_the_env_file_of_the_repository_one_stands_in_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text("AGENT_MAIL_URL=http://evil.example\nexport HTTP_PORT=1\n")
    monkeypatch.chdir(tmp_path)

    settings = load_client_settings({"HOME": str(tmp_path / "home")})

    assert (settings.agent_mail_url, settings.http_port) == (None, 8765)


@pytest.mark.parametrize(("text", "mode"), [("adv", "warn"), ("ADVISORY", "warn"), ("Block", "block")])
def test_the_guards_mode_has_other_words_for_warn(text: str, mode: str) -> None:
    settings = load_client_settings({"AGENT_MAIL_GUARD_MODE": text})

    assert settings.agent_mail_guard_mode == mode


def test_the_client_tells_all_mistakes_at_once() -> None:
    with pytest.raises(SettingsError) as refused:
        load_client_settings({"HTTP_PORT": "x", "AGENT_NAME": "?", "LOG_LEVEL": "not the client's business"})

    assert [mistake.name for mistake in refused.value.mistakes] == ["HTTP_PORT", "AGENT_NAME"]


def test_what_must_go_on_reads_defaults_in_place_of_mistakes_and_a_name_that_nobody_has() -> None:
    read = read_client_settings({"HTTP_PORT": "x", "AGENT_NAME": "Blue Lake", "AGENT_MAIL_GUARD_MODE": "warn"})

    assert read.settings == dataclasses.replace(
        load_client_settings({"AGENT_MAIL_GUARD_MODE": "warn"}), agent_name="'Blue Lake'"
    )
    assert [mistake.name for mistake in read.mistakes] == ["HTTP_PORT"]
    assert [mistake.name for mistake in read.name_mistakes] == ["AGENT_NAME"]


def test_a_name_that_counts_is_not_put_aside_for_a_mistake_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "mail.env").write_text("export AGENT_NAME=RedStone\n")
    environ = {"AGENT_MAIL_ENV_FILE": str(tmp_path / "mail.env")}

    assert read_client_settings({**environ, "AGENT_NAME": "BlueLake"}).settings.agent_name == "BlueLake"
    assert read_client_settings(environ).settings.agent_name == "'RedStone'"


@pytest.mark.parametrize("name", ["AGENT_NAME", "AGENT_MAIL_AGENT", "AGENT_MAIL_PROJECT"])
def test_what_a_client_left_unfilled_counts_as_not_given(name: str) -> None:
    assert load_client_settings({name: "${NAME:-}"}) == load_client_settings({})


def test_the_client_imports_the_standard_library_only() -> None:
    code = (
        "import sys; import mcp_agent_mail.core.settings.client; "
        "print(*sorted({name.split('.')[0] for name in sys.modules} - sys.stdlib_module_names - {'mcp_agent_mail'}))"
    )
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}

    finished = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, env=environ
    )

    assert finished.stdout.split() == ["__main__"] or finished.stdout.split() == []
