from __future__ import annotations

from dataclasses import replace

from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.importing.records import SourceKind
from mcp_agent_mail.domain.importing.report import WhyRenamed
from tests.features.importing.scripted import ScriptedReader, agent, copy, message, project
from tests.features.importing.test_agents import AGENTS, mailboxes, wire_names
from tests.features.importing.test_service import bring
from tests.rebuild.world import World


def renamed(to: str, *names: str, also: tuple[str, ...] = ()) -> ScriptedReader:
    """The mailbox bob with two messages: as it was, or as it is called since."""
    reader = mailboxes("alice", *names, store_id=to)
    seen = {to: ("m1", "m2"), "alice": ("m2", "m1")}
    reader.all_agents = [
        replace(one, received=seen[one.name][:1], sent=seen[one.name][1:]) for one in reader.all_agents
    ]
    reader.all_messages = [
        message("m1", "alice", copy(to), door=Door.POSTAL, external_id="1"),
        message("m2", to, copy("alice"), door=Door.POSTAL, external_id="2"),
        *(message(key, "alice", copy(to)) for key in also),
    ]
    return reader


RECEIVED = """
SELECT m.subject, a.name FROM recipients r JOIN messages m ON m.id = r.message_id JOIN agents a ON a.id = r.agent_id
ORDER BY m.id
"""


async def test_a_mailbox_that_was_renamed_there_is_a_new_one_and_its_earlier_mail_stays_and_is_told_of(
    world: World,
) -> None:
    """A single message that is known here would else let any store take over the mailbox."""
    await bring(world, renamed("bob", "bob"))

    dry = await bring(world, renamed("robert", "robert", also=("m3",)), apply=False)
    report = await bring(world, renamed("robert", "robert", also=("m3",)))
    again = await bring(world, renamed("robert", "robert", also=("m3",)))

    assert world.rows(RECEIVED) == [("About m1", "bob"), ("About m2", "alice"), ("About m3", "robert")]
    assert wire_names(world) == [("alice", "alice", "postal"), ("bob", "bob", "postal"), ("robert", "robert", "postal")]
    assert "'robert' was renamed there: its earlier mail is bob's here, and stays." in report.notes
    assert dry.notes == report.notes
    assert again.added == 0


async def test_a_mailbox_with_a_made_name_is_known_though_its_store_has_lost_its_oldest_mail(world: World) -> None:
    await bring(world, ScriptedReader(all_projects=[project()], all_agents=[agent("n", "bob")]))
    await bring(world, renamed("bob", "bob"), into="/old/app")
    before = wire_names(world)
    pruned = renamed("bob", "bob")
    pruned.store_id, pruned.all_messages = "pruned", pruned.all_messages[1:]

    report = await bring(world, pruned, into="/old/app")

    assert wire_names(world) == before
    assert [one.why for one in report.names] == [WhyRenamed.JOINED] * 2
    assert report.counts[SourceKind.MESSAGE].added == 0


async def test_who_has_the_mail_of_two_mailboxes_or_of_no_mailbox_is_somebody_new(world: World) -> None:
    await bring(world, renamed("bob", "bob"))
    reader = mailboxes("carol", "dave", store_id="x")
    mixed = replace(reader.all_agents[0], received=("m1", "m2"))
    unknown = replace(reader.all_agents[1], received=("m9",))
    reader.all_agents = [mixed, unknown]

    report = await bring(world, reader)

    assert not any("was renamed there" in note for note in report.notes)
    assert {"carol", "dave"} <= {name for name, *_ in world.rows(AGENTS)}
