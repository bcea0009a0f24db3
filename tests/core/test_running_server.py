"""The server is asked within a bound, over the little HTTP that hooks and the guard need, whatever answers."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from mcp_agent_mail.core.running_server import (
    GUARD_CHECK,
    HOOK_EVENT,
    MAX_ANSWER_BYTES,
    Deadline,
    NoAnswer,
    Refused,
    RunningServer,
)
from tests.clients.hook_server import HookAnswers, hook_server
from tests.guard.answering import Answering, answer, answering

LONG_S = 60.0


@pytest.fixture
def answers() -> Iterator[HookAnswers]:
    with hook_server() as answers:
        yield answers


def test_a_question_carries_its_proof_and_its_path(answers: HookAnswers) -> None:
    server = RunningServer(f"{answers.url}/below/", {"Authorization": "Bearer x"})

    answer = server.ask(HOOK_EVENT, {"a": "ü"}, Deadline())

    assert answer["unread"] == 0
    assert answers.asked == [(f"/below{HOOK_EVENT}", {"a": "ü"})]
    assert {"Authorization: Bearer x", "Content-Type: application/json"} <= set(answers.heads[0].split("\r\n"))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "user:password@127.0.0.1"])
def test_a_host_is_found_by_any_of_its_names(host: str, answers: HookAnswers) -> None:
    server = RunningServer(f"http://{host}:{answers.port}", {})

    assert server.ask(HOOK_EVENT, {}, Deadline(5))["messages"] == []
    assert "password" not in answers.heads[0]


def test_an_error_is_told_by_its_kind(answers: HookAnswers) -> None:
    answers.event = {"error": {"type": "NOT_FOUND", "message": "no such agent"}}

    with pytest.raises(Refused) as refused:
        RunningServer(answers.url, {}).ask(HOOK_EVENT, {}, Deadline())

    assert refused.value.kind == "NOT_FOUND"


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"HTTP/1.0 200 OK\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\n{",
        b"nonsense",
        b"HTTP/1.0 200 OK\r\n\r\n" + b"[" * 100_000,
        b"HTTP/1.0 200 OK\r\n\r\n" + b" " * (MAX_ANSWER_BYTES + 1),
        b"HTTP/1.0 500 x\r\n\r\n3",
    ],
)
def test_what_is_no_answer_of_ours_is_none(said: bytes, answers: HookAnswers) -> None:
    answers.event = said

    with pytest.raises(NoAnswer):
        RunningServer(answers.url, {}).ask(HOOK_EVENT, {}, Deadline())


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.1:1", "http://127.0.0.1:x", "http://[::1", "http://no.such.invalid:1", "http://"),
        *("http://127.0.0.1:65536", "http://127.0.0.1:-1", f"http://localhost:{10**30}", "http://1..2"),
    ],
)
def test_where_nobody_is_there_is_no_answer(url: str) -> None:
    with pytest.raises(NoAnswer):
        RunningServer(url, {}).ask(HOOK_EVENT, {}, Deadline(2))


def test_all_questions_of_a_run_share_one_patience(answers: HookAnswers) -> None:
    answers.is_hung = True
    server, patience, started = RunningServer(answers.url, {}), Deadline(0.2), time.monotonic()
    with pytest.raises(NoAnswer):
        server.ask(HOOK_EVENT, {}, patience)
    assert time.monotonic() - started >= 0.2
    answers.is_hung = False

    with pytest.raises(NoAnswer, match="200 ms"):
        server.ask(HOOK_EVENT, {}, patience)

    assert answers.asked == []


def _ask(
    at: Answering, *, path: str = "", headers: dict[str, str] | None = None, at_most: int = MAX_ANSWER_BYTES
) -> object:
    return RunningServer(at.url + path, headers or {}).ask(GUARD_CHECK, {"a": 1}, Deadline(LONG_S), at_most=at_most)


# --- What it is told --------------------------------------------------------------------------------------------------


def test_a_question_is_one_request_with_what_proves_who_asks() -> None:
    proof = {"Authorization": "Bearer b", "X-Agent-Token": "a"}
    with answering(answer(200, {"held": []})) as at:
        assert _ask(at, path="/base/", headers=proof) == {"held": []}
        _ask(at)

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
        RunningServer(f"http://ann:secret@127.0.0.1:{at.port}", {}).ask("/x", {}, Deadline(LONG_S))

    assert at.heads[0][1] == f"Host: 127.0.0.1:{at.port}"


def test_tokens_are_not_shown() -> None:
    assert "a-token" not in repr(RunningServer("http://x", {"Authorization": "Bearer a-token"}))


# --- What may answer --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "value", "kind", "text"),
    [
        (404, {"error": {"type": "NOT_FOUND", "message": "no such project"}}, "NOT_FOUND", "no such project"),
        (401, {"detail": "who are you"}, "HTTP 401", "who are you"),
        (500, {"error": []}, "HTTP 500", "HTTP 500"),
    ],
)
def test_a_refusal_is_told_with_its_kind(status: int, value: object, kind: str, text: str) -> None:
    with answering(answer(status, value)) as at, pytest.raises(Refused) as refused:
        _ask(at)

    assert (refused.value.kind, str(refused.value)) == (kind, text)


@pytest.mark.parametrize(
    "said", [b"", b"SSH-2.0-x\r\n", answer(200, b"[" * 100_000), answer(200, b"<html>"), answer(500, ["words"])]
)
def test_a_stranger_is_no_server_of_ours(said: bytes) -> None:
    with answering(said) as at, pytest.raises(NoAnswer, match="what answers there is no agent-mail server"):
        _ask(at)


def test_an_answer_that_is_longer_than_who_asks_takes_is_none() -> None:
    with answering(answer(200, "x" * 1_000)) as at, pytest.raises(NoAnswer, match="its answer is too long"):
        _ask(at, at_most=100)


def test_a_server_that_is_silent_is_given_up_and_so_is_every_further_question() -> None:
    patience = Deadline(0.05)
    with answering(None) as at:
        for _ in range(2):
            with pytest.raises(NoAnswer, match="did not answer within 50 ms"):
                RunningServer(at.url, {}).ask("/x", {}, patience)

    assert len(at.requests) <= 1


def test_where_nobody_listens_that_is_told() -> None:
    with answering(None) as at:
        pass

    with pytest.raises(NoAnswer, match="Connection refused"):
        _ask(at)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://127.0.0.1:65536", "a port that is none: 65536"),
        ("http://127.0.0.1:x", "a port that is none: x"),
        ("http://[::1", "a bracket that nothing closes"),
        ("http://1..2", "its address is none: 1..2"),
        ("http://..x", "could not be looked up"),
    ],
)
def test_an_address_that_is_none_is_told(url: str, said: str) -> None:
    with pytest.raises(NoAnswer, match=said):
        RunningServer(url, {}).ask("/x", {}, Deadline(LONG_S))


def test_a_plain_server_is_no_secure_one() -> None:
    with answering(b"HTTP/1.0 400 x\r\n\r\n") as at, pytest.raises(NoAnswer):
        RunningServer(f"https://127.0.0.1:{at.port}", {}).ask("/x", {}, Deadline(LONG_S))

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
        RunningServer(f"{scheme}://localhost", {}).ask("/x", {}, Deadline(LONG_S))

    assert asked == [("localhost", port)]


def test_a_name_that_nobody_knows_is_told() -> None:
    with pytest.raises(NoAnswer, match=r"the name nobody\.invalid could not be looked up in time"):
        RunningServer("http://nobody.invalid", {}).ask("/x", {}, Deadline(0.2))
