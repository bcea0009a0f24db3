from __future__ import annotations

import pytest

from mcp_agent_mail.core.clock import Micros, iso
from mcp_agent_mail.core.errors import InvalidInput, NotFound, PermissionDenied
from mcp_agent_mail.features.summaries.service import LONG_CHARACTERS
from tests.features.summaries.summary_room import SummaryRoom

NOTHING = {
    "participants": [],
    "key_points": [],
    "decisions": [],
    "action_items": [],
    "open_questions": [],
    "total_messages": 0,
    "open_actions": 0,
    "done_actions": 0,
    "mentions": [],
    "code_references": [],
}


async def test_a_thread_is_summarized_as_the_contract_says(desk: SummaryRoom) -> None:
    first = await desk.post("We decided to keep `lexer.py`. Who writes the docs?\n\n- [ ] rename it (RedStone)")
    second = await desk.post("@BlueLake the importer fails on CI.", sender=desk.room.red, to=[desk.room.blue])

    assert await desk.thread(include_examples=True) == {
        "thread_id": "plan-1",
        "summary": {
            "participants": ["BlueLake", "RedStone"],
            "key_points": ["@BlueLake the importer fails on CI."],
            "decisions": ["We decided to keep `lexer.py`."],
            "action_items": ["[ ] RedStone: rename it"],
            "open_questions": ["Who writes the docs?"],
            "total_messages": 2,
            "open_actions": 1,
            "done_actions": 0,
            "mentions": [{"name": "BlueLake", "count": 1}],
            "code_references": ["lexer.py"],
        },
        "examples": [
            {"id": message_id, "subject": "Plan", "from": sender, "created_ts": iso(Micros(at))}
            for message_id, sender, at in (
                (first, "BlueLake", desk.room.clock.now - 1_000_000),
                (second, "RedStone", desk.room.clock.now),
            )
        ],
    }


async def test_a_thread_without_mail_is_empty_and_no_error(desk: SummaryRoom) -> None:
    assert await desk.thread(thread_id="none") == {"thread_id": "none", "summary": NOTHING, "examples": []}


async def test_examples_are_given_only_when_asked_for(desk: SummaryRoom) -> None:
    await desk.post("x")

    assert (await desk.thread())["examples"] == []


async def test_several_threads_come_with_what_they_say_together(desk: SummaryRoom) -> None:
    await desk.post("Note: the port is 8081. @RedStone")
    await desk.post("- [ ] ask them. @RedStone @GreenField", thread_id="plan-2")

    answer = await desk.thread(thread_id="plan-1, plan-2,none")

    assert [one["thread_id"] for one in answer["threads"]] == ["plan-1", "plan-2", "none"]
    assert answer["aggregate"] == {
        "top_mentions": [{"name": "RedStone", "count": 2}, {"name": "GreenField", "count": 1}],
        "key_points": ["Note: the port is 8081."],
        "action_items": ["[ ] ask them. @RedStone @GreenField"],
    }


async def test_the_newest_messages_are_read_and_all_are_counted(desk: SummaryRoom) -> None:
    for number in range(5):
        await desk.post(f"Decision: take {number}")

    summary = (await desk.thread(per_thread_limit=2))["summary"]

    assert (summary["decisions"], summary["total_messages"]) == (["take 3", "take 4"], 5)


async def test_a_thread_that_a_reply_began_holds_the_message_it_answers(desk: SummaryRoom) -> None:
    root = await desk.post("Which port does staging use?", thread_id=None)
    await desk.post("8081, I think.", sender=desk.room.red, thread_id=str(root))

    answer = await desk.thread(thread_id=root, include_examples=True)
    shortened = await desk.thread(thread_id=root, include_examples=True, per_thread_limit=1)

    assert [one["id"] for one in answer["examples"]] == [root, root + 1]
    assert answer["summary"]["total_messages"] == 2
    assert [one["id"] for one in shortened["examples"]] == [root]


async def test_mail_that_is_held_or_only_blind_is_not_part_of_a_summary(desk: SummaryRoom) -> None:
    room = desk.room
    await desk.post("Decision: shown to all")
    await desk.post("Decision: held back", to=[], held_for=[room.red])
    await desk.post("Decision: for the fox alone", sender=room.lib_blue, to=[room.fox], bcc=[room.red])

    for credentials in (desk.proof(room.red), desk.proof(room.blue), desk.proof(room.green)):
        summary = (await desk.thread(credentials))["summary"]
        assert (summary["decisions"], summary["total_messages"]) == (["shown to all"], 1)


async def test_an_agent_of_another_project_is_refused(desk: SummaryRoom) -> None:
    with pytest.raises(PermissionDenied):
        await desk.thread(desk.proof(desk.room.fox))


async def test_an_unknown_project_and_an_unfit_thread_are_errors(desk: SummaryRoom) -> None:
    with pytest.raises(NotFound):
        await desk.thread(project_key="/code/none")
    with pytest.raises(InvalidInput):
        await desk.thread(thread_id="no thread")


async def test_a_sender_of_another_project_is_shown_with_its_slug(desk: SummaryRoom) -> None:
    await desk.post("Hello there, all of you.", sender=desk.room.fox)

    assert (await desk.thread())["summary"]["participants"] == ["QuietFox@code-lib"]


async def test_a_long_thread_is_summarized_beside_the_event_loop_with_the_same_result(desk: SummaryRoom) -> None:
    await desk.post("Decision: short\n\n" + "word " * LONG_CHARACTERS)

    assert (await desk.thread())["summary"]["decisions"] == ["short"]


async def test_a_tombstone_is_counted_and_says_nothing(desk: SummaryRoom) -> None:
    purged = await desk.post("Decision: gone")
    await desk.post("Decision: kept")
    purge = "UPDATE messages SET purged_ts = ?, body_md = 'Decision: a tombstone' WHERE id = ?"
    now = desk.room.clock.now

    await desk.room.store.write(lambda tx: tx.messages._connection.execute(purge, (now, purged)).rowcount)

    summary = (await desk.thread())["summary"]
    assert (summary["decisions"], summary["total_messages"]) == (["kept"], 2)
