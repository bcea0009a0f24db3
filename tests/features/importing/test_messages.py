from __future__ import annotations

from dataclasses import replace

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.importing.records import SourceAttachment, SourceKind, SourceMessage, ThreadRef
from mcp_agent_mail.features.importing.messages import events_of
from tests.features.importing.scripted import ScriptedReader, agent, at, copy, message, project, whole_store
from tests.features.importing.test_service import bring
from tests.rebuild.world import World

APP = "/old/app"
MAIL = """
SELECT m.subject, m.importance, m.ack_required, m.topic, m.created_ts FROM messages m
JOIN imported i ON i.kind = 'messages' AND i.number = m.id AND i.source_key = ?
"""
COPIES = """
SELECT a.name, r.kind, r.read_ts, r.ack_ts FROM recipients r JOIN agents a ON a.id = r.agent_id
JOIN imported i ON i.kind = 'messages' AND i.number = r.message_id AND i.source_key = ? ORDER BY r.position
"""


def number(world: World, key: str) -> int:
    ((found,),) = world.rows("SELECT number FROM imported WHERE kind = 'messages' AND source_key = ?", key)
    return int(found)


def two(*messages: SourceMessage) -> ScriptedReader:
    return ScriptedReader(
        all_projects=[project()],
        all_agents=[agent("a1", "BlueLake"), agent("a2", "RedStone")],
        all_messages=list(messages),
    )


async def test_a_message_is_as_it_was_for_each_of_its_recipients(world: World) -> None:
    await bring(world, whole_store())

    assert world.rows(MAIL, "m3") == [("About m3", "urgent", 0, "build", at(103))]
    unfit = world.rows("SELECT name FROM agents WHERE id = (SELECT agent_id FROM wire_names)")[0][0]
    assert world.rows(COPIES, "m3") == [
        ("RedStone", "to", None, None),
        (unfit, "cc", None, None),
        ("GreenField", "bcc", at(230), None),
    ]
    assert world.rows(COPIES, "m1")[0] == ("RedStone", "to", at(200), at(210))


async def test_mail_of_a_store_that_has_lost_what_it_is_told_by_comes_in_once(world: World) -> None:
    reader = two(message("m1", "a1", copy("a2")), message("m2", "a1", copy("a2")))
    await bring(world, reader)

    again = await bring(world, replace(reader, store_id="by its second row", all_messages=reader.all_messages[1:]))

    assert world.rows("SELECT count(*) FROM messages") == [(2,)]
    assert again.counts[SourceKind.MESSAGE].known == 1


async def test_history_stands_behind_all_mail_that_was_there_in_its_own_order(world: World) -> None:
    await world.call("ensure_project", human_key=APP)
    for name in ("BlueLake", "RedStone"):
        await world.call("register_agent", project_key=APP, program="p", model="m", name=name)
    await world.call(
        "send_message", project_key=APP, sender_name="BlueLake", to=["RedStone"], subject="Native", body_md="x"
    )
    reader = ScriptedReader(
        all_projects=[project()],
        all_agents=[agent("a1", "OldOak"), agent("a2", "OldElm")],
        # By the source's order, whatever the times say.
        all_messages=[message(key, "a1", copy("a2")) for key in ("m3", "m1", "m2")],
    )

    await bring(world, reader)

    seqs = world.rows(
        "SELECT m.subject FROM recipients r JOIN messages m ON m.id = r.message_id ORDER BY r.delivery_seq"
    )
    assert [subject for (subject,) in seqs] == ["Native", "About m3", "About m1", "About m2"]


async def test_what_was_acknowledged_was_read_by_then(world: World) -> None:
    await bring(
        world,
        two(
            message("m1", "a1", copy("a2", ack_ts=at(200))),
            message("m2", "a1", copy("a2", read_ts=at(9), ack_ts=at(8))),
        ),
    )

    assert world.rows(COPIES, "m1") == [("RedStone", "to", at(200), at(200))]
    assert world.rows(COPIES, "m2") == [("RedStone", "to", at(8), at(8))]


async def test_a_thread_follows_the_message_that_names_it_and_names_stay(world: World) -> None:
    await bring(world, whole_store())

    threads = dict(
        world.rows(
            "SELECT i.source_key, m.thread_id FROM imported i JOIN messages m ON m.id = i.number "
            "WHERE i.kind = 'messages'"
        )
    )
    assert threads["m1"] is None
    assert threads["m2"] == str(number(world, "m1"))
    assert (threads["m3"], threads["m6"]) == ("TKT-7", "thread-42")
    thread = await world.read(f"resource://thread/{threads['m2']}?project={APP}")
    assert [one["subject"] for one in thread["messages"]] == ["About m1", "About m2"]


async def test_a_thread_of_a_message_in_another_row_follows_it_too(world: World) -> None:
    reader = two(
        message("m1", "a1", copy("a2"), also=("m1-copy",)),
        message("m2", "a2", copy("a1"), thread=ThreadRef(message_key="m1-copy")),
        message("m3", "a2", copy("a1"), thread=ThreadRef(message_key="m99")),
    )

    await bring(world, reader)

    assert [thread for (thread,) in world.rows("SELECT thread_id FROM messages ORDER BY id")] == [
        None,
        str(number(world, "m1")),
        "thread-m99",
    ]


async def test_a_body_stays_byte_for_byte(world: World) -> None:
    body = "\r\n a\0b\t\u2028ü ![x](data:image/png;base64,AAAA)\n\n"

    await bring(world, two(message("m1", "a1", copy("a2"), body_md=body)))

    ((stored,),) = world.rows("SELECT CAST(body_md AS BLOB) FROM messages")
    assert stored == body.encode()


async def test_without_a_subject_the_bodys_first_line_is_it(world: World) -> None:
    await bring(world, whole_store())

    assert world.rows(MAIL, "m4")[0][0] == "first line"


async def test_contents_are_attachments_and_readable(world: World) -> None:
    await bring(world, whole_store())

    seen = await world.call("fetch_inbox", project_key=APP, agent_name="RedStone", include_bodies=True)

    (mail,) = [one for one in seen if one["subject"] == "About m5"]
    assert [(one["name"], one["type"]) for one in mail["attachments"]] == [
        ("plan.txt", "file"),
        ("attachment.png", "inline"),
    ]
    await world.drain()
    archive = next(world.settings.storage_root.glob("projects/old-app*"))
    assert len(list(archive.glob("attachments/*/*"))) == 2


async def test_a_content_that_is_too_large_or_there_twice_is_listed(world: World) -> None:
    small, large = b"small", b"x" * (world.settings.attachment_max_bytes + 1)
    given = tuple(SourceAttachment(name=f"{n}.bin", content=one) for n, one in enumerate((small, small, large)))

    report = await bring(world, two(message("m1", "a1", copy("a2"), attachments=given)))

    counts = {kind.value: (one.added, one.left) for kind, one in report.counts.items()}
    assert counts["attachments"] == (1, 2)
    assert counts["messages"] == (1, 0)


async def test_large_contents_come_in_pieces(world: World) -> None:
    content = bytes(range(256)) * 10_000
    reader = two(message("m1", "a1", copy("a2"), attachments=(SourceAttachment(name="big.bin", content=content),)))

    await bring(world, reader)

    (kept,) = (world.settings.storage_root / "attachments").glob("??/*")
    assert kept.read_bytes() == content


async def test_ids_of_doors_are_kept_and_an_answer_may_have_that_of_what_it_answers(world: World) -> None:
    def of(key: str, sender: str, to: str, text: str, **read: Micros) -> SourceMessage:
        return message(
            key,
            sender,
            copy(to, read_ts=read.get("read_ts")),
            subject=None,
            body_md=text,
            external_id="loop",
            door=Door.POSTAL,
        )

    await bring(
        world,
        two(of("m1", "a1", "a2", "ping", read_ts=at(150)), of("m2", "a2", "a1", "pong"), of("m3", "a1", "a2", "again")),
    )

    first = number(world, "m1")
    assert world.rows("SELECT message_id, external_id, answers FROM wire_ids ORDER BY message_id") == [
        (first, "loop", 0),
        (first + 1, "loop", first),
        (first + 2, "loop", first),
    ]


async def test_nobody_is_woken_or_told_of_history_and_is_of_news(world: World) -> None:
    woken: list[object] = []
    world.store.on_mail_change(woken.extend)
    world.store.on_copy_change(woken.extend)
    reader = whole_store()
    await world.store.write(lambda _: None)

    await bring(world, reader)
    await world.store.write(lambda _: None)
    quiet = list(woken)
    blue = world.rows("SELECT id FROM agents WHERE name = 'BlueLake'")[0][0]
    told = await world.store.read(lambda view: view.deliveries.after(blue, 0, 100))
    await world.call(
        "send_message", project_key=APP, sender_name="RedStone", to=["BlueLake"], subject="News", body_md="x"
    )
    await world.store.write(lambda _: None)

    assert (quiet, told) == ([], [])
    assert woken != []
    news = await world.store.read(lambda view: view.deliveries.after(blue, 0, 100))
    assert [one.subject for one in news] == ["News"]
    assert world.rows("SELECT count(*) FROM feed") == [(0,)]


async def test_history_that_nobody_acknowledged_is_not_called_overdue(world: World) -> None:
    reader = two(message("m1", "a1", copy("a2"), ack_required=True))
    await bring(world, reader)
    world.clock.step(100_000)

    await world.services.workers.overdue.look()  # type: ignore[union-attr]  # it is on in this world
    await world.services.workers.unseen.look()  # type: ignore[union-attr]  # likewise

    assert world.rows("SELECT count(*) FROM messages") == [(1,)]
    assert world.rows("SELECT count(*) FROM feed") == [(0,)]


async def test_no_rule_of_consent_refuses_history(world: World) -> None:
    reader = whole_store()
    reader.all_messages.append(message("m9", "a5", copy("a4"), project_key="p2"))

    await bring(world, reader)

    inbox = await world.call("fetch_inbox", project_key=APP, agent_name="GreenField")
    assert [one["subject"] for one in inbox] == ["About m9", "About m3"]


def test_the_events_of_a_message_are_foreseen() -> None:
    one = message("m1", "a1", copy("a2", read_ts=at(1), ack_ts=at(2)), copy("a3", ack_ts=at(3)), copy("a4"))

    assert events_of(one) == 1 + 3 + 2 + 2
