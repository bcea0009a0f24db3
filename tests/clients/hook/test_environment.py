"""The hook's quick reading of settings is the client's own reading, and both find the same server."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcp_agent_mail.clients.hook.environment import HookSettings
from mcp_agent_mail.core.running_server import find_server
from mcp_agent_mail.core.settings.client import read_client_settings
from mcp_agent_mail.guard.server import find_server as find_guards_server
from tests.clients.hook_program import HookHome
from tests.clients.hook_server import hook_server

UUID = "3f0c1f52-58a6-4c8e-9a0a-5d1b6f2a7c11"

ENVIRONMENTS: list[dict[str, str]] = [
    {},
    {"STORAGE_ROOT": "~/elsewhere"},
    {"STORAGE_ROOT": "relative"},
    {"STORAGE_ROOT": "~other/x"},
    {"STORAGE_ROOT": " "},
    {"MCP_MAIL_STORE": "/former", "HTTP_PORT": "9000"},
    {"HTTP_HOST": "0.0.0.0", "HTTP_PORT": "1"},
    {"HTTP_HOST": "[::1]", "HTTP_PORT": "70000"},
    {"HTTP_HOST": "LOCALHOST"},
    {"HOST": "my-machine", "PORT": "9001"},
    {"HOST": "127.0.0.2"},
    {"HTTP_PATH": "/elsewhere/", "AGENT_MAIL_URL": "http://h:1/elsewhere"},
    {"AGENT_MAIL_URL": "http://h:1/mcp/"},
    {"AGENT_MAIL_URL": "http://h:1/api"},
    {"AGENT_MAIL_URL": "https://h/deep/mcp"},
    {"AGENT_MAIL_URL": "ftp://h"},
    {"AGENT_MAIL_TOKEN": "secret", "AGENT_MAIL_AGENT_TOKEN": "own"},
    {"INTEGRATION_BEARER_TOKEN": "former"},
    {"AGENT_MAIL_TOKEN": "two words"},
    {"AGENT_MAIL_PROJECT": "/code/app"},
    {"AGENT_MAIL_PROJECT": "~/app"},
    {"AGENT_MAIL_PROJECT": "./app"},
    {"AGENT_MAIL_PROJECT": "app-1234"},
    {"AGENT_MAIL_PROJECT": "$PROJECT"},
    {"AGENT_NAME": "BlueLake"},
    {"AGENT_NAME": "${AGENT_NAME:-}"},
    {"AGENT_MAIL_AGENT": "RedStone"},
    {"AGENT_MAIL_INTERVAL": "0"},
    {"AGENT_MAIL_INTERVAL": "3601"},
    {"AGENT_MAIL_INTERVAL": "soon"},
    {"MCP_AGENT_MAIL_WINDOW_ID": UUID},
    {"MCP_AGENT_MAIL_WINDOW_ID": "no"},
    {"HOME": ""},
    {"HOME": "rel"},
    {"HOME": "rel", "STORAGE_ROOT": "~/store"},
]

FILES = [
    "AGENT_NAME=GreenHill\nHTTP_PORT=9002\n",
    "\ufeffAGENT_NAME='GreenHill'\r\n# AGENT_NAME=No\r\nSTORAGE_ROOT=beside\r\n",
    "export AGENT_NAME=No\nAGENT_MAIL_PROJECT=here # a comment\nAGENT_MAIL_INTERVAL=5\n",
    'AGENT_MAIL_TOKEN="quoted\nAGENT_NAME = Spaced \nAGENT_NAME=Last\nnothing\n',
    "HOST=somewhere\nPORT=9003\nAGENT_MAIL_PROJECT=./below\n",
]


def _compare(environ: dict[str, str]) -> None:
    mine, theirs = HookSettings(environ), read_client_settings(environ).settings

    name = theirs.agent_name if theirs.agent_name and not theirs.agent_name.startswith("'") else None
    token, own = theirs.agent_mail_token, theirs.agent_mail_agent_token
    assert {
        "root": mine.root,
        "names_store": mine.names_store,
        "host": mine.host,
        "port": mine.port,
        "url": mine.url,
        "token": mine.token,
        "agent_token": mine.agent_token,
        "project": mine.project,
        "agent": mine.agent,
        "interval_s": mine.interval_s,
        "window": mine.window,
    } == {
        "root": str(theirs.storage_root),
        "names_store": theirs.names_store,
        "host": theirs.http_host,
        "port": theirs.http_port,
        "url": theirs.agent_mail_url,
        "token": token.reveal() if token else None,
        "agent_token": own.reveal() if own else None,
        "project": theirs.agent_mail_project,
        "agent": name,
        "interval_s": theirs.agent_mail_interval,
        "window": theirs.mcp_agent_mail_window_id,
    }


@pytest.mark.parametrize("given", ENVIRONMENTS, ids=str)
def test_the_environment_is_read_as_clients_read_it(given: dict[str, str], tmp_path: Path) -> None:
    _compare({"HOME": str(tmp_path), **given})


@pytest.mark.parametrize("text", FILES)
@pytest.mark.parametrize("where", ["home", "named", "relative"])
def test_the_env_file_is_read_as_clients_read_it(
    text: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / (".config/mcp-agent-mail/.env" if where == "home" else "own.env")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    named = {"named": str(file), "relative": "own.env"}.get(where)

    _compare({"HOME": str(tmp_path), **({"AGENT_MAIL_ENV_FILE": named} if named else {})})


@pytest.mark.parametrize("text", [b"\xff\xfe", b"A=" + b"x" * (1 << 20), None])
def test_an_env_file_that_cannot_be_read_says_nothing(text: bytes | None, tmp_path: Path) -> None:
    file = tmp_path / ".config" / "mcp-agent-mail" / ".env"
    file.parent.mkdir(parents=True)
    if text is None:
        file.mkdir()
    else:
        file.write_bytes(text)

    _compare({"HOME": str(tmp_path)})


# --- The server ---


@contextmanager
def _owned(root: Path, owner: object) -> Iterator[None]:
    root.mkdir(parents=True)
    (root / "server.json").write_text(json.dumps(owner))
    descriptor = os.open(root / "server.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(descriptor)


def _same_server(environ: dict[str, str]) -> str | None:
    mine, theirs = find_server(HookSettings(environ)), find_guards_server(read_client_settings(environ).settings)
    assert (mine is None) == (theirs is None)
    if mine is None or theirs is None:
        return None
    assert (mine.url, mine.headers) == (theirs.url, theirs.headers)
    return theirs.url


@pytest.mark.parametrize("given", [one for one in ENVIRONMENTS if "MCP_AGENT_MAIL_WINDOW_ID" not in one], ids=str)
def test_the_same_server_is_found(given: dict[str, str], tmp_path: Path) -> None:
    names_store = any(given.get(name, "").strip() for name in ("STORAGE_ROOT", "MCP_MAIL_STORE"))

    assert (_same_server({"HOME": str(tmp_path), **given}) is None) == names_store


@pytest.mark.parametrize("token", [None, "given"])
@pytest.mark.parametrize("owner", [{"url": "http://127.0.0.1:9"}, {"pid": 3}, {"url": 3}, []])
def test_the_owner_of_the_store_is_asked_with_the_operators_token(
    token: str | None, owner: object, tmp_path: Path
) -> None:
    root = tmp_path / "store"
    environ = {"HOME": str(tmp_path), "STORAGE_ROOT": str(root), **({"AGENT_MAIL_TOKEN": token} if token else {})}
    with _owned(root, owner):
        without = _same_server(environ)
        (root / "operator.token").write_text("operators\n")

        assert _same_server(environ) == without


def test_a_store_that_nobody_serves_has_no_server(tmp_path: Path) -> None:
    (tmp_path / "store" / "projects").mkdir(parents=True)

    assert _same_server({"HOME": str(tmp_path), "STORAGE_ROOT": str(tmp_path / "store")}) is None


def test_whoever_listens_at_the_settings_port_gets_no_token_and_nothing_where_a_store_was_named(tmp_path: Path) -> None:
    secrets = {"AGENT_MAIL_TOKEN": "secret-one", "AGENT_MAIL_AGENT_TOKEN": "secret-two"}
    with hook_server() as answers:
        home = HookHome(tmp_path, {"AGENT_NAME": "BlueLake", "HTTP_PORT": str(answers.port), **secrets})
        home.play("claude", "UserPromptSubmit")
        heads = list(answers.heads)
        home.play("claude", "UserPromptSubmit", STORAGE_ROOT=str(tmp_path / "missing"))

    assert len(heads) == 1
    assert "secret" not in heads[0]
    assert answers.heads == heads


@pytest.mark.timeout(30)
def test_an_env_file_that_is_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "env")

    found = HookSettings(
        {"HOME": str(tmp_path), "AGENT_MAIL_ENV_FILE": str(tmp_path / "env"), "AGENT_NAME": "BlueLake"}
    )

    assert found.agent == "BlueLake"
