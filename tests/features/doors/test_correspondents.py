"""Between a door's mailbox and agents of other projects: mail arrives, is answered by the name that was seen, and goes
to nobody else.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from mcp_agent_mail.core.tools import ToolTable
from mcp_agent_mail.domain.agents import AttachmentsPolicy
from mcp_agent_mail.domain.contacts import ContactRules
from mcp_agent_mail.domain.doors.names import AmbiguousCorrespondent, Door
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.identity.names import NameEnforcement
from mcp_agent_mail.features.contacts.service import ContactService
from mcp_agent_mail.features.contacts.tools import contact_tools
from mcp_agent_mail.features.doors.requests import DoorCaller
from mcp_agent_mail.features.identity import register as registering
from mcp_agent_mail.features.identity.admission import NamingRules
from tests.features.doors.harness import HOME, OPERATOR, DoorsHarness, at
from tests.features.messaging.harness import APP, LIB, NOBODY, Identities

DOORS = [
    pytest.param(Door.POSTAL, None, id="postal"),
    pytest.param(Door.CLAUDE_MAILBOX, None, id="claude-mailbox"),
    pytest.param(Door.AGENTMAIL, HOME, id="agentmail"),
]


async def native(
    harness: DoorsHarness, name: str, project: str = APP, program: str = "p", auth: AgentAuth = AgentAuth.OPEN
) -> None:
    wanted = registering.Registration(
        project_key=project,
        program=program,
        model="m",
        name=name,
        task_description="",
        attachments_policy=AttachmentsPolicy.AUTO,
    )
    supplies = registering.Supplies(
        new_names=NamingRules(enforcement=NameEnforcement.FREE), candidates=["BlueLake"], token=f"amt_{name}{project}"
    )
    caller = Caller(kind=CallerKind.ANONYMOUS, auth=auth)
    await harness.seeded.store.write(lambda tx: registering.register(tx, caller, wanted, supplies))


def contacts(harness: DoorsHarness) -> ToolTable:
    store = harness.seeded.store
    service = ContactService(
        store,
        rules=ContactRules(),
        new_names=NamingRules(enforcement=NameEnforcement.FREE),
        note_activity=lambda _: None,
    )
    return ToolTable(contact_tools(service, Identities(store, AgentAuth.OPEN).caller))


async def slug_of(harness: DoorsHarness, project: str) -> str:
    ((slug,),) = await harness.rows(f"SELECT slug FROM projects WHERE human_key = '{project}'")
    return str(slug)


async def write_to(harness: DoorsHarness, mailbox: str, sender: str, body: str, project: str = APP) -> Any:
    return await harness.call(
        "send_message",
        project_key=project,
        sender_name=sender,
        to=[f"{mailbox}@{HOME}"],
        subject="Plan",
        body_md=body,
    )


async def take(harness: DoorsHarness, caller: DoorCaller) -> str:
    """Who wrote the next message, as the door shows it."""
    popped = await harness.doors.pop(caller, wait_s=0)
    assert popped is not None
    await harness.doors.settle(popped)
    return popped.sender


async def own(harness: DoorsHarness, caller: DoorCaller) -> None:
    """Make the mailbox, and the door its owner."""
    await harness.doors.send(caller, caller.name, "to myself")
    await take(harness, caller)


async def bodies(harness: DoorsHarness, name: str, project: str = APP) -> list[str]:
    inbox = await harness.call("fetch_inbox", project_key=project, agent_name=name, include_bodies=True)
    return [one["body_md"] for one in reversed(inbox)]


async def names(harness: DoorsHarness) -> list[str]:
    return [name for (name,) in await harness.rows("SELECT name FROM wire_names ORDER BY id")]


async def send(harness: DoorsHarness, caller: DoorCaller, to: str, body: str, **rest: Any) -> Any:
    """As each door's own tools do: AgentMail's command makes a mailbox for windows alone."""
    return await harness.doors.send(caller, to, body, makes_recipient=caller.door is not Door.AGENTMAIL, **rest)


@pytest.mark.parametrize(("door", "project"), DOORS)
async def test_mail_to_a_mailbox_is_not_held_and_its_answer_by_the_full_name_that_was_seen_arrives(
    harness: DoorsHarness, door: Door, project: str | None
) -> None:
    bob = at("bob", door, project)
    await native(harness, "GreenFox")
    await own(harness, bob)

    sent = await write_to(harness, "bob", "GreenFox", "important")
    seen = await take(harness, bob)
    by_full_name = await send(harness, bob, seen, "one")

    assert sent.get("held", []) == []
    assert seen == f"GreenFox@{await slug_of(harness, APP)}"
    assert not by_full_name.held
    assert await bodies(harness, "GreenFox") == ["one"]
    assert await names(harness) == ["bob"]


async def test_a_mailbox_that_is_made_by_being_written_to_takes_mail_of_other_projects(harness: DoorsHarness) -> None:
    await native(harness, "GreenFox")
    await harness.send("alice", "bob", "make it")

    sent = await write_to(harness, "bob", "GreenFox", "important")

    assert sent.get("held", []) == []
    assert [await take(harness, at("bob")) for _ in range(2)] == ["alice", f"GreenFox@{await slug_of(harness, APP)}"]


async def test_a_native_agent_that_takes_such_a_mailbox_chooses_who_writes_to_it_as_any_other(
    harness: DoorsHarness,
) -> None:
    await native(harness, "GreenFox")
    await harness.send("alice", "bob", "make it")
    await native(harness, "bob", HOME)

    sent = await write_to(harness, "bob", "GreenFox", "important")

    assert [one["code"] for one in sent["held"]] == ["CONTACT_REQUIRED"]


async def test_a_policy_that_was_chosen_for_a_mailbox_holds(harness: DoorsHarness) -> None:
    await native(harness, "GreenFox")
    await own(harness, at("bob"))
    choice = {"project_key": HOME, "agent_name": "bob", "policy": "contacts_only"}
    await contacts(harness).run("set_contact_policy", choice, NOBODY)
    await harness.pop("bob")

    sent = await write_to(harness, "bob", "GreenFox", "important")

    assert [one["code"] for one in sent["held"]] == ["CONTACT_REQUIRED"]


async def test_a_mailbox_of_an_older_store_is_open_once_its_door_speaks_as_it(harness: DoorsHarness) -> None:
    await native(harness, "GreenFox")
    await own(harness, at("bob"))
    older = {"project_key": HOME, "agent_name": "bob", "policy": "auto"}
    await contacts(harness).run("set_contact_policy", older, NOBODY)

    await harness.pop("bob")

    assert (await write_to(harness, "bob", "GreenFox", "important")).get("held", []) == []
    assert await harness.rows("SELECT contact_policy FROM agents WHERE name = 'bob'") == [("open",)]
    told = "SELECT json_extract(snapshot, '$.contact_policy') FROM outbox WHERE kind = 'profile' ORDER BY seq"
    assert (await harness.rows(told))[-1] == ("open",)


async def test_mail_of_a_mailbox_to_who_never_wrote_to_it_waits_for_consent_that_can_be_given(
    harness: DoorsHarness,
) -> None:
    await native(harness, "GreenFox")
    await own(harness, at("bob"))
    slug = await slug_of(harness, APP)

    sent = await send(harness, at("bob"), f"GreenFox@{slug}", "hello")
    (asked,) = await bodies(harness, "GreenFox")
    await contacts(harness).run("respond_contact", _call_in(asked, "accept=true"), NOBODY)

    assert sent.held
    assert await bodies(harness, "GreenFox") == [asked, "hello"]


def _call_in(body: str, having: str) -> dict[str, Any]:
    """The arguments of the call that the text tells to make."""
    (line,) = [one for one in body.splitlines() if "respond_contact(" in one and having in one]
    return {name: json.loads(value) for name, value in re.findall(r'(\w+)=("[^"]*"|true|false|\d+)', line)}


async def test_a_reply_natively_goes_back_to_the_mailbox(harness: DoorsHarness) -> None:
    await native(harness, "GreenFox")
    await own(harness, at("bob"))
    await write_to(harness, "bob", "GreenFox", "first")
    seen = await take(harness, at("bob"))
    await send(harness, at("bob"), seen, "answer")
    (letter,) = await harness.call("fetch_inbox", project_key=APP, agent_name="GreenFox")

    await harness.call(
        "reply_message", project_key=APP, message_id=letter["id"], sender_name="GreenFox", body_md="and back"
    )

    popped = await harness.pop("bob")
    assert popped is not None
    assert popped.body.endswith("and back")


async def test_mail_that_was_not_read_yet_is_not_read_by_an_answer_to_its_sender(harness: DoorsHarness) -> None:
    await native(harness, "GreenFox")
    await own(harness, at("bob"))
    await write_to(harness, "bob", "GreenFox", "first")

    await send(harness, at("bob"), f"GreenFox@{await slug_of(harness, APP)}", "crossing")

    assert await take(harness, at("bob")) == f"GreenFox@{await slug_of(harness, APP)}"


@pytest.mark.parametrize("door", [Door.POSTAL, Door.CLAUDE_MAILBOX])
async def test_who_writes_under_a_name_takes_no_mail_that_is_meant_for_another_of_that_name(
    harness: DoorsHarness, door: Door
) -> None:
    """Whoever reaches a door can write to anybody, from a project of its own."""
    bob, stranger = at("bob", door), at("deploybot", Door.AGENTMAIL, APP)
    await own(harness, bob)
    await harness.doors.send(stranger, f"bob@{HOME}", "hello", makes_recipient=False)

    with pytest.raises(AmbiguousCorrespondent) as refused:
        await send(harness, bob, "deploybot", "PASSWORD=…")

    here = f"deploybot@{await slug_of(harness, HOME)}"
    assert refused.value.data["names"] == [f"deploybot@{await slug_of(harness, APP)}", here]
    assert await names(harness) == ["bob", "deploybot"]
    await send(harness, bob, here, "one")
    with pytest.raises(AmbiguousCorrespondent):
        await send(harness, bob, "deploybot", "two")
    assert await take(harness, at("deploybot", door)) == "bob"
    await send(harness, bob, "deploybot", "three")
    assert await take(harness, at("deploybot", door)) == "bob"
    assert await harness.doors.pop(stranger, wait_s=0) is None


@pytest.mark.parametrize(("door", "project"), DOORS)
async def test_a_bare_name_of_two_who_wrote_is_refused_with_both_full_names(
    harness: DoorsHarness, door: Door, project: str | None
) -> None:
    bob = at("bob", door, project)
    await own(harness, bob)
    for at_home in (APP, LIB):
        await native(harness, "GreenFox", at_home)
        await write_to(harness, "bob", "GreenFox", "hello", at_home)
        await take(harness, bob)

    with pytest.raises(AmbiguousCorrespondent) as refused:
        await send(harness, bob, "GreenFox", "answer")

    full = [f"GreenFox@{await slug_of(harness, one)}" for one in (APP, LIB)]
    assert all(one in refused.value.message for one in full)
    here = f"GreenFox@{await slug_of(harness, project or HOME)}"
    assert refused.value.data["names"] == [*full, here]
    assert await names(harness) == ["bob"]
    await send(harness, bob, full[1], "answer")
    assert await bodies(harness, "GreenFox", LIB) == ["answer"]


@pytest.mark.parametrize(("door", "project"), DOORS[:2])
async def test_who_has_the_name_at_home_is_meant_and_nobody_who_never_wrote(
    harness: DoorsHarness, door: Door, project: str | None
) -> None:
    bob = at("bob", door, project)
    await native(harness, "GreenFox")
    await native(harness, "RedStone")
    await own(harness, bob)
    await native(harness, "GreenFox", HOME)
    await write_to(harness, "bob", "GreenFox", "from elsewhere")
    await take(harness, bob)

    await send(harness, bob, "GreenFox", "for home")
    await send(harness, bob, "RedStone", "a mailbox is made")

    assert (await bodies(harness, "GreenFox", HOME), await bodies(harness, "GreenFox")) == (["for home"], [])
    assert await bodies(harness, "RedStone") == []
    assert "RedStone" in await names(harness)


async def test_a_window_of_the_name_is_at_home_though_it_has_no_mailbox_yet(harness: DoorsHarness) -> None:
    bob = at("bob", Door.AGENTMAIL, HOME)
    await native(harness, "GreenFox")
    await own(harness, bob)
    await write_to(harness, "bob", "GreenFox", "from elsewhere")
    await take(harness, bob)

    await harness.doors.send(bob, "GreenFox", "for the window", makes_recipient=True)

    assert await bodies(harness, "GreenFox") == []
    assert "GreenFox" in await names(harness)


async def test_a_correspondent_is_known_by_its_name_at_doors_too(harness: DoorsHarness) -> None:
    amy, bob = at("amy smith", Door.AGENTMAIL, APP), at("bob", Door.CLAUDE_MAILBOX)
    await own(harness, amy)
    await own(harness, bob)
    await harness.doors.send(amy, f"bob@{HOME}", "hello", makes_recipient=False)
    await take(harness, bob)

    with pytest.raises(AmbiguousCorrespondent) as refused:
        await harness.doors.send(bob, "Amy Smith", "answer")
    await harness.doors.send(bob, refused.value.data["names"][0], "answer")

    popped = await harness.doors.pop(amy, wait_s=0)
    assert popped is not None
    assert popped.body == "answer"
    assert await names(harness) == ["amy smith", "bob"]


@pytest.mark.parametrize(("door", "project"), DOORS)
async def test_a_mailbox_that_nobody_has_stands_in_nobodys_way_and_one_that_somebody_has_does(
    harness: DoorsHarness, door: Door, project: str | None
) -> None:
    bob = at("bob", door, project)
    await native(harness, "GreenFox")
    await own(harness, bob)
    await harness.send("alice", "GreenFox", "misdirected")
    await write_to(harness, "bob", "GreenFox", "from elsewhere")
    await take(harness, bob)

    with pytest.raises(AmbiguousCorrespondent) as refused:
        await send(harness, bob, "GreenFox", "answer")
    await send(harness, bob, refused.value.data["names"][0], "answer")
    await harness.doors.link(OPERATOR, "GreenFox", Door.POSTAL)
    await send(harness, bob, "GreenFox", "for the linked one")
    await harness.doors.unlink(OPERATOR, "GreenFox", Door.POSTAL)
    await harness.speak("GreenFox", door)
    await send(harness, bob, "GreenFox", "for home")

    assert await bodies(harness, "GreenFox") == ["answer"]
    assert await bodies(harness, "GreenFox", HOME) == ["misdirected", "for the linked one", "for home"]


async def test_mail_to_a_mailbox_that_nobody_has_goes_on_where_nobody_elsewhere_is_meant(harness: DoorsHarness) -> None:
    await native(harness, "GreenFox")

    await harness.send("alice", "GreenFox", "1")
    await harness.send("alice", "greenfox", "2")

    assert await bodies(harness, "GreenFox", HOME) == ["1", "2"]
