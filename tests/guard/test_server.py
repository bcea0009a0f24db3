"""The running server as the guard asks it: where it is, what it is told, and everything that may answer."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcp_agent_mail.core.settings.client import ClientSettings, load_client_settings
from mcp_agent_mail.guard import server as guard_server
from mcp_agent_mail.guard.server import Deadline, NoAnswer, Refused, ServerAt, find_server, post
from tests.guard.answering import Answering, answer, answering

LONG_S = 60.0


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


def _post(at: Answering, *, within_s: float = LONG_S, path: str = "", **tokens: str) -> object:
    return post(ServerAt(url=at.url + path, **tokens), "/guard/check", {"a": 1}, Deadline(within_s))


# --- Where it is ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["", "/", "/mcp", "/mcp/", "/api", "/mail"])
def test_a_named_server_is_asked_beside_its_path_of_mcp(path: str, tmp_path: Path) -> None:
    settings = _settings(
        tmp_path,
        HTTP_PATH="/mail",
        AGENT_MAIL_URL=f"https://mail.example:8/base{path}",
        AGENT_MAIL_TOKEN="b",
        AGENT_MAIL_AGENT_TOKEN="a",
    )

    assert find_server(settings) == ServerAt(url="https://mail.example:8/base", bearer_token="b", agent_token="a")


def test_the_owner_of_the_store_is_asked_as_its_operator(tmp_path: Path) -> None:
    settings = _settings(tmp_path, AGENT_MAIL_AGENT_TOKEN="a")
    with _owned(tmp_path, url="http://127.0.0.1:9"):
        nameless = find_server(settings)
        (tmp_path / "store" / "operator.token").write_text("operator\n")
        operator = find_server(settings)
        bearer = find_server(_settings(tmp_path, AGENT_MAIL_TOKEN="b", AGENT_MAIL_AGENT_TOKEN="a"))

    assert nameless == ServerAt(url="http://127.0.0.1:9", agent_token="a")
    assert operator == ServerAt(url="http://127.0.0.1:9", bearer_token="operator")
    assert bearer == ServerAt(url="http://127.0.0.1:9", bearer_token="b", agent_token="a")


def test_an_operators_token_that_is_no_file_is_none(tmp_path: Path) -> None:
    with _owned(tmp_path, url="http://127.0.0.1:9"):
        (tmp_path / "store" / "operator.token").mkdir()

        assert find_server(_settings(tmp_path)) == ServerAt(url="http://127.0.0.1:9")


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
def test_without_a_store_the_configured_address_is_asked(host: str, url: str, tmp_path: Path) -> None:
    assert find_server(_settings(tmp_path, HTTP_HOST=host, HTTP_PORT="8765")) == ServerAt(url=url)


def test_beside_a_store_that_nobody_owns_no_server_is_looked_for(tmp_path: Path) -> None:
    (tmp_path / "store" / "projects").mkdir(parents=True)

    assert find_server(_settings(tmp_path)) is None


# --- What it is told --------------------------------------------------------------------------------------------------


def test_a_question_is_one_request_with_what_proves_who_asks() -> None:
    with answering(answer(200, {"held": []})) as at:
        assert _post(at, path="/base/", bearer_token="b", agent_token="a") == {"held": []}
        _post(at)

    asked, plain = at.heads
    assert asked == [
        "POST /base/guard/check HTTP/1.0",
        f"Host: 127.0.0.1:{at.port}",
        "Content-Type: application/json",
        "Content-Length: 8",
        "Connection: close",
        "Authorization: Bearer b",
        "X-Agent-Token: a",
    ]
    assert plain[1:] == asked[1:5]
    assert at.bodies == [{"a": 1}] * 2


def test_who_stands_in_the_address_is_not_told_to_the_server() -> None:
    with answering(answer(200, {})) as at:
        post(ServerAt(url=f"http://ann:secret@127.0.0.1:{at.port}"), "/x", {}, Deadline(LONG_S))

    assert at.heads[0][1] == f"Host: 127.0.0.1:{at.port}"


def test_tokens_are_not_shown() -> None:
    assert repr(ServerAt(url="http://x", bearer_token="b1", agent_token="a1")) == "ServerAt(url='http://x')"


# --- What may answer --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "value", "kind", "text"),
    [
        (404, {"error": {"type": "NOT_FOUND", "message": "no such project"}}, "NOT_FOUND", "no such project"),
        (401, {"detail": "who are you"}, "HTTP 401", "who are you"),
        (500, {"error": []}, "HTTP 500", "HTTP 500"),
        (500, ["words"], "HTTP 500", "HTTP 500"),
    ],
)
def test_a_refusal_is_told_with_its_kind(status: int, value: object, kind: str, text: str) -> None:
    with answering(answer(status, value)) as at, pytest.raises(Refused) as refused:
        _post(at)

    assert (refused.value.kind, str(refused.value)) == (kind, text)


@pytest.mark.parametrize("said", [b"", b"SSH-2.0-x\r\n", answer(200, b"[" * 100_000), answer(200, b"<html>")])
def test_a_stranger_is_no_server_of_ours(said: bytes) -> None:
    with answering(said) as at, pytest.raises(NoAnswer, match="what answers there is no agent-mail server"):
        _post(at)


def test_an_answer_that_is_too_long_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard_server, "MAX_ANSWER_BYTES", 100)

    with answering(answer(200, "x" * 1_000)) as at, pytest.raises(NoAnswer, match="its answer is too long"):
        _post(at)


def test_a_server_that_is_silent_is_given_up_and_so_is_every_further_question() -> None:
    patience = Deadline(0.05)
    with answering(None) as at:
        for _ in range(2):
            with pytest.raises(NoAnswer, match="did not answer within 300 ms"):
                post(ServerAt(url=at.url), "/x", {}, patience)

    assert len(at.requests) <= 1


def test_where_nobody_listens_that_is_told() -> None:
    with answering(None) as at:
        pass

    with pytest.raises(NoAnswer, match="Connection refused"):
        _post(at)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://127.0.0.1:65536", "Port out of range"),
        ("http://127.0.0.1:x", "Port could not be cast"),
        ("http://[::1", "Invalid IPv6 URL"),
        ("http://1..2", "label"),
        ("http://..x", "could not be looked up"),
    ],
)
def test_an_address_that_is_none_is_told(url: str, said: str) -> None:
    with pytest.raises(NoAnswer, match=said):
        post(ServerAt(url=url), "/x", {}, Deadline(LONG_S))


def test_a_plain_server_is_no_secure_one() -> None:
    with answering(b"HTTP/1.0 400 x\r\n\r\n") as at, pytest.raises(NoAnswer):
        post(ServerAt(url=f"https://127.0.0.1:{at.port}"), "/x", {}, Deadline(LONG_S))

    assert b"POST" not in b"".join(at.requests)


@pytest.mark.parametrize(("scheme", "port"), [("http", 80), ("https", 443)])
def test_an_address_without_a_port_means_the_one_of_its_scheme(
    scheme: str, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, int]] = []

    def refuse(address: tuple[str, int], timeout: float) -> None:
        asked.append(address)
        raise ConnectionRefusedError(111, f"refused within {timeout > 0}")

    monkeypatch.setattr("socket.create_connection", refuse)

    with pytest.raises(NoAnswer, match="refused within True"):
        post(ServerAt(url=f"{scheme}://127.0.0.1"), "/x", {}, Deadline(LONG_S))

    assert asked == [("127.0.0.1", port)]


def test_a_name_that_nobody_knows_is_told() -> None:
    with pytest.raises(NoAnswer, match=r"the name nobody\.invalid could not be looked up in time"):
        post(ServerAt(url="http://nobody.invalid"), "/x", {}, Deadline(0.2))
