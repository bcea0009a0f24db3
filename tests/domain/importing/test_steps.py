from __future__ import annotations

import random
from dataclasses import replace

import pytest

from mcp_agent_mail.core.params import TASK
from mcp_agent_mail.domain.importing.lines import MOST_PACKED, pack
from mcp_agent_mail.domain.importing.records import SourceAttachment, SourceCopy, SourceKind, SourceMessage
from mcp_agent_mail.domain.importing.report import Tally
from mcp_agent_mail.domain.importing.steps import (
    BATCH_RECORDS,
    PIECE_BYTES,
    ContentStep,
    ImportStep,
    LostContent,
    RecordsStep,
    StepAnswer,
    import_steps,
)
from mcp_agent_mail.domain.messages import MOST_BODY_BYTES
from tests.features.importing.scripted import ScriptedReader, agent, copy, lease, message, project, whole_store


def walk(
    reader: ScriptedReader, wants: tuple[str, ...] = (), *, is_kept: bool = True
) -> tuple[list[ImportStep], Tally]:
    """Each content that is wanted is asked for once; or for ever, where nothing is kept."""
    steps, taken = import_steps(reader, None), list[ImportStep]()
    missing = set(wants)
    try:
        step = next(steps)
        while True:
            taken.append(step)
            lacking = ()
            if isinstance(step, RecordsStep):
                named = [one.sha256 for record in step.records for one in getattr(record, "attachments", ())]
                lacking = tuple(one for one in named if one in missing)
            elif is_kept:
                missing.discard(step.sha256)
            step = steps.send(StepAnswer(tally=Tally(), wants=lacking))
    except StopIteration as done:
        return taken, done.value


def messages_of(steps: list[ImportStep]) -> list[SourceMessage]:
    records = [one for step in steps if isinstance(step, RecordsStep) for one in step.records]
    return [one for one in records if isinstance(one, SourceMessage)]


def test_records_come_in_small_batches_of_one_kind() -> None:
    reader = whole_store()
    reader.all_messages = [message(f"m{number}", "a1", copy("a2")) for number in range(2 * BATCH_RECORDS + 1)]

    steps, _ = walk(reader)

    sizes = [(type(one.records[0]).__name__, len(one.records)) for one in steps if isinstance(one, RecordsStep)]
    assert sizes == [
        ("SourceProject", 2),
        ("SourceAgent", 5),
        ("SourceMessage", 100),
        ("SourceMessage", 100),
        ("SourceMessage", 1),
        ("SourceLease", 4),
        ("SourceLink", 3),
        ("SourceProduct", 1),
    ]


def test_large_bodies_make_batches_small() -> None:
    reader = whole_store()
    reader.all_messages = [message(f"m{number}", "a1", copy("a2"), body_md="x" * 600_000) for number in range(3)]

    steps, _ = walk(reader)

    assert [len(one.records) for one in steps if isinstance(one, RecordsStep)][2:5] == [1, 1, 1]


def test_a_body_for_which_no_request_has_room_is_left_by_itself() -> None:
    reader = whole_store()
    long = message("m1", "a1", copy("a2"), body_md="x" * (MOST_BODY_BYTES + 1))
    reader.all_messages = [long, message("m2", "a1", copy("a2"), body_md="ü" * (MOST_BODY_BYTES // 2))]

    steps, tally = walk(reader)

    assert [one.key for one in messages_of(steps)] == ["m2"]
    assert tally.of(SourceKind.MESSAGE).left == 1
    assert max(len(pack(step.records)) for step in steps if isinstance(step, RecordsStep)) < 4_000_000


def letters(count: int, seed: int, first: int = 0x4E00, last: int = 0x9FA4) -> str:
    """Of a script whose letters are large on the way, and in no order that could be made small."""
    drawn = random.Random(seed)
    return "".join(chr(drawn.randint(first, last)) for _ in range(count))


def longest_request(steps: list[ImportStep]) -> int:
    return max(len(pack(one.records)) + len(pack(one.context)) for one in steps if isinstance(one, RecordsStep))


def test_batches_are_measured_as_they_go_on_the_way() -> None:
    reader = whole_store()
    reader.all_messages = [
        message(f"m{number}", "a1", copy("a2"), body_md=letters(85_000, number)) for number in range(12)
    ]

    steps, tally = walk(reader)

    assert len(messages_of(steps)) == 12
    assert tally.of(SourceKind.MESSAGE).left == 0
    assert longest_request(steps) <= MOST_PACKED


def test_of_what_agents_say_of_themselves_no_more_goes_on_the_way_than_is_kept() -> None:
    reader = whole_store()
    reader.all_agents = [
        agent(f"a{number}", f"Blue{number}", task=letters(1 << 18, number), program=letters(1 << 18, number))
        for number in range(30)
    ]
    reader.all_messages, reader.all_leases, reader.all_links = [], [], []

    steps, tally = walk(reader)

    agents = [one for step in steps if isinstance(step, RecordsStep) for one in step.records if hasattr(one, "task")]
    assert (len(agents), tally.of(SourceKind.AGENT).left) == (30, 0)
    assert {len(one.task) for one in agents} == {TASK.max_length + 1}
    assert longest_request(steps) <= MOST_PACKED


def test_what_no_request_has_room_for_is_left_by_itself_with_what_speaks_of_it() -> None:
    huge = letters(1_500_000, 1, 0x10000, 0x1FFFF)
    reader = whole_store()
    reader.all_projects.append(project("p3", "/old/huge", huge))
    reader.all_agents += [agent("a6", "FarFox", "p3"), agent("a7", huge)]
    reader.all_messages = [
        message("m1", "a1", copy("a2"), subject=huge),
        message("m2", "a6", copy("a2"), project_key="p3"),
        message("m3", "a1", copy("a2"), copy("a7")),
    ]
    reader.all_leases[0] = lease("l1", "a1", "src/**", reason=huge)

    steps, tally = walk(reader)

    assert [(one.key, len(one.recipients)) for one in messages_of(steps)] == [("m3", 1)]
    assert [tally.of(kind).left for kind in (SourceKind.PROJECT, SourceKind.AGENT, SourceKind.LEASE)] == [1, 2, 1]
    assert tally.left["messages", "it is larger than a request to a server can be"] == 1
    assert tally.left["messages", "its project is not taken over"] == 1
    assert longest_request(steps) <= MOST_PACKED


def test_contents_go_in_pieces_and_only_where_they_are_wanted() -> None:
    content = b"x" * (PIECE_BYTES + 1)
    reader = whole_store()
    reader.all_messages = [
        message("m1", "a1", copy("a2"), attachments=(SourceAttachment(name="x", content=content),)),
    ]
    steps, _ = walk(reader)
    (named,) = messages_of(steps)
    (attachment,) = named.attachments

    wanted, _ = walk(reader, (attachment.sha256 or "",))

    assert (attachment.content, attachment.size_bytes) == (None, len(content))
    assert not any(isinstance(step, ContentStep) for step in steps)
    pieces = [(one.offset, len(one.piece), one.is_last) for one in wanted if isinstance(one, ContentStep)]
    assert pieces == [(0, PIECE_BYTES, False), (PIECE_BYTES, 1, True)]
    with pytest.raises(LostContent):
        walk(reader, (attachment.sha256 or "",), is_kept=False)


def test_what_speaks_of_something_that_is_not_there_is_left_and_counted() -> None:
    reader = ScriptedReader(
        all_projects=[project(), project("p2", "relative/path")],
        all_agents=[agent("a1", "Blue"), agent("a2", "Red"), agent("a3", "Elsewhere", "p2")],
        all_messages=[
            message("m1", "a9", copy("a1")),
            message("m2", "a1", copy("a9")),
            message("m3", "a1", copy("a9"), copy("a2"), replace(copy("a2"))),
            message("m4", "a3", copy("a1"), project_key="p2"),
            message("m5", "a1"),
        ],
    )

    steps, tally = walk(reader)

    (kept,) = messages_of(steps)
    assert (kept.key, kept.recipients) == ("m3", (SourceCopy(agent_key="a2"),))
    assert tally.of(SourceKind.PROJECT).left == 1
    assert tally.of(SourceKind.AGENT).left == 1
    assert tally.of(SourceKind.MESSAGE).left == 4
    assert tally.of(SourceKind.COPY).left == 1 + 1 + 2 + 1


def test_the_reader_is_asked_in_order_each_after_the_last_has_come_to_its_end() -> None:
    told: list[str] = []

    class Telling(ScriptedReader):
        def __getattribute__(self, name: str) -> object:
            if name in ("projects", "agents", "messages", "leases", "links", "products", "left_out", "notes"):
                told.append(name)
            return super().__getattribute__(name)

    walk(Telling())

    assert told == ["projects", "agents", "messages", "leases", "links", "products", "left_out", "notes"]
