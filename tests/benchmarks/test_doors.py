"""`make door-times`: letters of both ways are the same and counted whole, and figures are taken within each pair."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.doors import commands, letters, others, waiting, ways
from benchmarks.doors.__main__ import PARTS, parse
from benchmarks.doors.letters import key
from benchmarks.doors.servers import postal
from benchmarks.doors.ways import (
    Batch,
    Callers,
    Deed,
    NativeSends,
    NativeTakes,
    PostalSends,
    PostalTakes,
    Way,
    clients_of,
    reader_of,
    to_and_fro,
    writer_of,
)
from benchmarks.mix import Pool
from benchmarks.processes import start_ours
from benchmarks.scenarios import PROJECT, call
from benchmarks.waiters.connections import CallWaiter, Got, Kind, Place
from benchmarks.wire import Refused, Rpc
from mcp_agent_mail.domain.doors.texts import subject_of


def _batch(wall_s: float, *, letters_of: int = 10, **calls_ms: list[float]) -> Batch:
    return Batch(letters_of, wall_s, wall_s / 2, calls_ms)


def _answer(text: str) -> bytes:
    body = (
        b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":' + text.encode() + b'}],"isError":false}}'
    )
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def test_both_ways_write_the_same_letters() -> None:
    pool = Pool(seed=1)
    by_door, native = PostalSends(3, pool), NativeSends(3, pool)

    for _ in range(20):
        _, tool, sent = by_door.next()
        _, native_tool, natively = native.next()

        assert (tool, native_tool) == ("send_to_agent", "send_message")
        assert natively["body_md"] == sent["msg"]
        assert natively["subject"] == subject_of(sent["msg"])


def test_a_native_take_marks_the_letter_that_it_found_and_not_the_number_of_the_call() -> None:
    takes = NativeTakes(2)
    takes.next()

    takes.answered(
        "fetch", b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"[{\\"id\\":77,\\"thread_id\\":null}]"}]}}'
    )

    assert takes.next() == (
        "mark",
        "mark_message_read",
        {"project_key": PROJECT, "agent_name": "Reader002", "message_id": 77},
    )


def test_an_empty_mailbox_is_no_letter() -> None:
    with pytest.raises(Refused):
        PostalTakes().answered("take", b'{"result":{"content":[{"text":"null"}]}}')
    with pytest.raises(Refused):
        NativeTakes(1).answered("fetch", b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"[]"}]}}')


def test_a_letter_of_two_calls_takes_both() -> None:
    batch = _batch(0.5, fetch=[1.0, 2.0, 9.0], mark=[3.0, 4.0, 8.0])

    assert batch.p50_ms == 6.0
    assert batch.wall_ms == 50.0


def test_each_way_runs_before_and_after_the_other() -> None:
    order: list[str] = []

    def run(name: str) -> Batch:
        order.append(name)
        return _batch(float(len(order)))

    first, second = to_and_fro([lambda: run("a"), lambda: run("b")])

    assert order == ["a", "b", "b", "a"]
    assert (first.wall_s, second.wall_s) == (5.0, 5.0)
    assert first.letters == 20


def test_ratios_are_taken_within_each_pair_and_the_bound_is_on_the_time() -> None:
    pairs = [
        {
            key(deed, clients, way): _batch(
                wall_s * (1.0 + (way is Way.POSTAL)), x=[wall_s * (1.0 + (way is Way.POSTAL))]
            )
            for deed in Deed
            for clients in letters.CLIENTS
            for way in Way
        }
        for wall_s in (1.0, 10.0)
    ]

    found = letters.figures(pairs)

    assert all(list(figure.values) == [2.0, 2.0] for figure in found)
    assert [figure.verdict for figure in found] == ["missed", ""] * 4


def test_the_bound_of_the_mixed_load_is_on_each_pair_of_on_and_off() -> None:
    found = others.figures([{"on": 101.0, "off": 100.0}, {"on": 303.0, "off": 300.0}])

    assert list(found[0].values) == [1.01, 1.01]
    assert found[0].verdict == "met"


def test_a_command_is_set_against_the_version_of_the_same_round() -> None:
    rounds = [
        {commands.VERSION: [base], commands.SEND: [2 * base], commands.HOOK: [base], commands.HOOK_IDLE: [base]}
        for base in (50.0, 500.0)
    ]

    found = {figure.name: figure for figure in commands.figures({"in tmux": rounds})}

    assert list(found["agentmail send, in tmux: times am --version"].values) == [2.0, 2.0]
    assert found["longest of 4 hooks"].verdict == "met"


def test_the_wake_of_a_round_is_its_p95() -> None:
    one = waiting.Round(idle=0.001, woken_ms=[float(ms) for ms in range(100)])

    found = {figure.name: figure for figure in waiting.figures(waiting.Seen(alone=[0.0], rounds=[one]), 500)}

    assert list(found["500 in check_mail: one woken, p95"].values) == [95.0]


@pytest.mark.parametrize("kind", waiting.KINDS)
def test_who_waits_by_a_door_tells_mail_from_a_time_that_is_over(kind: Kind) -> None:
    waiter = CallWaiter(Place(port=1, project=PROJECT, agent="Box", kind=kind))

    assert waiter.took(_answer('"{\\n  \\"id\\": \\"7\\",\\n  \\"from_agent\\": \\"Pen\\"\\n}"')) is Got.MAIL
    assert waiter.took(_answer('"null"')) is Got.TIME_IS_OVER
    assert waiter._call() == ("check_mail", {})


def test_every_part_is_named_and_quick_is_small() -> None:
    chosen = parse(["--quick"])

    assert list(PARTS) == ["letters", "waiting", "commands", "others"]
    assert (chosen.pairs, chosen.messages) == (2, 500)


def test_letters_of_both_ways_are_written_and_taken_at_a_real_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start_ours(tmp_path / "store", set(), Rpc(), **postal(PROJECT))
    try:
        call(server, "ensure_project", human_key=PROJECT)
        for name in (writer_of(Way.NATIVE, 0), reader_of(Way.NATIVE, 0)):
            call(server, "register_agent", project_key=PROJECT, program="bench", model="none", name=name)
        pool = Pool(seed=1)
        made = {}
        monkeypatch.setattr(ways, "_REUSED_WITHIN_S", -1.0)  # Every batch over another connection.
        for way in Way:
            for deed in Deed:
                callers = Callers(server, [clients_of(way, deed, 0, pool)])
                made[way, deed] = callers.run(3)
                callers.close()
        left = call(server, "fetch_inbox", project_key=PROJECT, agent_name=reader_of(Way.NATIVE, 0), unread_only=True)
    finally:
        server.stop()

    assert [batch.letters for batch in made.values()] == [3, 3, 3, 3]
    assert {kind: len(ms) for kind, ms in made[Way.NATIVE, Deed.TAKE].calls_ms.items()} == {"fetch": 3, "mark": 3}
    assert left == []
