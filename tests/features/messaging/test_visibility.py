from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import (
    AuthenticationRequired,
    InvalidInput,
    NotFound,
    PermissionDenied,
)
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.identity.names import UnknownAgent
from mcp_agent_mail.features.identity.delivery_hooks import WithActivity
from mcp_agent_mail.features.messaging.visibility import (
    UnknownMessage,
    find_home,
    find_mailbox,
    is_visible_from,
    require_message,
)
from mcp_agent_mail.store.transaction import View
from tests.features.messaging.harness import APP, LIB, OPERATOR, MessagingHarness
from tests.features.samples import OPEN


async def test_the_project_may_be_left_out_when_the_name_is_unique(harness: MessagingHarness) -> None:
    await harness.sent_id()

    inbox = await harness.read("inbox/redstone")

    assert (inbox["project"], inbox["agent"], inbox["count"]) == (APP, "RedStone", 1)
    with pytest.raises(InvalidInput) as error:
        await harness.read("inbox/BlueLake")
    assert [p["human_key"] for p in error.value.data["projects"]] == [APP, LIB]
    assert (await harness.read(f"inbox/BlueLake?project={LIB}"))["count"] == 0
    with pytest.raises(NotFound):
        await harness.read("inbox/Nobody")


async def test_an_inbox_is_read_as_its_agent(harness: MessagingHarness) -> None:
    await harness.sent_id()
    seeded = harness.seeded

    for uri in ("inbox/RedStone", "mailbox/RedStone", "views/urgent-unread/RedStone", "views/acks-stale/RedStone"):
        with pytest.raises(PermissionDenied):
            await harness.read(uri, harness.proof(seeded.green))
        await harness.read(uri, harness.proof(seeded.red))
        await harness.read(uri, OPERATOR)
    with pytest.raises(PermissionDenied):
        await harness.read(f"inbox/Human?project={APP}")
    assert (await harness.read(f"inbox/Human?project={APP}", OPERATOR))["count"] == 0


async def test_in_strict_mode_reading_needs_a_token(harness: MessagingHarness) -> None:
    message_id = await harness.sent_id(thread_id="T", topic="b")
    harness.identities.auth = AgentAuth.STRICT

    for uri in ("inbox/RedStone", "outbox/RedStone", f"message/{message_id}", "thread/T"):
        with pytest.raises(AuthenticationRequired):
            await harness.read(uri)
    with pytest.raises(AuthenticationRequired):
        await harness.call("fetch_topic", topic_name="b")
    assert (await harness.read("thread/T", harness.proof(harness.seeded.green)))["total"] == 1


async def test_across_projects_only_participants_read(harness: MessagingHarness) -> None:
    seeded = harness.seeded
    inside = await harness.sent_id(thread_id="T", topic="b")
    across = await harness.sent_id(to=[f"QuietFox@{LIB}"])
    fox = harness.proof(seeded.fox)

    assert (await harness.read(f"message/{across}", fox))["project"] == LIB
    assert (await harness.read(f"message/{across}?project={APP}", fox))["from"] == "BlueLake"
    with pytest.raises(NotFound):
        await harness.read(f"message/{inside}", fox)
    with pytest.raises(NotFound):
        await harness.read(f"message/{inside}?project={APP}", fox)
    for uri in (f"thread/T?project={APP}", "outbox/RedStone"):
        with pytest.raises(PermissionDenied):
            await harness.read(uri, fox)
    with pytest.raises(PermissionDenied):
        await harness.call("fetch_topic", fox, topic_name="b")
    with pytest.raises(NotFound):
        await harness.read(f"message/{inside}?project={LIB}")


async def test_a_name_alone_is_looked_for_in_projects_that_are_not_archived(harness: MessagingHarness) -> None:
    seeded = harness.seeded
    await seeded.store.write(lambda tx: tx.projects.set_archived(seeded.lib.id, tx.now))

    agent, project = await seeded.store.read(lambda view: find_mailbox(view, "bluelake", None))

    assert (agent.id, project.id) == (seeded.blue.id, seeded.app.id)
    with pytest.raises(UnknownAgent) as unknown:
        await seeded.store.read(lambda view: find_mailbox(view, "QuietFox", None))
    assert "archived project" in unknown.value.hint
    there, _ = await seeded.store.read(lambda view: find_mailbox(view, "QuietFox", LIB))
    assert there.id == seeded.fox.id


async def test_the_latest_home_of_a_name_is_where_it_was_active_last_written_or_not(harness: MessagingHarness) -> None:
    seeded = harness.seeded
    now = Micros(seeded.lib_blue.last_active_ts + 10)

    def unwritten(agents: Iterable[Agent]) -> list[Agent]:
        return [replace(one, last_active_ts=now) if one.id == seeded.blue.id else one for one in agents]

    async def home(name: str, caller: Caller = OPEN, of: WithActivity = list) -> str | None:
        return await seeded.store.read(lambda view: find_home(view, caller, name, of))

    await seeded.store.write(lambda tx: tx.agents.touch_many([(seeded.lib_blue.id, Micros(now - 5))]))
    written, noted = await home("bluelake"), await home("bluelake", of=unwritten)
    own = replace(OPEN, kind=CallerKind.AGENT, agent_id=seeded.lib_blue.id, project_id=seeded.lib.id)

    assert (written, noted) == (LIB, APP)
    assert await home("BlueLake", own, unwritten) == LIB, "a proven caller means itself"
    assert await home("GrayFox") is None
    await seeded.store.write(lambda tx: tx.agents.set_retired(seeded.lib_blue.id, tx.now, tx.now))
    assert await home("BlueLake") == APP


async def test_a_message_is_there_for_its_project_and_its_parties_and_for_nobody_else(
    harness: MessagingHarness,
) -> None:
    seeded = harness.seeded
    to_fox_alone = MessageId(await harness.sent_id(to=[f"QuietFox@{LIB}"]))
    blind = MessageId(await harness.sent_id(bcc=[f"BlueLake@{LIB}"]))

    def sees(view: View, message_id: MessageId, reader: Agent) -> bool:
        try:
            return require_message(view, message_id, reader).id == message_id
        except UnknownMessage:
            return False

    readers = (seeded.green, seeded.fox, seeded.lib_blue)
    seen = await seeded.store.read(
        lambda view: [[sees(view, number, reader) for reader in readers] for number in (to_fox_alone, blind)]
    )

    assert seen == [[True, True, True], [True, False, True]]
    assert not await seeded.store.read(lambda view: sees(view, MessageId(99), seeded.green))


async def test_a_caller_sees_from_a_project_what_is_open_to_it_or_its_own(harness: MessagingHarness) -> None:
    seeded = harness.seeded
    message_id = MessageId(await harness.sent_id(bcc=[f"QuietFox@{LIB}"]))

    def proven(agent: Agent) -> Caller:
        return Caller(
            kind=CallerKind.AGENT,
            auth=AgentAuth.OPEN,
            agent_id=agent.id,
            agent_name=agent.name,
            project_id=agent.project_id,
        )

    def look(view: View) -> list[bool]:
        message = view.messages.find(message_id)
        assert message is not None
        return [
            is_visible_from(view, caller, message, project)
            for caller, project in (
                (OPEN, seeded.app),
                (OPEN, seeded.lib),
                (proven(seeded.fox), seeded.lib),
                (proven(seeded.lib_blue), seeded.lib),
            )
        ]

    assert await seeded.store.read(look) == [True, False, True, False]
