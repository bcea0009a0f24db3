"""The benchmark's own instruments: a wrong ruler makes every figure wrong."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest

from benchmarks.mix import MAX_BODY_BYTES, MIX, MixedWork, Pool, Prose, agent_names
from benchmarks.report import Figure, load_figures, table
from benchmarks.wire import AnswerReader, McpSession, Refused, Rpc

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nMcp-Session-Id: abc\r\n\r\nhello"


@pytest.mark.parametrize("cut", range(1, len(ANSWER)))
def test_an_answer_in_two_pieces_is_read_whole_wherever_it_is_cut(cut: int) -> None:
    reader = AnswerReader()

    first = reader.feed(ANSWER[:cut])
    second = reader.feed(ANSWER[cut:])

    assert first is None
    assert second is not None
    assert (second.status, second.body) == (200, b"hello")


def test_a_chunked_answer_is_refused_rather_than_miscounted() -> None:
    with pytest.raises(Refused):
        AnswerReader().feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")


def test_an_error_of_a_tool_is_no_success_though_its_status_is_200() -> None:
    assert not McpSession().is_success(200, b'{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}')
    assert not McpSession().is_success(200, b'{"jsonrpc":"2.0","id":1,"error":{}}')
    assert not Rpc().is_success(404, b"{}")
    assert McpSession().is_success(200, b'{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":false}}')


def test_the_mix_is_dealt_exactly_once_there_is_mail_to_read() -> None:
    names = agent_names(5)
    work = MixedWork("/p", names[0], names, Pool(seed=1), seed=1)
    inbox = b"".join(b'"id":%d,' % number for number in range(2, 400))
    work.answered("inbox", inbox)
    dealt: Counter[str] = Counter()

    for _ in range(200):
        kind, _, _ = work.next()
        dealt[kind] += 1
        work.answered(kind, b"")

    assert dealt == {kind: 2 * share for kind, share in MIX.items()}


def test_two_runs_make_the_same_calls() -> None:
    names = agent_names(5)
    first, second = (MixedWork("/p", names[0], names, Pool(seed=1), seed=5) for _ in range(2))

    assert [first.next() for _ in range(50)] == [second.next() for _ in range(50)]


def test_bodies_have_the_documented_sizes() -> None:
    prose = Prose(seed=3)

    sizes = [len(prose.body().encode()) for _ in range(2_000)]

    assert 520 < statistics.median(sizes) < 680
    assert max(sizes) == MAX_BODY_BYTES


def test_a_figure_is_met_or_missed_by_its_median() -> None:
    share = Figure(name="share", values=[0.4, 0.6, 0.7], target=0.5, at_least=True)
    lag = Figure(name="lag", values=[0.4, 1.6, 1.7], target=1.0)

    assert (share.verdict, lag.verdict) == ("met", "missed")
    assert "MISSED" in table("t", [lag])


def test_ratios_are_taken_within_each_pair() -> None:
    def phase(per_second: float) -> dict[str, Any]:
        archive = {"lag_p99_s": 0.5, "commits_per_project_s": 1.0, "backlog_max": 10}
        return {
            "per_second": per_second,
            "p50_ms": 1.0,
            "p99_ms": 2.0,
            "server_cpu_us": 300.0,
            "archive": archive,
            "drain_s": 0.1,
        }

    names = ("mixed", "mixed_rpc", "send_1", "send_20", "send_100")
    slow = {name: phase(100.0) for name in names} | {f"floor_{n}": phase(200.0) for n in (1, 20, 100)}
    fast = {name: phase(300.0) for name in names} | {f"floor_{n}": phase(400.0) for n in (1, 20, 100)}

    figures = load_figures([slow, fast])

    assert list(figures[0].values) == [0.5, 0.75]


def test_the_command_line_explains_itself() -> None:
    done = subprocess.run([sys.executable, "-m", "benchmarks", "--help"], capture_output=True, text=True, check=True)

    assert "--quick" in done.stdout
