"""A mailbox that was renamed at its door, and whom its names mean afterwards: there, elsewhere and natively."""

from __future__ import annotations

import pytest

from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.identity.caller import AgentAuth, TokenMissing
from mcp_agent_mail.features.doors.requests import DoorCaller
from mcp_agent_mail.features.identity.lookup import AmbiguousName
from tests.features.doors.harness import HOME, DoorsHarness, at
from tests.features.doors.test_correspondents import native, own, send, slug_of, take
from tests.features.messaging.harness import APP


async def native_mail(harness: DoorsHarness, to: str, body: str, project: str = HOME) -> None:
    address = to if project == HOME else f"{to}@{HOME}"
    mail = {"sender_name": "GreenFox", "to": [address], "subject": "Plan", "body_md": body}
    await harness.call("send_message", project_key=project, **mail)


async def taken(harness: DoorsHarness, caller: DoorCaller) -> list[str]:
    """The last line of each that waits: it is read."""
    lines = []
    while (popped := await harness.doors.pop(caller, wait_s=0)) is not None:
        await harness.doors.settle(popped)
        lines.append(popped.body.split("\n")[-1])
    return lines


async def test_a_mailbox_that_was_renamed_is_answered_by_the_name_that_is_shown_of_it_elsewhere(
    harness: DoorsHarness,
) -> None:
    """Its native name is free at doors by then, and somebody else's soon."""
    backend, amy = at("backend", Door.CLAUDE_MAILBOX), at("amy", Door.AGENTMAIL, APP)
    await own(harness, backend)
    await own(harness, amy)
    await harness.mailboxes.rename(backend, "api-1")
    await own(harness, backend)
    await harness.doors.send(at("api-1", Door.CLAUDE_MAILBOX), f"amy@{APP}", "hello")

    seen = await take(harness, amy)
    await send(harness, amy, seen, "answer")

    assert seen == f"api-1@{await slug_of(harness, HOME)}"
    assert await take(harness, at("api-1", Door.CLAUDE_MAILBOX)) == f"amy@{await slug_of(harness, APP)}"
    assert await harness.doors.pop(backend, wait_s=0) is None


async def test_a_name_that_a_mailbox_has_at_its_door_is_no_native_newcomers(harness: DoorsHarness) -> None:
    bob = at("bob", Door.CLAUDE_MAILBOX)
    await own(harness, bob)
    await harness.mailboxes.rename(bob, "robert")
    agents = await harness.rows("SELECT count(*) FROM agents")

    with pytest.raises(TokenMissing):
        await native(harness, "Robert", HOME, auth=AgentAuth.STRICT)

    assert await harness.rows("SELECT count(*) FROM agents") == agents


async def test_a_name_that_a_mailbox_has_left_and_another_has_now_is_natively_either_ones_and_refused(
    harness: DoorsHarness,
) -> None:
    carl = at("carl", Door.CLAUDE_MAILBOX)
    await own(harness, carl)
    await native(harness, "GreenFox", HOME)
    await harness.mailboxes.rename(carl, "innocent")
    await native_mail(harness, "carl", "while it is one")
    await own(harness, carl)
    ((other,),) = await harness.rows(
        "SELECT a.name FROM agents a JOIN wire_names w ON w.agent_id = a.id WHERE w.name = 'carl'"
    )

    asks = harness.call("fetch_inbox", project_key=HOME, agent_name="carl")
    for act in (native_mail(harness, "CARL", "for whom"), asks):
        with pytest.raises(AmbiguousName) as refused:
            await act
        assert refused.value.data["names"] == [other, "innocent"]
    await native_mail(harness, "innocent", "for the first")
    await native_mail(harness, other, "for the second")

    assert await taken(harness, at("innocent", Door.CLAUDE_MAILBOX)) == ["while it is one", "for the first"]
    assert await taken(harness, carl) == ["for the second"]


async def test_an_answer_reaches_a_mailbox_whose_native_name_another_has_at_the_door(harness: DoorsHarness) -> None:
    carl, innocent = (at(name, Door.CLAUDE_MAILBOX) for name in ("carl", "innocent"))
    await own(harness, carl)
    for home in (HOME, APP):
        await native(harness, "GreenFox", home)
    await harness.mailboxes.rename(carl, "innocent")
    await own(harness, carl)

    for to, home in (("GreenFox", HOME), (f"GreenFox@{await slug_of(harness, APP)}", APP)):
        await native_mail(harness, "innocent", "begins", home)
        assert await taken(harness, innocent) == ["begins"]
        sent = await harness.doors.send(innocent, to, "goes on")
        await harness.call(
            "reply_message", project_key=home, message_id=sent.message_id, sender_name="GreenFox", body_md="ends"
        )
        assert await taken(harness, innocent) == ["ends"]

    assert await taken(harness, carl) == []
