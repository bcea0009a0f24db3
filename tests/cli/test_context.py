from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_agent_mail.cli.context import (
    CliContext,
    StoreUnfinished,
    load_context,
    read_client_settings,
    read_operator_token,
)
from mcp_agent_mail.cli.exit_codes import BadSettings
from mcp_agent_mail.core.settings.server import load_settings
from mcp_agent_mail.core.store_owner import SWAP_FILE
from mcp_agent_mail.store.engine.lock import StoreLock


def context_of(home: Path, **environ: str) -> CliContext:
    return CliContext(load_settings({"HOME": str(home), **environ}, cwd=home).settings)


@pytest.mark.parametrize(
    ("named", "url"),
    [
        ("http://mail.example:8765", "http://mail.example:8765"),
        ("http://mail.example:8765/mcp", "http://mail.example:8765"),
        ("http://mail.example:8765/api/", "http://mail.example:8765"),
        ("http://mail.example:8765/hub/agents/", "http://mail.example:8765/hub"),
        ("http://mail.example:8765/hub", "http://mail.example:8765/hub"),
    ],
)
def test_a_server_is_named_with_its_path_for_mcp_or_without(named: str, url: str, tmp_path: Path) -> None:
    assert context_of(tmp_path, AGENT_MAIL_URL=named, HTTP_PATH="/agents/").named_url() == url


def test_without_a_named_server_there_is_no_url(tmp_path: Path) -> None:
    assert context_of(tmp_path).named_url() is None


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8765"),
        ("localhost", "http://localhost:8765"),
        ("0.0.0.0", "http://127.0.0.1:8765"),
        ("::", "http://[::1]:8765"),
        ("::1", "http://[::1]:8765"),
        ("192.0.2.7", "http://192.0.2.7:8765"),
    ],
)
def test_an_address_to_listen_on_is_one_to_ask_at(host: str, url: str, tmp_path: Path) -> None:
    context = context_of(tmp_path, HTTP_HOST=host, HTTP_PORT="8765", HTTP_BEARER_TOKEN="a-token-of-good-length")

    assert context.settings_url() == url


def own(root: Path, url: str) -> None:
    (root / "server.json").write_text(json.dumps({"pid": 1, "url": url, "started": "now"}))


def test_the_operators_token_is_shown_to_the_owner_of_the_store_alone(tmp_path: Path) -> None:
    root = tmp_path / "store"
    context = context_of(tmp_path, STORAGE_ROOT=str(root), AGENT_MAIL_TOKEN="a-token-of-good-length")
    with StoreLock(root, root / "mail.sqlite3"):
        own(root, "http://127.0.0.1:8765")
        unwritten = context.bearer_token_for("http://127.0.0.1:8765")
        (root / "operator.token").write_text("amo_secret\n")
        owners = context.bearer_token_for("http://127.0.0.1:8765/mcp")
        others = [context.bearer_token_for(f"http://{host}") for host in ("127.0.0.1:8766", "mail.example:8765")]
    abandoned = context.bearer_token_for("http://127.0.0.1:8765")

    assert owners == "amo_secret"
    assert {unwritten, *others, abandoned} == {"a-token-of-good-length"}


def test_tokens_that_are_not_set_are_none(tmp_path: Path) -> None:
    context = context_of(tmp_path)

    assert (context.bearer_token_for("http://127.0.0.1:8765"), context.agent_token()) == (None, None)
    assert context_of(tmp_path, AGENT_MAIL_AGENT_TOKEN="amt_x").agent_token() == "amt_x"


def test_an_operators_token_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    missing = read_operator_token(tmp_path)
    (tmp_path / "operator.token").write_text(" \n")
    empty = read_operator_token(tmp_path)

    assert (missing, empty) == (None, None)


def test_a_store_that_nobody_owns_has_no_owner(tmp_path: Path) -> None:
    context = context_of(tmp_path)

    assert (context.owner(), context.owner_url(), context.store_exists()) == (None, None, False)


@pytest.fixture
def beside_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text("STORAGE_ROOT=store\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("beside_a_file")
def test_settings_that_lie_here_and_were_not_read_are_noticed_but_among_strangers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ours = load_context()
    said = capsys.readouterr().err
    strangers = load_context(is_among_strangers=True)
    unsaid = capsys.readouterr().err

    assert (ours.has_passed_over, strangers.has_passed_over) == (True, True)
    assert said.startswith("Notice: STORAGE_ROOT")
    assert unsaid == ""


def test_where_nothing_was_passed_over_nothing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert load_context().has_passed_over is False
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("beside_a_file")
@pytest.mark.parametrize(
    ("settings", "counted"),
    [({"HTTP_PORT": "99999"}, "1 setting cannot be used:"), ({"HTTP_PORT": "x", "AGENT_MAIL_URL": "x"}, "2 settings")],
)
def test_every_mistake_is_told_at_once(settings: dict[str, str], counted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(BadSettings) as by_command:
        load_context()
    with pytest.raises(BadSettings) as by_client:
        read_client_settings(None)

    for error in (by_command.value, by_client.value):
        assert error.message.startswith(counted)
        assert all(f"\n  {name}=" in error.message for name in settings)
        assert "Nothing was opened" in error.hint


def test_a_store_that_is_half_another_one_is_told_to_who_only_reads(tmp_path: Path) -> None:
    root = tmp_path / "store"
    context = context_of(tmp_path, STORAGE_ROOT=str(root))
    with StoreLock(root, root / "mail.sqlite3"):
        (root / SWAP_FILE).touch()
        with pytest.raises(StoreUnfinished, match="just now, by process"):
            context.store_exists()

    with pytest.raises(StoreUnfinished, match="was interrupted") as pending:
        context.store_exists()

    assert "am doctor repair --dry-run" in pending.value.hint
    assert context.may_own_store()
    (root / SWAP_FILE).unlink()
    assert not context.store_exists()
    assert not context.may_own_store()


def test_a_command_that_acts_as_an_agent_shows_the_operators_token_to_nobody(tmp_path: Path) -> None:
    given = {"AGENT_MAIL_AGENT_TOKEN": "amt_mine", "AGENT_MAIL_TOKEN": "the-servers"}
    person = context_of(tmp_path, STORAGE_ROOT=str(tmp_path), **given)
    mistaken = context_of(tmp_path, AGENT_MAIL_AGENT_TOKEN="amo_x", AGENT_MAIL_TOKEN="amo_x").as_agent()
    with StoreLock(tmp_path, tmp_path / "mail.sqlite3"):
        own(tmp_path, "http://127.0.0.1:9")
        (tmp_path / "operator.token").write_text("amo_lies-there")
        shown = [one.bearer_token_for("http://127.0.0.1:9") for one in (person, person.as_agent())]

    assert shown == ["amo_lies-there", "the-servers"]
    assert person.as_agent().agent_token() == "amt_mine"
    assert (mistaken.bearer_token_for("http://127.0.0.1:9"), mistaken.agent_token()) == (None, None)
