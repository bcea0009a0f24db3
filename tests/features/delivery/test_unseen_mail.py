from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.features.delivery import unseen_mail
from mcp_agent_mail.features.delivery.unseen_mail import UnseenRules, UnseenWorker
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.rebuild.ends import begin_feed
from tests.features.delivery.harness import DeliveryHarness
from tests.features.macros.harness import APP, LIB, MacrosHarness, open_macros
from tests.seeded_store import token_of

TTL_S = 1_800
DAY_S = 24 * 3_600
RULES = UnseenRules(ttl_s=TTL_S, interval_s=60)


async def look(harness: DeliveryHarness) -> None:
    await UnseenWorker(harness.seeded.store, RULES).look()


async def told(harness: DeliveryHarness, agent: str = "BlueLake") -> list[tuple[int, str]]:
    """The `unseen` events of an agent's feed: the message, and whose copy."""
    proof = Credentials(via="mcp", agent_token=token_of(agent, harness.seeded.app))
    events = (await harness.call("fetch_inbox_events", proof, agent_name=agent, limit=1_000))["events"]
    return [(one["message_id"], one["agent"]) for one in events if one["event"] == "unseen"]


@pytest.mark.parametrize("wanted", [{"importance": "high"}, {"importance": "urgent"}, {"ack_required": True}])
async def test_a_sender_learns_of_each_copy_that_nobody_saw_in_time(
    harness: DeliveryHarness, wanted: dict[str, Any]
) -> None:
    sent = await harness.sent_id(to=["RedStone"], bcc=["GreenField"], **wanted)
    harness.seeded.clock.step(TTL_S - 1)
    await look(harness)
    early = await told(harness)
    harness.seeded.clock.step()

    await look(harness)

    assert (early, await told(harness)) == ([], [(sent, "RedStone"), (sent, "GreenField")])


async def test_the_event_comes_last_in_its_feed_at_the_time_of_the_look_and_in_no_other_feed(
    harness: DeliveryHarness,
) -> None:
    await harness.sent_id(importance="high")
    before = await harness.feed("BlueLake", position_now=True)
    harness.seeded.clock.step(TTL_S)

    await look(harness)

    page = await harness.feed("BlueLake", after=before["next_cursor"])
    (event,) = page["events"]
    assert event["cursor"] == page["tail_cursor"] == before["tail_cursor"] + 1
    assert event["ts"] == harness.in_seconds(0)
    assert [one["event"] for one in (await harness.feed("RedStone"))["events"]] == ["delivered"]
    later = await harness.sent_id()
    assert await harness.events("RedStone", after=page["next_cursor"]) == [("delivered", later)]


async def test_it_is_told_once_also_after_a_restart_and_by_no_mail(harness: DeliveryHarness, tmp_path: Path) -> None:
    sent = await harness.sent_id(importance="high", ack_required=True)
    mail = harness.rows("SELECT count(*) FROM messages")
    harness.seeded.clock.step(TTL_S)

    await look(harness)
    await look(harness)
    async with Store(tmp_path / "mail.sqlite3", clock=harness.seeded.clock) as again:
        harness.seeded.clock.step(TTL_S)
        await UnseenWorker(again, RULES).look()

    assert await told(harness) == [(sent, "RedStone")]
    assert harness.rows("SELECT count(*) FROM messages") == mail


async def test_what_is_due_later_is_told_later(harness: DeliveryHarness) -> None:
    first = await harness.sent_id(importance="high")
    harness.seeded.clock.step(TTL_S / 2)
    second = await harness.sent_id(importance="high")
    harness.seeded.clock.step(TTL_S / 2)

    await look(harness)
    at_first = await told(harness)
    harness.seeded.clock.step(TTL_S / 2)
    await look(harness)

    assert (at_first, await told(harness)) == ([(first, "RedStone")], [(first, "RedStone"), (second, "RedStone")])


async def test_nothing_is_told_of_what_was_seen_or_has_ended_or_nobody_waits_for(harness: DeliveryHarness) -> None:
    normal = await harness.sent_id()
    read = await harness.sent_id(importance="high")
    await harness.call("mark_message_read", agent_name="RedStone", message_id=read)
    shown, handed = await harness.sent_id(importance="high"), await harness.sent_id(importance="high")
    red = harness.seeded.red.id
    await harness.seeded.store.write(lambda tx: tx.ladder.hand_over(red, [MessageId(shown), MessageId(handed)], tx.now))
    await harness.seeded.store.write(lambda tx: tx.ladder.show(red, [MessageId(shown)], tx.now))
    withdrawn = await harness.sent_id(importance="high")
    await harness.withdraw(withdrawn)
    await harness.sent_id(importance="high", valid_until=harness.in_seconds(TTL_S))
    harness.seeded.clock.step(TTL_S)

    await look(harness)

    assert await told(harness) == [(handed, "RedStone")]
    assert normal < read < shown


async def test_held_mail_is_unseen_only_when_it_has_lain_in_the_inbox_for_so_long(harness: DeliveryHarness) -> None:
    await harness.policy("RedStone", "contacts_only")
    sent = await harness.sent_id(importance="high")
    harness.seeded.clock.step(TTL_S)
    await look(harness)
    await harness.answer(accept=True)
    await look(harness)
    held = [one for one in await told(harness) if one[0] == sent]
    harness.seeded.clock.step(TTL_S)

    await look(harness)

    assert held == []
    assert [one for one in await told(harness) if one[0] == sent] == [(sent, "RedStone")]


async def test_a_clock_that_is_set_back_tells_nothing_early_and_nothing_twice(harness: DeliveryHarness) -> None:
    first = await harness.sent_id(importance="high")
    harness.seeded.clock.step(TTL_S)
    await look(harness)
    harness.seeded.clock.step(-10 * TTL_S)
    second = await harness.sent_id(importance="high")
    await look(harness)
    at_first = await told(harness)
    harness.seeded.clock.step(20 * TTL_S)

    await look(harness)

    assert (at_first, await told(harness)) == ([(first, "RedStone")], [(first, "RedStone"), (second, "RedStone")])


async def test_what_was_delivered_while_the_clock_was_ahead_is_told_when_the_process_has_waited_so_long(
    harness: DeliveryHarness,
) -> None:
    seconds = [100.0]
    worker = UnseenWorker(harness.seeded.store, RULES, elapsed=lambda: seconds[-1])
    harness.seeded.clock.step(DAY_S)
    ahead = await harness.sent_id(importance="high")
    await worker.look()
    harness.seeded.clock.step(-DAY_S)
    after = await harness.sent_id(importance="high")
    told_of = []
    for step in (TTL_S / 2, TTL_S / 2 - 1, 1, TTL_S / 2):
        seconds.append(seconds[-1] + step)
        await worker.look()
        told_of.append(await told(harness))

    first, second = (ahead, "RedStone"), (after, "RedStone")
    assert told_of == [[], [], [first], [first, second]]


async def test_a_clock_that_jumps_does_not_let_a_process_that_has_just_begun_tell_early(
    harness: DeliveryHarness,
) -> None:
    await harness.sent_id(importance="high")
    harness.seeded.clock.step(-DAY_S)
    worker = UnseenWorker(harness.seeded.store, RULES, elapsed=lambda: 10.0 * TTL_S)

    await worker.look()
    await worker.look()

    assert await told(harness) == []


async def test_a_pass_tells_of_all_that_is_due_few_in_each_unit(
    harness: DeliveryHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = [await harness.sent_id(importance="high") for _ in range(5)]
    harness.seeded.clock.step(TTL_S)
    monkeypatch.setattr(unseen_mail, "COPIES_AT_ONCE", 2)
    units: list[int] = []
    one_unit = unseen_mail.tell_unseen

    def counted(tx: Any, rules: UnseenRules, aged: int) -> bool:
        units.append(len(tx.feed.after(harness.seeded.blue.id, 0, 100, is_proven=True)))
        return one_unit(tx, rules, aged)

    monkeypatch.setattr(unseen_mail, "tell_unseen", counted)

    await look(harness)

    assert await told(harness) == [(one, "RedStone") for one in sent]
    assert units == [0, 2, 4]


async def test_what_a_process_remembers_of_its_looks_is_bounded_whatever_the_settings(harness: DeliveryHarness) -> None:
    seconds, ttl_s = [0.0], 2_000
    worker = UnseenWorker(harness.seeded.store, UnseenRules(ttl_s=ttl_s, interval_s=5), elapsed=lambda: seconds[0])
    for number in range(500):
        worker._aged(number)
        seconds[0] += 5

    assert len(worker._tails) <= 102
    assert 95 <= worker._aged(499) <= 100, "what was there 2,000 to 2,025 s ago, at one more each 5 s"
    for _ in range(500):
        worker._aged(499)
        seconds[0] += 5
    assert (worker._aged(499), len(worker._tails)) == (499, 1)


# --- Rebuilt stores ----------------------------------------------------------------------------------------------


async def rebuilt(harness: DeliveryHarness) -> None:
    """As a rebuild leaves feeds: nothing is known of what senders were told."""
    await harness.seeded.store.write(lambda tx: begin_feed(tx.feed._connection))
    await harness.seeded.store.write(
        lambda tx: tx.feed._connection.execute("UPDATE counters SET value = 0 WHERE name = 'unseen'")
    )


@pytest.mark.parametrize("ttl_s", [TTL_S, 10 * DAY_S])
async def test_after_a_rebuild_what_may_not_have_been_told_is_told_whatever_the_settings(
    harness: DeliveryHarness, ttl_s: int
) -> None:
    rules = UnseenRules(ttl_s=ttl_s, interval_s=60)
    await harness.sent_id(importance="high")
    harness.seeded.clock.step(61)
    in_doubt = await harness.sent_id(importance="high")
    harness.seeded.clock.step(DAY_S + ttl_s)
    last = await harness.sent_id(importance="high")
    await rebuilt(harness)

    await UnseenWorker(harness.seeded.store, rules).look()
    at_once = await told(harness)
    harness.seeded.clock.step(ttl_s)
    await UnseenWorker(harness.seeded.store, rules).look()

    assert at_once == [(in_doubt, "RedStone")]
    assert await told(harness) == [*at_once, (last, "RedStone")]


async def test_a_rebuild_passes_over_what_was_told_once_only(harness: DeliveryHarness) -> None:
    await harness.sent_id()
    await rebuilt(harness)
    await look(harness)
    later = await harness.sent_id(importance="high")
    harness.seeded.clock.step(30 * DAY_S)

    await look(harness)

    assert await told(harness) == [(later, "RedStone")]
    assert harness.rows("SELECT value FROM meta WHERE key = 'rebuilt_until'") == []


# --- Readers who are gone ----------------------------------------------------------------------------------------


async def begin(team: MacrosHarness) -> None:
    for name in ("BlueLake", "RedStone", "GreenField"):
        await team.start(name)


async def gone(team: MacrosHarness, agent: str = "BlueLake", project: str = APP) -> list[tuple[int, str]]:
    proof = Credentials(via="mcp", agent_token=team.tokens[project, agent])
    found = await team.call("fetch_inbox_events", proof, project_key=project, agent_name=agent, limit=1_000)
    return [(one["message_id"], one["agent"]) for one in found["events"] if one["event"] == "gone"]


async def sent_id(team: MacrosHarness, *to: str, **arguments: Any) -> int:
    sent = await team.send("BlueLake", *to, **arguments)
    number = sent["deliveries"][0]["payload"]["id"]
    assert isinstance(number, int)
    return number


async def test_a_sender_learns_once_who_retires_with_its_mail_unread(tmp_path: Path) -> None:
    async with open_macros(tmp_path) as team:
        await begin(team)
        first = await sent_id(team, "RedStone", "GreenField", importance="high", ack_required=True)
        second = await sent_id(team, "GreenField", bcc=["RedStone"], ack_required=True)
        await sent_id(team, "RedStone")
        read = await sent_id(team, "RedStone", ack_required=True)
        await team.call("mark_message_read", project_key=APP, agent_name="RedStone", message_id=read)
        mail = team.rows("SELECT count(*) FROM messages")

        await team.call("deregister_agent", project_key=APP, agent_name="RedStone")
        once = await gone(team)
        await team.call("deregister_agent", project_key=APP, agent_name="RedStone")
        await team.call("unretire_agent", project_key=APP, agent_name="RedStone")
        third = await sent_id(team, "RedStone", importance="urgent")
        await team.call("deregister_agent", project_key=APP, agent_name="RedStone")

        assert once == [(first, "RedStone"), (second, "RedStone")]
        assert await gone(team) == [*once, (third, "RedStone")]
        assert (await gone(team, "GreenField"), await gone(team, "RedStone")) == ([], [])
        assert team.rows("SELECT count(*) FROM messages WHERE is_system = 1") == [(0,)]
        assert mail == [(4,)]


async def test_nothing_is_told_of_copies_that_have_ended(tmp_path: Path) -> None:
    async with open_macros(tmp_path) as team:
        await begin(team)
        withdrawn = await sent_id(team, "RedStone", importance="high")
        await team.call("withdraw_message", project_key=APP, sender_name="BlueLake", message_id=withdrawn)
        await sent_id(team, "RedStone", importance="high", valid_until=str(team.clock.now // 1_000_000 + 60))
        team.clock.step(60)

        await team.call("deregister_agent", project_key=APP, agent_name="RedStone")

        assert await gone(team) == []


async def test_a_sender_elsewhere_learns_once_that_the_project_of_its_readers_is_archived(tmp_path: Path) -> None:
    async with open_macros(tmp_path) as team:
        await begin(team)
        await team.start("QuietFox", LIB)
        await team.call("set_contact_policy", project_key=APP, agent_name="RedStone", policy="open")
        sent = await team.send("QuietFox", f"project:{APP}#RedStone", project_key=LIB, importance="high")
        number = sent["deliveries"][0]["payload"]["id"]
        inside = await sent_id(team, "RedStone", "GreenField", "Human", ack_required=True)

        for tool in ("archive_project", "archive_project", "unarchive_project", "archive_project"):
            await team.call(tool, project_key=APP)

        ((slug,),) = team.rows("SELECT slug FROM projects WHERE human_key = ?", APP)
        assert await gone(team, "QuietFox", LIB) == [(number, f"RedStone@{slug}")]
        assert sorted(await gone(team)) == [(inside, name) for name in ("GreenField", "Human", "RedStone")]


async def test_a_project_that_is_no_longer_archived_has_lost_nobody(tmp_path: Path) -> None:
    async with open_macros(tmp_path) as team:
        await begin(team)
        await sent_id(team, "RedStone", importance="high")

        await team.call("unarchive_project", project_key=APP)

        assert await gone(team) == []


async def test_many_copies_are_told_of_few_in_each_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_agent_mail.features.identity.service.GONE_AT_ONCE", 2)
    monkeypatch.setattr("mcp_agent_mail.features.projects.service.GONE_AT_ONCE", 2)
    async with open_macros(tmp_path) as team:
        await begin(team)
        readers = ("RedStone", "GreenField", "QuietFox", "Owl")
        for name in readers[2:]:
            await team.start(name)
        sent = [await sent_id(team, *readers, importance="high") for _ in range(5)]

        await team.call("deregister_agent", project_key=APP, agent_name="RedStone")
        retired = await gone(team)
        await team.call("archive_project", project_key=APP)

        assert retired == [(one, "RedStone") for one in sent]
        assert await gone(team) == [
            *retired,
            *((one, name) for name in ("GreenField", "QuietFox", "Owl") for one in sent),
        ]


async def test_where_late_acknowledgements_are_not_told_of_neither_is_this(tmp_path: Path) -> None:
    async with open_macros(tmp_path, ACK_TTL_ENABLED="false") as team:
        await begin(team)
        await sent_id(team, "RedStone", "GreenField", importance="high", ack_required=True)
        await team.call("deregister_agent", project_key=APP, agent_name="RedStone")
        await team.call("archive_project", project_key=APP)

        assert (await gone(team), team.services.workers.unseen) == ([], None)
