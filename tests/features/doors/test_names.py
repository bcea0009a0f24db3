from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import AgentMailError, RecipientNotFound
from mcp_agent_mail.domain.agents import AgentKind, AttachmentsPolicy, ContactPolicy, NewAgent
from mcp_agent_mail.domain.doors.names import (
    Door,
    DoorNotLinked,
    NameOfNoProject,
    NameOwnedElsewhere,
    UnfitWireName,
    UnknownWireName,
)
from mcp_agent_mail.domain.identity.admission import ProjectAdmission
from mcp_agent_mail.domain.identity.caller import (
    AgentAuth,
    Caller,
    CallerKind,
    ReservedIdentity,
    TokenMissing,
)
from mcp_agent_mail.domain.identity.names import NameEnforcement, is_generated_form
from mcp_agent_mail.features.identity import register as registering
from mcp_agent_mail.features.identity.admission import NamingRules
from mcp_agent_mail.store.transaction import Tx
from tests.features.doors.harness import HOME, OPERATOR, DoorsHarness, at, open_doors


async def register(harness: DoorsHarness, name: str, auth: AgentAuth) -> registering.Registered:
    wanted = registering.Registration(
        project_key=HOME,
        program="p",
        model="m",
        name=name,
        task_description="",
        attachments_policy=AttachmentsPolicy.AUTO,
    )
    rules = NamingRules(enforcement=NameEnforcement.FREE)
    supplies = registering.Supplies(new_names=rules, candidates=["BlueLake"], token="amt_native")
    caller = Caller(kind=CallerKind.ANONYMOUS, auth=auth)
    return await harness.seeded.store.write(lambda tx: registering.register(tx, caller, wanted, supplies))


@pytest.mark.parametrize("name", ["alice", "claude-code", "gemini", "x_1"])
async def test_a_name_of_the_native_form_is_the_agents_name(harness: DoorsHarness, name: str) -> None:
    await harness.send(name, "bob", "hi")

    (row, _) = await harness.doors.names(OPERATOR)

    assert (row.wire_name.name, row.agent, row.wire_name.owner) == (name, name, Door.POSTAL)
    assert row.project.startswith("neighbours-")


@pytest.mark.parametrize("name", ["名前", "1st", "all", "-", "a" * 65])
async def test_any_other_name_is_an_alias_of_a_generated_one(harness: DoorsHarness, name: str) -> None:
    await harness.send(name, "bob", "hi")

    (row, _) = await harness.doors.names(OPERATOR)
    got = await harness.pop("bob")

    assert is_generated_form(row.agent)
    assert row.wire_name.name == name
    assert got is not None
    assert got.sender == name


async def test_letter_case_tells_nobody_apart_and_the_first_spelling_stays(harness: DoorsHarness) -> None:
    await harness.send("Bob", "alice", "1")
    await harness.send("BOB", "ALICE", "2")

    got = [await harness.pop("alice"), await harness.pop("aLiCe")]

    assert [one.sender for one in got if one] == ["Bob", "Bob"]
    assert await harness.rows("SELECT name, owner FROM wire_names ORDER BY id") == [
        ("Bob", "postal"),
        ("alice", "postal"),
    ]


async def test_being_written_to_makes_a_mailbox_that_the_first_door_gets(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "hi")
    before = await harness.rows("SELECT name, owner FROM wire_names ORDER BY id")

    popped = await harness.doors.pop(at("bob", Door.CLAUDE_MAILBOX), wait_s=0)

    assert before == [("alice", "postal"), ("bob", None)]
    assert popped is not None
    assert await harness.rows("SELECT name, owner FROM wire_names ORDER BY id") == [
        ("alice", "postal"),
        ("bob", "claude-mailbox"),
    ]
    with pytest.raises(NameOwnedElsewhere, match="claude-mailbox"):
        await harness.pop("bob")
    with pytest.raises(NameOwnedElsewhere):
        await harness.send("bob", "alice", "as bob")
    await harness.send("alice", "bob", "anybody may write")


async def test_a_link_lets_a_door_speak_until_it_is_taken_back(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "hi")
    await harness.doors.pop(at("bob", Door.AGENTMAIL), wait_s=0)
    await harness.send("alice", "bob", "ho")

    row = await harness.doors.link(OPERATOR, "BOB", Door.POSTAL)
    got = await harness.pop("bob")
    await harness.doors.unlink(OPERATOR, "bob", Door.POSTAL)

    assert (row.wire_name.owner, row.wire_name.linked) == (Door.AGENTMAIL, frozenset({Door.POSTAL}))
    assert got is not None
    assert got.body == "ho"
    with pytest.raises(NameOwnedElsewhere):
        await harness.pop("bob")


@pytest.mark.parametrize("auth", list(AgentAuth))
async def test_a_native_agent_is_spoken_as_under_open_or_where_it_is_linked(auth: AgentAuth, tmp_path: Path) -> None:
    async with open_doors(tmp_path, auth) as harness:
        await harness.send("alice", "x", "makes the project")
        await register(harness, "GreenLake", auth)
        await harness.send("alice", "GreenLake", "anybody may write")

        if auth is AgentAuth.STRICT:
            with pytest.raises(DoorNotLinked):
                await harness.pop("greenlake")
            await harness.doors.link(OPERATOR, "greenlake", Door.POSTAL)
        got = await harness.pop("greenlake")
        await harness.send("GreenLake", "alice", "thanks")

        assert got is not None
        assert got.body == "anybody may write"
        owners = await harness.rows("SELECT owner FROM wire_names WHERE name = 'GreenLake'")
        assert owners == [(None,)]  # It is nobody's: its own token has it.


async def test_what_a_door_owns_is_not_to_be_had_by_registering(tmp_path: Path) -> None:
    async with open_doors(tmp_path, AgentAuth.STRICT) as harness:
        await harness.send("alice", "bob", "hi")

        with pytest.raises(TokenMissing):
            await register(harness, "alice", AgentAuth.STRICT)
        registered = await register(harness, "bob", AgentAuth.STRICT)

        assert registered.token == "amt_native"  # Nobody had spoken as bob yet.
        with pytest.raises(DoorNotLinked):
            await harness.pop("bob")


@pytest.mark.parametrize("auth", list(AgentAuth))
async def test_human_gets_mail_and_is_spoken_as_by_nobody(auth: AgentAuth, tmp_path: Path) -> None:
    async with open_doors(tmp_path, auth) as harness:
        await harness.send("alice", "human", "hi")

        with pytest.raises(ReservedIdentity):
            await harness.pop("Human")
        with pytest.raises(ReservedIdentity):
            await harness.send("HumanOverseer", "alice", "hi")

        found = await harness.rows("SELECT a.kind FROM recipients r JOIN agents a ON a.id = r.agent_id")
        assert found == [("human",)]


async def test_mail_of_a_door_proves_nobody(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "hi")

    assert await harness.rows("SELECT is_verified FROM messages") == [(0,)]


async def test_a_closed_project_lets_in_whoever_comes_by_a_door(tmp_path: Path) -> None:
    async with open_doors(tmp_path, admission=ProjectAdmission.OPERATOR) as harness:
        await harness.send("alice", "bob", "hi")
        await harness.send("carol", "dave", "hi")

        assert await harness.rows("SELECT count(*) FROM wire_names") == [(4,)]


async def test_a_mailbox_of_a_door_that_had_retired_comes_back_with_its_next_call(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "hi")
    await harness.seeded.store.write(
        lambda tx: tx.agents._connection.execute("UPDATE agents SET retired_ts = 1 WHERE name = 'alice'").rowcount
    )

    await harness.send("alice", "bob", "again")

    assert await harness.rows("SELECT retired_ts FROM agents WHERE name = 'alice'") == [(None,)]


async def test_a_sender_from_another_project_is_shown_with_its_project(harness: DoorsHarness) -> None:
    seeded = harness.seeded
    await harness.doors.pop(at("RedStone", project="/code/app"), wait_s=0)
    await seeded.post(seeded.letter(seeded.fox), *seeded.addressed([seeded.red]))

    got = await harness.doors.pop(at("RedStone", project="/code/app"), wait_s=0)

    assert got is not None
    assert got.sender == "QuietFox@code-lib"


async def native_in_lib(harness: DoorsHarness, *, policy: ContactPolicy = ContactPolicy.OPEN) -> str:
    """The slug of a project with an agent `QuietFox`, which a door knows as `名前` besides."""
    fox, lib = harness.seeded.fox, harness.seeded.lib

    def unit(tx: Tx) -> None:
        tx.agents.set_contact_policy(fox.id, policy, tx.now)
        tx.wire_names.add(lib.id, fox.id, "名前", tx.now)

    await harness.seeded.store.write(unit)
    return lib.slug


@pytest.mark.parametrize("name", ["QuietFox", "quietfox", "名前"])
@pytest.mark.parametrize("door", [Door.AGENTMAIL, Door.CLAUDE_MAILBOX])
async def test_an_agent_of_another_project_is_written_to_by_any_of_its_names(
    harness: DoorsHarness, door: Door, name: str
) -> None:
    slug = await native_in_lib(harness)

    sent = await harness.doors.send(at("alice", door), f"{name}@{slug}", "hi", external_id="m-1")
    again = await harness.doors.send(at("alice", door), f"{name}@{slug}", "hi", external_id="m-1")

    rows = await harness.rows(f"SELECT agent_id FROM recipients WHERE message_id = {sent.message_id}")
    assert rows == [(harness.seeded.fox.id,)]
    assert (again.message_id, again.is_repeat) == (sent.message_id, True)


@pytest.mark.parametrize("name", ["QuietFox@nowhere", "@x", "x@", "quiet fox"])
async def test_at_postal_a_sign_that_no_name_has_there_says_a_project_or_is_refused(
    harness: DoorsHarness, name: str
) -> None:
    await native_in_lib(harness)

    with pytest.raises(UnfitWireName):
        await harness.send("alice", name, "hi")

    assert await harness.rows("SELECT name FROM wire_names WHERE name <> '名前'") == []


async def test_where_a_project_has_nobody_by_the_name_nothing_is_made_and_nothing_sent(harness: DoorsHarness) -> None:
    slug = await native_in_lib(harness)

    with pytest.raises(RecipientNotFound, match="knows nobody by the name 'nobody'"):
        await harness.doors.send(at("alice", Door.AGENTMAIL), f"nobody@{slug}", "hi")

    assert await harness.rows("SELECT name FROM wire_names WHERE name <> '名前'") == []


async def test_a_mailbox_that_was_spoken_as_is_written_to_whatever_its_name_says(harness: DoorsHarness) -> None:
    slug = await native_in_lib(harness)
    mine = (f"QuietFox@{slug}", "bob@home", "@bob")

    for name in mine:
        await harness.speak(name, Door.CLAUDE_MAILBOX)
        await harness.doors.send(at("alice", Door.CLAUDE_MAILBOX), name, "hi")

    for name in mine:
        popped = await harness.doors.pop(at(name, Door.CLAUDE_MAILBOX), wait_s=0)
        assert popped is not None
        assert popped.body == "hi"


@pytest.mark.parametrize(
    ("door", "refusal", "makes"),
    [
        (Door.POSTAL, NameOfNoProject, True),
        (Door.CLAUDE_MAILBOX, RecipientNotFound, True),
        (Door.AGENTMAIL, UnknownWireName, False),
    ],
)
@pytest.mark.parametrize("is_made", [False, True], ids=["new", "made by a version that took it"])
async def test_an_address_of_no_project_makes_no_mailbox_and_is_told_the_full_names(
    harness: DoorsHarness, door: Door, refusal: type[AgentMailError], makes: bool, is_made: bool
) -> None:
    slug = await native_in_lib(harness)
    await harness.speak("alice", door)
    await harness.speak("Bob", Door.CLAUDE_MAILBOX)
    wrong = {"QuietFox@lbi": f"QuietFox@{slug}", "quietfx@nowhere": f"QuietFox@{slug}", "bob@nowhere": "Bob"}
    if is_made:
        for name in wrong:
            await harness.seeded.store.write(lambda tx, name=name: made_of_old(tx, name))  # type: ignore[misc]
    before = await harness.rows(WRITTEN)

    told = {}
    for name in (*wrong, "nobody@nowhere"):
        with pytest.raises(refusal) as refused:
            await harness.doors.send(at("alice", door), name, "hi", makes_recipient=makes)
        told[name] = str(refused.value.hint)

    assert {name: told[name] for name in wrong} == {
        name: f"Did you mean {full}? Nothing was sent." for name, full in wrong.items()
    }
    assert told["nobody@nowhere"].startswith("An agent of another project is Name@ its path or slug.")
    assert await harness.rows(WRITTEN) == before


WRITTEN = "SELECT (SELECT count(*) FROM agents), (SELECT count(*) FROM wire_names), (SELECT count(*) FROM messages)"


def made_of_old(tx: Tx, name: str) -> None:
    """A mailbox of the doors' project that mail to such a name made."""
    project = tx.projects.find_by_human_key(HOME)
    assert project is not None
    added = tx.agents.add(
        NewAgent(
            project_id=project.id,
            kind=AgentKind.AGENT,
            name=f"Made{len(name)}",
            program=Door.CLAUDE_MAILBOX.value,
            model="unknown",
            task_description="",
            attachments_policy=AttachmentsPolicy.AUTO,
            token_hash=None,
        ),
        tx.now,
    )
    tx.wire_names.add(project.id, added.id, name, tx.now)


async def test_under_strict_who_is_not_told_of_an_agent_is_not_told_its_full_name(tmp_path: Path) -> None:
    async with open_doors(tmp_path, AgentAuth.STRICT) as harness:
        await native_in_lib(harness)
        await harness.speak("alice")

        with pytest.raises(NameOfNoProject) as refused:
            await harness.send("alice", "QuietFox@nowhere", "hi")

        assert "QuietFox@" not in str(refused.value.hint)


async def test_a_window_is_written_to_though_its_name_looks_like_an_address(harness: DoorsHarness) -> None:
    await harness.doors.send(at("alice", Door.AGENTMAIL), "dev@host", "hi")

    popped = await harness.doors.pop(at("dev@host", Door.AGENTMAIL), wait_s=0)
    assert popped is not None


async def test_a_native_sender_writes_to_the_agent_that_doors_know_by_the_name(harness: DoorsHarness) -> None:
    await harness.speak("win dow 2", Door.AGENTMAIL)
    await register(harness, "BlueLake", AgentAuth.OPEN)
    (project,) = {row.project for row in await harness.doors.names(OPERATOR)}

    await harness.call("send_message", sender_name="BlueLake", to=["Win Dow 2"], subject="1", body_md="here")
    await harness.call(
        "send_message",
        project_key=harness.seeded.app.human_key,
        sender_name="RedStone",
        to=[f"win dow 2@{project}"],
        subject="2",
        body_md="from elsewhere",
    )

    popped = await harness.doors.pop(at("win dow 2", Door.AGENTMAIL), wait_s=0)
    assert popped is not None
    assert (popped.sender, popped.body) == ("BlueLake", "1\n\nhere")
    await harness.doors.settle(popped)
    popped = await harness.doors.pop(at("win dow 2", Door.AGENTMAIL), wait_s=0)
    assert popped is not None
    assert popped.body == "2\n\nfrom elsewhere"


async def test_a_name_that_is_spelt_wrong_is_refused_with_the_one_that_may_be_meant(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "hi")

    with pytest.raises(UnknownWireName) as unknown:
        await harness.doors.unlink(OPERATOR, "alic", Door.POSTAL)

    assert unknown.value.hint == "Did you mean alice? am facade names lists those that doors know."
