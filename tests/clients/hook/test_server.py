"""The server is asked within a bound, over the little HTTP that a hook needs."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from mcp_agent_mail.clients.hook.server import (
    EVENT,
    MAX_ANSWER_BYTES,
    HookDeadline,
    HookRefused,
    HookServer,
    HookSilence,
)
from tests.clients.hook_server import HookAnswers, hook_server


@pytest.fixture
def answers() -> Iterator[HookAnswers]:
    with hook_server() as answers:
        yield answers


def test_a_question_carries_its_proof_and_its_path(answers: HookAnswers) -> None:
    server = HookServer(f"{answers.url}/below/", {"Authorization": "Bearer x"})

    answer = server.ask(EVENT, {"a": "ü"}, HookDeadline())

    assert answer["unread"] == 0
    assert answers.asked == [(f"/below{EVENT}", {"a": "ü"})]
    assert {"Authorization: Bearer x", "Content-Type: application/json"} <= set(answers.heads[0].split("\r\n"))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "user:password@127.0.0.1"])
def test_a_host_is_found_by_any_of_its_names(host: str, answers: HookAnswers) -> None:
    server = HookServer(f"http://{host}:{answers.port}", {})

    assert server.ask(EVENT, {}, HookDeadline(5))["messages"] == []
    assert "password" not in answers.heads[0]


def test_an_error_is_told_by_its_kind(answers: HookAnswers) -> None:
    answers.event = {"error": {"type": "NOT_FOUND", "message": "no such agent"}}

    with pytest.raises(HookRefused) as refused:
        HookServer(answers.url, {}).ask(EVENT, {}, HookDeadline())

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

    with pytest.raises(HookSilence):
        HookServer(answers.url, {}).ask(EVENT, {}, HookDeadline())


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.1:1", "http://127.0.0.1:x", "http://[::1", "http://no.such.invalid:1", "http://"),
        *("http://127.0.0.1:65536", "http://127.0.0.1:-1", f"http://localhost:{10**30}", "http://1..2"),
    ],
)
def test_where_nobody_is_there_is_no_answer(url: str) -> None:
    with pytest.raises(HookSilence):
        HookServer(url, {}).ask(EVENT, {}, HookDeadline(2))


def test_all_questions_of_a_run_share_one_patience(answers: HookAnswers) -> None:
    answers.is_hung = True
    server, patience, started = HookServer(answers.url, {}), HookDeadline(0.2), time.monotonic()

    for _ in range(3):
        with pytest.raises(HookSilence):
            server.ask(EVENT, {}, patience)

    assert 0.2 <= time.monotonic() - started < 2
