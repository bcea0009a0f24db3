from __future__ import annotations

from mcp_agent_mail.core.clock import Micros, iso
from tests.features.summaries.harness import SummariesHarness

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


async def test_a_thread_is_summarized_as_the_contract_says(harness: SummariesHarness) -> None:
    first = await harness.post("We decided to keep `lexer.py`. Who writes the docs?\n\n- [ ] rename it (RedStone)")
    second = await harness.post(
        "@BlueLake the importer fails on CI.", sender=harness.seeded.red, to=[harness.seeded.blue]
    )

    assert await harness.thread(include_examples=True) == {
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
                (first, "BlueLake", harness.seeded.clock.now - 1_000_000),
                (second, "RedStone", harness.seeded.clock.now),
            )
        ],
    }


NOBODY_WROTE = (
    "Nobody has written in this thread, as far as you may read. Thread ids stand in every message; case counts."
)


async def test_a_thread_without_mail_is_empty_and_no_error_and_told_from_a_slip(harness: SummariesHarness) -> None:
    await harness.post("Decision: take one", thread_id="plan-parser")
    await harness.post("Of the blind", thread_id="secret-parser", to=[harness.seeded.fox], bcc=[harness.seeded.red])

    none = await harness.thread(thread_id="none")
    slip = await harness.thread(thread_id="Plan-Parser")
    several = await harness.thread(thread_id="plan-parser,plan-parsr")

    assert none == {"thread_id": "none", "summary": NOTHING, "examples": [], "hint": NOBODY_WROTE}
    assert (slip["summary"], slip["hint"]) == (NOTHING, f"Did you mean plan-parser? {NOBODY_WROTE}")
    hints = [one.get("hint") for one in several["threads"]]
    assert hints == [None, f"Did you mean plan-parser? {NOBODY_WROTE}"]


async def test_the_newest_messages_are_read_and_all_are_counted(harness: SummariesHarness) -> None:
    for number in range(5):
        await harness.post(f"Decision: take {number}")

    summary = (await harness.thread(per_thread_limit=2))["summary"]

    assert (summary["decisions"], summary["total_messages"]) == (["take 3", "take 4"], 5)


async def test_a_thread_that_a_reply_began_holds_the_message_it_answers(harness: SummariesHarness) -> None:
    root = await harness.post("Which port does staging use?", thread_id=None)
    await harness.post("8081, I think.", sender=harness.seeded.red, thread_id=str(root))

    answer = await harness.thread(thread_id=root, include_examples=True)
    shortened = await harness.thread(thread_id=root, include_examples=True, per_thread_limit=1)

    assert [one["id"] for one in answer["examples"]] == [root, root + 1]
    assert answer["summary"]["total_messages"] == 2
    assert [one["id"] for one in shortened["examples"]] == [root]


async def test_mail_that_is_held_or_only_blind_is_not_part_of_a_summary(harness: SummariesHarness) -> None:
    seeded = harness.seeded
    await harness.post("Decision: shown to all")
    await harness.post("Decision: held back", to=[], held_for=[seeded.red])
    await harness.post("Decision: for the fox alone", sender=seeded.lib_blue, to=[seeded.fox], bcc=[seeded.red])

    for credentials in (harness.proof(seeded.red), harness.proof(seeded.blue), harness.proof(seeded.green)):
        summary = (await harness.thread(credentials))["summary"]
        assert (summary["decisions"], summary["total_messages"]) == (["shown to all"], 1)


async def test_a_sender_of_another_project_is_shown_with_its_slug(harness: SummariesHarness) -> None:
    await harness.post("Hello there, all of you.", sender=harness.seeded.fox)

    assert (await harness.thread())["summary"]["participants"] == ["QuietFox@code-lib"]


async def test_a_tombstone_is_counted_and_says_nothing(harness: SummariesHarness) -> None:
    purged = await harness.post("Decision: gone")
    await harness.post("Decision: kept")
    purge = "UPDATE messages SET purged_ts = ?, body_md = 'Decision: a tombstone' WHERE id = ?"
    now = harness.seeded.clock.now

    await harness.seeded.store.write(lambda tx: tx.messages._connection.execute(purge, (now, purged)).rowcount)

    summary = (await harness.thread())["summary"]
    assert (summary["decisions"], summary["total_messages"]) == (["kept"], 2)
