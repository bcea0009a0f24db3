from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_agent_mail.core.settings.env_file import MAX_BYTES
from mcp_agent_mail.core.settings.sources import ENV_FILE_NAME, SettingFindings, SettingsError, open_sources
from tests.core.machine import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_command_line_beats_the_environment_which_beats_the_file(machine: Machine) -> None:
    path = machine.write_env("HTTP_PORT=1\nHTTP_PATH=/file\nLOG_LEVEL=ERROR\n")

    loaded = machine.load({"HTTP_PORT": "2", "HTTP_PATH": "/environment"}, overrides={"HTTP_PORT": "3"})

    assert (loaded.settings.http_port, loaded.settings.http_path, loaded.settings.log_level) == (
        3,
        "/environment",
        "ERROR",
    )
    assert [loaded.sources[name].place for name in ("HTTP_PORT", "HTTP_PATH", "LOG_LEVEL", "HTTP_HOST")] == [
        "command line",
        "environment",
        f"{path}:3",
        "default",
    ]


def test_an_empty_value_counts_as_not_given(machine: Machine) -> None:
    machine.write_env("HTTP_PORT=1\nHTTP_PATH=\n")

    settings = machine.load({"HTTP_PORT": " "}, overrides={"HTTP_PORT": ""}).settings

    assert (settings.http_port, settings.http_path) == (1, "/mcp")


def test_the_environment_handed_in_is_the_only_one(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.write_env("HTTP_PORT=1\n")
    monkeypatch.setenv("HTTP_PORT", "2")

    assert machine.settings().http_port == 1


def test_relative_paths_start_at_their_env_file_and_else_at_the_current_folder(machine: Machine) -> None:
    (machine.home / "mail.env").write_text("STORAGE_ROOT=here\n")

    from_file = machine.load(env_file=machine.home / "mail.env").settings.storage_root

    assert from_file == machine.home / "here"
    assert machine.settings(STORAGE_ROOT="here").storage_root == machine.cwd / "here"
    assert machine.settings(STORAGE_ROOT="~/here").storage_root == machine.home / "here"


def _config_home(machine: Machine, text: str) -> None:
    folder = machine.home / ".config" / "mcp-agent-mail"
    folder.mkdir(parents=True)
    (folder / ".env").write_text(text)


def test_only_one_env_file_is_read_and_the_first_that_counts(machine: Machine) -> None:
    given, named = machine.home / "given.env", machine.home / "named.env"
    given.write_text("HTTP_PORT=1\n")
    named.write_text("HTTP_PORT=2\n")
    machine.plant_env("HTTP_PORT=3\n")
    _config_home(machine, "HTTP_PORT=4\nLOG_LEVEL=ERROR\n")
    environ = {"AGENT_MAIL_ENV_FILE": str(named)}

    ports = [machine.load(environ, env_file=given).settings.http_port, machine.load(environ).settings.http_port]
    assert machine.load(environ).settings.log_level == "INFO"
    ports.append(machine.settings().http_port)

    assert ports == [1, 2, 4]


def test_the_env_file_of_the_current_folder_is_not_read_and_mentioned_once(machine: Machine) -> None:
    machine.plant_env(
        "HTTP_HOST=0.0.0.0\nHTTP_BEARER_TOKEN=of-somebody-elses-choosing\nAGENT_MAIL_URL=http://evil.example\n"
    )

    loaded = machine.load()

    assert (loaded.settings.http_host, loaded.settings.agent_mail_url) == ("127.0.0.1", None)
    assert [notice.name for notice in loaded.notices] == ["HTTP_HOST, HTTP_BEARER_TOKEN, AGENT_MAIL_URL"]
    assert "AGENT_MAIL_ENV_FILE=.env" in loaded.notices[0].message
    assert loaded.passed_over == loaded.notices[0]


def test_of_many_settings_that_were_not_read_three_are_named_and_the_store_first(machine: Machine) -> None:
    machine.plant_env("HTTP_PORT=1\nHTTP_PATH=/x\nHTTP_PORT=2\nHTTP_HOST=127.0.0.1\nDEBUG=1\nSTORAGE_ROOT=store\n")

    assert machine.load().notices[0].name == "STORAGE_ROOT, HTTP_PORT, HTTP_PATH and 1 more"


def test_the_env_file_of_the_current_folder_counts_when_it_is_named_and_is_not_mentioned(machine: Machine) -> None:
    path = machine.write_env("HTTP_PORT=3\n")

    loaded = machine.load(env_file=path)

    assert (loaded.settings.http_port, loaded.notices) == (3, ())


def test_an_endless_env_file_of_the_current_folder_is_passed_over(machine: Machine) -> None:
    machine.plant_env("HTTP_PORT=3\n" + "#" * MAX_BYTES)

    assert machine.notices() == []


def test_a_parents_env_file_is_not_read(machine: Machine) -> None:
    (machine.cwd.parent / ".env").write_text("HTTP_PORT=1\n")

    assert machine.settings().http_port == 8765


@pytest.mark.parametrize(
    "text",
    [
        "DATABASE_URL=postgresql://x/y\nPORT=1\nHOST=127.0.0.1\nLOG_LEVEL=loud\nGIT_AUTHOR_NAME=x\nOTEL_SERVICE_NAME=y\n",
        "OPENAI_API_KEY=sk-1\nexport FOO=1\nJWT_SECRET=x\nsomething else\n",
        "# HTTP_PORT=1\n",
    ],
)
def test_another_projects_env_file_in_the_current_folder_is_left_alone(text: str, machine: Machine) -> None:
    machine.plant_env(text)
    _config_home(machine, "HTTP_PORT=4\n")

    loaded = machine.load()

    assert (loaded.settings.http_port, loaded.settings.log_level, loaded.notices) == (4, "INFO", ())


def test_a_shared_env_file_is_read_and_its_other_lines_are_not_our_business(machine: Machine) -> None:
    machine.write_env("HTTP_PORT=1\nexport FOO=1 # comment\nFOO=1\nFOO=2\nDJANGO_KEY=x\njust words\n")

    loaded = machine.load()

    assert (loaded.settings.http_port, loaded.notices) == (1, ())


def test_an_env_folder_is_no_env_file(machine: Machine) -> None:
    (machine.cwd / ".env").mkdir()

    assert machine.settings().http_port == 8765


def test_a_named_env_file_that_cannot_be_read_is_a_mistake(machine: Machine) -> None:
    with pytest.raises(SettingsError) as refused:
        machine.load(env_file=Path("missing.env"))

    assert [(mistake.name, mistake.place, mistake.value) for mistake in refused.value.mistakes] == [
        ("--env-file", "command line", "'missing.env'")
    ]


def test_an_env_file_that_is_no_text_is_passed_over_with_a_warning(machine: Machine) -> None:
    _config_home(machine, "")
    (machine.home / ".config" / "mcp-agent-mail" / ".env").write_bytes(b"HTTP_PORT=\xff\n")

    assert machine.notices() == [("warning", ".env")]


def test_the_files_own_name_counts_in_the_environment_only(machine: Machine) -> None:
    machine.write_env("HTTP_PORT=1\nAGENT_MAIL_ENV_FILE=/no/such\n")

    loaded = machine.load()

    assert loaded.settings.agent_mail_env_file is None
    assert [notice.name for notice in loaded.notices] == ["AGENT_MAIL_ENV_FILE"]


@pytest.mark.timeout(30)
def test_a_fifo_for_a_file_is_a_mistake_where_it_was_named_and_passed_over_at_home(tmp_path: Path) -> None:
    at_home = tmp_path / ".config" / "mcp-agent-mail" / ".env"
    at_home.parent.mkdir(parents=True)
    os.mkfifo(at_home)
    os.mkfifo(tmp_path / "mail.env")

    named, found = SettingFindings(), SettingFindings()
    open_sources({"HOME": "/", ENV_FILE_NAME: "mail.env"}, named, overrides={}, env_file=None, cwd=tmp_path)
    open_sources({"HOME": str(tmp_path)}, found, overrides={}, env_file=None, cwd=None)

    (mistake,) = named.mistakes
    (warning,) = found.notices
    assert mistake.value == "'mail.env'"
    assert "no ordinary file" in mistake.hint
    assert "name a file" in mistake.hint
    assert (warning.place, warning.level) == (str(at_home), "warning")
    assert "passed over: no ordinary file" in warning.message
