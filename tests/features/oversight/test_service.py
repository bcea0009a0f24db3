from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from mcp_agent_mail.core.errors import AgentMailError, PermissionDenied
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.messages import NewRecipient, RecipientKind
from mcp_agent_mail.domain.projects import UnknownProject
from mcp_agent_mail.features.oversight.needs import NeedCounts
from mcp_agent_mail.features.oversight.service import MailPageRequest, OversightMail, OversightService
from tests.seeded_store import SeededStore

OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.STRICT)
ANYBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)
NOBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.STRICT)


def as_agent(agent: Agent) -> Caller:
    return Caller(
        kind=CallerKind.AGENT,
        auth=AgentAuth.STRICT,
        agent_id=agent.id,
        agent_name=agent.name,
        project_id=agent.project_id,
    )


async def post(seeded: SeededStore, sender: Agent, *to: NewRecipient, **given: Any) -> MessageId:
    rest = {name: given.pop(name) for name in ("is_system", "is_private", "reply_to") if name in given}
    message, _ = await seeded.post(replace(seeded.letter(sender, **given), **rest), *to)
    return message.id


def ids(found: OversightMail) -> list[MessageId]:
    return [head.id for head in found.heads]


def names(found: OversightMail, message_id: MessageId) -> Sequence[str]:
    return [one.name for one in found.addressees.get(message_id, ())]


async def human_of(seeded: SeededStore) -> Agent:
    human = await seeded.store.read(lambda view: view.agents.find_by_name(seeded.app.id, "Human"))
    assert human is not None
    return human


async def test_anybody_may_see_open_mail_where_reading_needs_no_proof(
    seeded: SeededStore, service: OversightService
) -> None:
    one = await post(seeded, seeded.blue, *seeded.addressed([seeded.red]))
    two = await post(seeded, seeded.fox, *seeded.addressed([seeded.lib_blue]))

    found = await service.mail(ANYBODY, MailPageRequest(limit=9))

    assert ids(found) == [two, one]
    assert {project.slug: project.name for project in found.projects.values()} == {"code-app": "app", "code-lib": "lib"}
    with pytest.raises(AgentMailError):
        await service.mail(NOBODY, MailPageRequest(limit=9))


async def test_only_the_operator_sees_who_got_blind_and_held_copies_and_private_mail(
    seeded: SeededStore, service: OversightService
) -> None:
    held = replace(seeded.addressed([seeded.fox])[0], held_code="CONTACT_REQUIRED")
    blind = seeded.addressed([seeded.green], RecipientKind.BCC)
    mixed = await post(seeded, seeded.blue, *seeded.addressed([seeded.red]), *blind, held)
    private = await post(seeded, seeded.blue, *seeded.addressed([seeded.red]), is_private=True)

    others = await service.mail(ANYBODY, MailPageRequest(limit=9))
    operators = await service.mail(OPERATOR, MailPageRequest(limit=9))

    assert (ids(others), names(others, mixed)) == ([mixed], ["RedStone"])
    assert ids(operators) == [private, mixed]
    assert names(operators, mixed) == ["RedStone", "GreenField", "QuietFox"]


async def test_what_the_person_did_is_told_the_operator_alone(seeded: SeededStore, service: OversightService) -> None:
    one = await post(seeded, seeded.blue, *seeded.addressed([await human_of(seeded)]))

    assert (await service.mail(OPERATOR, MailPageRequest(limit=9))).person == {one: (None, None)}
    assert (await service.mail(ANYBODY, MailPageRequest(limit=9))).person == {}


async def test_why_mail_came_to_the_person_is_told_the_operator_alone(
    seeded: SeededStore, service: OversightService
) -> None:
    human = await human_of(seeded)
    asked = await post(seeded, human, *seeded.addressed([seeded.blue]))
    plain, copied, blind = [
        await post(seeded, seeded.blue, *seeded.addressed([seeded.red]), *seeded.addressed([human], kind))
        for kind in (RecipientKind.TO, RecipientKind.CC, RecipientKind.BCC)
    ]
    answer = await post(seeded, seeded.blue, *seeded.addressed([human]), reply_to=asked)
    await post(seeded, seeded.blue, *seeded.addressed([seeded.red]), reply_to=asked)
    expected = {
        plain: (RecipientKind.TO, False),
        copied: (RecipientKind.CC, False),
        blind: (RecipientKind.BCC, False),
        answer: (RecipientKind.TO, True),
    }

    assert (await service.mail(OPERATOR, MailPageRequest(limit=9))).reasons == expected
    assert await service.reasons(OPERATOR, [asked, *expected]) == expected
    assert (await service.mail(ANYBODY, MailPageRequest(limit=9))).reasons == {}
    with pytest.raises(PermissionDenied):
        await service.reasons(ANYBODY, [plain])


async def test_an_agent_sees_its_own_project(seeded: SeededStore, service: OversightService) -> None:
    one = await post(seeded, seeded.blue, *seeded.addressed([seeded.red]))
    await post(seeded, seeded.fox, *seeded.addressed([seeded.lib_blue]))

    assert ids(await service.mail(as_agent(seeded.red), MailPageRequest(limit=9))) == [one]
    assert ids(await service.mail(as_agent(seeded.red), MailPageRequest(limit=9, project_key="code-lib"))) == []
    assert ids(await service.mail(as_agent(seeded.red), MailPageRequest(limit=9, sender="QuietFox"))) == []


async def test_mail_is_asked_for_by_sender_project_and_what_the_server_told(
    seeded: SeededStore, service: OversightService
) -> None:
    one = await post(seeded, seeded.blue, *seeded.addressed([seeded.red]))
    two = await post(seeded, seeded.lib_blue, *seeded.addressed([seeded.fox]))
    told = await post(seeded, seeded.blue, *seeded.addressed([seeded.red]), is_system=True)

    for request, expected in (
        (MailPageRequest(limit=9, sender="bluelake"), [two, one]),
        (MailPageRequest(limit=9, sender="bluelake", project_key="/code/lib"), [two]),
        (MailPageRequest(limit=9, sender="Nobody"), []),
        (MailPageRequest(limit=9, is_system=True), [told]),
        (MailPageRequest(limit=9, before=two), [one]),
    ):
        assert ids(await service.mail(ANYBODY, request)) == expected, request


async def test_mail_of_a_project_is_also_what_came_there(seeded: SeededStore, service: OversightService) -> None:
    found = await seeded.store.read(lambda view: view.agents.find_by_name(seeded.lib.id, "Human"))
    assert found is not None
    letter = await post(seeded, seeded.blue, *seeded.addressed([found]))
    private = await post(seeded, seeded.blue, *seeded.addressed([found]), is_private=True)
    shared = await post(seeded, seeded.blue, *seeded.addressed([seeded.fox, await human_of(seeded)]))
    await post(seeded, seeded.blue, *seeded.addressed([seeded.red, await human_of(seeded)]))
    lib = MailPageRequest(limit=9, project_key="code-lib")

    seen = await service.mail(as_agent(seeded.fox), MailPageRequest(limit=9))

    assert ids(await service.mail(OPERATOR, lib)) == [shared, letter]
    assert [one.head.id for one in (await service.to_person(OPERATOR, lib)).mail] == [shared, private, letter]
    assert (ids(seen), seen.places) == ([shared, letter], {shared: "code-lib", letter: "code-lib"})
    assert (await service.mail(OPERATOR, lib)).places == {}


async def test_the_persons_mail_is_asked_for_by_address_and_of_system_alone(
    seeded: SeededStore, service: OversightService
) -> None:
    human = await human_of(seeded)
    one = await post(seeded, seeded.blue, *seeded.addressed([human]))
    two = await post(seeded, seeded.lib_blue, *seeded.addressed([human]))
    told = await post(seeded, seeded.red, *seeded.addressed([human]), is_system=True)

    wishes: list[tuple[dict[str, Any], list[MessageId]]] = [
        ({"sender": "bluelake"}, [two, one]),
        ({"sender": "BlueLake@code-lib"}, [two]),
        ({"recipient": "Human@code-app"}, [told, two, one]),
        ({"recipient": "Human@code-lib"}, []),
        ({"is_system": True}, [told]),
        ({}, [told, two, one]),
    ]

    for wish, expected in wishes:
        found = await service.to_person(OPERATOR, MailPageRequest(limit=9, **wish))
        assert [mail.head.id for mail in found.mail] == expected, wish


async def test_what_needs_a_person_is_counted_and_listed_for_the_operator(
    seeded: SeededStore, service: OversightService
) -> None:
    human = await human_of(seeded)
    owed = await post(seeded, seeded.blue, *seeded.addressed([human]), ack_required=True)
    await post(seeded, seeded.blue, *seeded.addressed([human]))

    needs = await service.needs(OPERATOR)

    assert [one.head.id for one in needs.owed] == [owed]
    assert await service.count(OPERATOR) == NeedCounts(unread=2, needs=1)
    assert await service.count(ANYBODY) == NeedCounts(unread=0, needs=0)


async def test_what_waits_for_a_person_is_nobody_elses_to_see(seeded: SeededStore, service: OversightService) -> None:
    for caller in (ANYBODY, as_agent(seeded.red)):
        with pytest.raises(PermissionDenied):
            await service.needs(caller)
        with pytest.raises(PermissionDenied):
            await service.to_person(caller, MailPageRequest(limit=9))


async def test_a_person_is_written_to_by_whom_and_what_is_read_is_not_unread(
    seeded: SeededStore, service: OversightService
) -> None:
    human = await human_of(seeded)
    asks = await post(seeded, seeded.blue, *seeded.addressed([human]), ack_required=True)
    tells = await post(seeded, seeded.blue, *seeded.addressed([human]))

    unread = (await service.to_person(OPERATOR, MailPageRequest(limit=9))).mail
    owed = (await service.to_person(OPERATOR, MailPageRequest(limit=9), owes_ack=True)).mail
    older = (await service.to_person(OPERATOR, MailPageRequest(limit=9, before=tells))).mail

    assert [one.head.id for one in unread] == [tells, asks]
    assert [one.head.id for one in owed] == [one.head.id for one in older] == [asks]


async def test_beside_a_message_stands_how_much_came_later(seeded: SeededStore, service: OversightService) -> None:
    first = await post(seeded, seeded.blue, *seeded.addressed([seeded.red]), thread_id="T")
    for _ in range(2):
        await post(seeded, seeded.blue, *seeded.addressed([seeded.red]), thread_id="T")

    assert (await service.beside(first, seeded.app, "T")).newer == 2
    assert (await service.beside(first, seeded.app, None)).newer == 0
    assert (await service.beside(first, seeded.app, "T")).commit is None
    assert (await service.beside(first, seeded.lib, "T")).newer == 0


async def test_beside_a_message_stand_its_neighbours_in_the_thread(
    seeded: SeededStore, service: OversightService
) -> None:
    ids = [await post(seeded, seeded.blue, *seeded.addressed([seeded.red]), thread_id="T") for _ in range(3)]

    found = [await service.beside(one, seeded.app, "T") for one in ids]

    assert [(one.before, one.after) for one in found] == [(None, ids[1]), (ids[0], ids[2]), (ids[1], None)]


async def test_a_page_of_a_thread_knows_what_is_before_it_and_where_the_last_begins(
    seeded: SeededStore, service: OversightService
) -> None:
    ids = [await post(seeded, seeded.blue, *seeded.addressed([seeded.red]), thread_id="T") for _ in range(5)]

    places = [await service.thread_place(seeded.app, "T", after, page_size=2) for after in (0, ids[1], ids[3])]

    assert [(one.before, one.earlier, one.newest) for one in places] == [
        (0, None, ids[2]),
        (2, None, ids[2]),
        (4, ids[1], ids[2]),
    ]


async def test_what_a_thread_is_named_by_counts_as_its_first(seeded: SeededStore, service: OversightService) -> None:
    root = await post(seeded, seeded.blue, *seeded.addressed([seeded.red]))
    answer = await post(seeded, seeded.red, *seeded.addressed([seeded.blue]), thread_id=str(root))

    named = await service.thread_place(seeded.app, str(root), answer, page_size=2)
    elsewhere = await service.thread_place(seeded.lib, str(root), 0, page_size=2)

    assert (named.before, named.subject is not None) == (2, True)
    assert (elsewhere.before, elsewhere.subject) == (0, None)


async def test_the_last_page_of_a_thread_counts_what_it_is_named_by(
    seeded: SeededStore, service: OversightService
) -> None:
    root = await post(seeded, seeded.blue, *seeded.addressed([seeded.red]))
    for _ in range(2):
        await post(seeded, seeded.red, *seeded.addressed([seeded.blue]), thread_id=str(root))

    assert (await service.thread_place(seeded.app, str(root), 0, page_size=2)).newest == root


async def test_before_the_first_answer_stands_what_was_answered(seeded: SeededStore, service: OversightService) -> None:
    root = await post(seeded, seeded.blue, *seeded.addressed([seeded.red]))
    answer = await post(seeded, seeded.red, *seeded.addressed([seeded.blue]), thread_id=str(root))

    assert (await service.beside(root, seeded.app, None)).after == answer
    assert (await service.beside(answer, seeded.app, str(root))).before == root
    assert (await service.beside(root, seeded.app, None)).before is None


async def test_a_root_of_another_project_is_no_neighbour(seeded: SeededStore, service: OversightService) -> None:
    foreign = await post(seeded, seeded.lib_blue, *seeded.addressed([seeded.lib_blue]))
    answer = await post(seeded, seeded.red, *seeded.addressed([seeded.blue]), thread_id=str(foreign))

    assert (await service.beside(answer, seeded.app, str(foreign))).before is None


async def test_a_project_is_found_by_slug_path_or_number(seeded: SeededStore, service: OversightService) -> None:
    for key in ("code-app", "/code/app", str(seeded.app.id)):
        assert (await service.project(key)).id == seeded.app.id, key
    for key in ("", "none", "99", "\u0661", "1" * 20, ".."):
        with pytest.raises(UnknownProject):
            await service.project(key)


async def test_projects_are_the_newest_so_many(service: OversightService) -> None:
    assert [one.slug for one in await service.projects(limit=9)] == ["code-lib", "code-app"]
    assert [one.name for one in await service.projects(limit=1)] == ["lib"]
