"""The running server as the guard finds it by its settings, and with what proof. How it is asked: tests/core."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcp_agent_mail.core.settings.client import ClientSettings, load_client_settings
from mcp_agent_mail.guard import server as guard


def _settings(root: Path, **named: str) -> ClientSettings:
    return load_client_settings({"HOME": str(root), "STORAGE_ROOT": str(root / "store"), **named})


@contextmanager
def _owned(root: Path, *, url: str | None) -> Iterator[None]:
    """A store whose lock a process holds, which says it is reached at `url`."""
    store = root / "store"
    (store / "projects").mkdir(parents=True)
    (store / "server.json").write_text(json.dumps({"pid": 1, "url": url}))
    with (store / "server.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def find_server(settings: ClientSettings) -> tuple[str, dict[str, str]] | None:
    """Its address, and what proves who asks."""
    found = guard.find_server(settings)
    return None if found is None else (found.url, found.headers)


BEARER = {"Authorization": "Bearer b"}
OWN = {"X-Agent-Token": "a"}


@pytest.mark.parametrize("path", ["", "/", "/mcp", "/mcp/", "/api", "/mail"])
def test_a_named_server_is_asked_beside_its_path_of_mcp(path: str, tmp_path: Path) -> None:
    settings = _settings(
        tmp_path,
        HTTP_PATH="/mail",
        AGENT_MAIL_URL=f"https://mail.example:8/base{path}",
        AGENT_MAIL_TOKEN="b",
        AGENT_MAIL_AGENT_TOKEN="a",
    )

    assert find_server(settings) == ("https://mail.example:8/base", {**BEARER, **OWN})


def test_the_owner_of_the_store_is_asked_as_its_operator(tmp_path: Path) -> None:
    settings = _settings(tmp_path, AGENT_MAIL_AGENT_TOKEN="a")
    with _owned(tmp_path, url="http://127.0.0.1:9"):
        nameless = find_server(settings)
        (tmp_path / "store" / "operator.token").write_text("operator\n")
        operator = find_server(settings)
        bearer = find_server(_settings(tmp_path, AGENT_MAIL_TOKEN="b", AGENT_MAIL_AGENT_TOKEN="a"))

    assert nameless == ("http://127.0.0.1:9", OWN)
    assert operator == ("http://127.0.0.1:9", {"Authorization": "Bearer operator"})
    assert bearer == ("http://127.0.0.1:9", {**BEARER, **OWN})


def test_an_operators_token_that_is_no_file_is_none(tmp_path: Path) -> None:
    with _owned(tmp_path, url="http://127.0.0.1:9"):
        (tmp_path / "store" / "operator.token").mkdir()

        assert find_server(_settings(tmp_path)) == ("http://127.0.0.1:9", {})


def test_an_owner_that_does_not_listen_yet_is_nobody_to_ask(tmp_path: Path) -> None:
    with _owned(tmp_path, url=None):
        assert find_server(_settings(tmp_path)) is None


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8765"),
        ("0.0.0.0", "http://127.0.0.1:8765"),
        ("::", "http://[::1]:8765"),
        ("10.1.2.3", "http://10.1.2.3:8765"),
    ],
)
def test_where_no_store_is_there_or_named_the_configured_address_is_asked_without_a_token(
    host: str, url: str, tmp_path: Path
) -> None:
    named = {"HTTP_HOST": host, "HTTP_PORT": "8765", "AGENT_MAIL_TOKEN": "b", "AGENT_MAIL_AGENT_TOKEN": "a"}

    assert find_server(load_client_settings({"HOME": str(tmp_path), **named})) == (url, {})


def test_where_the_store_that_was_named_is_not_there_nobody_is_asked(tmp_path: Path) -> None:
    assert find_server(_settings(tmp_path, AGENT_MAIL_TOKEN="b", AGENT_MAIL_AGENT_TOKEN="a")) is None


def test_beside_a_store_that_nobody_owns_no_server_is_looked_for(tmp_path: Path) -> None:
    (tmp_path / "store" / "projects").mkdir(parents=True)

    assert find_server(_settings(tmp_path)) is None


def test_what_proves_who_asks_can_be_taken_to_another_way_of_asking(tmp_path: Path) -> None:
    url = "http://127.0.0.1:9"
    with_both = guard.find_server(
        _settings(tmp_path, AGENT_MAIL_URL=url, AGENT_MAIL_TOKEN="b", AGENT_MAIL_AGENT_TOKEN="a")
    )
    with_none = guard.find_server(_settings(tmp_path, AGENT_MAIL_URL=url))

    assert with_both is not None
    assert with_none is not None
    assert (with_both.bearer_token, with_both.agent_token) == ("b", "a")
    assert (with_none.bearer_token, with_none.agent_token) == (None, None)
