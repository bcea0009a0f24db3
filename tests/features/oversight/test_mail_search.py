from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mcp_agent_mail.core.errors import AuthenticationRequired
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.messages import Importance, RecipientKind
from mcp_agent_mail.domain.projects import UnknownProject
from mcp_agent_mail.features.oversight import mail_search
from mcp_agent_mail.features.oversight.mail_search import HitsRequest, OversightSearch
from tests.seeded_store import SeededStore

OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.STRICT)
ANYBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)
UNPROVEN = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.STRICT)


def proven(agent: Agent) -> Caller:
    return Caller(
        kind=CallerKind.AGENT,
        auth=AgentAuth.STRICT,
        agent_id=agent.id,
        agent_name=agent.name,
        project_id=agent.project_id,
    )


async def write(seeded: SeededStore, sender: Agent, *to: Agent, is_private: bool = False, **given: Any) -> MessageId:
    letter = replace(seeded.letter(sender, **{"body": "parser", **given}), is_private=is_private)
    message, _ = await seeded.post(letter, *seeded.addressed(to))
    return message.id


async def found(seeded: SeededStore, caller: Caller, words: str = "parser", **request: Any) -> set[MessageId]:
    answer = await OversightSearch(seeded.store).find(caller, HitsRequest(words=words, **{"limit": 9, **request}))
    return {hit.id for hit in answer.hits}


async def test_an_agent_finds_what_its_own_project_may_read(seeded: SeededStore) -> None:
    ours = await write(seeded, seeded.blue, seeded.red)
    theirs = await write(seeded, seeded.fox, seeded.lib_blue)

    assert await found(seeded, OPERATOR) == await found(seeded, ANYBODY) == {ours, theirs}
    assert await found(seeded, proven(seeded.red)) == {ours}
    assert await found(seeded, proven(seeded.red), project_key="code-lib") == set()
    assert await found(seeded, OPERATOR, project_key="code-lib") == {theirs}
    linked = replace(proven(seeded.red), linked_projects=frozenset({seeded.lib.id}))
    assert await found(seeded, linked) == {ours, theirs}
    with pytest.raises(AuthenticationRequired):
        await found(seeded, UNPROVEN)
    with pytest.raises(UnknownProject):
        await found(seeded, OPERATOR, project_key="nowhere")


async def test_private_mail_of_others_is_not_found_by_who_is_no_party_to_it(seeded: SeededStore) -> None:
    private = await write(seeded, seeded.blue, seeded.red, is_private=True)
    letter = seeded.letter(seeded.blue, body="parser")
    blind = seeded.addressed([seeded.fox], RecipientKind.BCC)
    mixed = (await seeded.post(letter, *seeded.addressed([seeded.red]), *blind))[0].id

    assert private not in await found(seeded, ANYBODY)
    assert private not in await found(seeded, proven(seeded.green))
    assert await found(seeded, ANYBODY) == {mixed}
    # The blind copy tells nobody of the library that there is such mail.
    assert await found(seeded, proven(seeded.lib_blue)) == await found(seeded, ANYBODY, project_key="code-lib") == set()


async def test_mail_is_found_by_sender_importance_and_topic(seeded: SeededStore) -> None:
    plain = await write(seeded, seeded.blue, seeded.red)
    urgent = await write(seeded, seeded.red, seeded.blue, importance=Importance.URGENT)
    other = await write(seeded, seeded.lib_blue, seeded.fox, topic="build")

    for request, expected in (
        ({"sender": "bluelake"}, {plain, other}),
        ({"sender": "bluelake", "project_key": "/code/lib"}, {other}),
        ({"sender": "Nobody"}, set()),
        ({"importance": Importance.URGENT}, {urgent}),
        ({"topic": "build"}, {other}),
    ):
        assert await found(seeded, OPERATOR, **request) == expected, request


async def test_what_waits_for_the_person_is_found_by_the_operator_alone(seeded: SeededStore) -> None:
    human = await seeded.store.read(lambda view: view.agents.find_by_name(seeded.app.id, "Human"))
    assert human is not None
    await write(seeded, seeded.blue, seeded.red, ack_required=True)
    seen, tells = [await write(seeded, seeded.blue, human) for _ in range(2)]
    asks = await write(seeded, seeded.blue, human, ack_required=True)
    await seeded.store.write(lambda tx: tx.inboxes.mark_read(human.id, seen, tx.now))

    assert await found(seeded, OPERATOR, is_unread=True) == {tells, asks}
    assert await found(seeded, OPERATOR, needs_ack=True) == {asks}
    assert await found(seeded, OPERATOR, is_unread=True, needs_ack=True) == {asks}
    for caller in (ANYBODY, proven(seeded.blue)):
        assert await found(seeded, caller, is_unread=True) == await found(seeded, caller, needs_ack=True) == set()


async def test_an_agent_finds_what_came_to_it_alone(seeded: SeededStore) -> None:
    private = await write(seeded, seeded.blue, seeded.red, is_private=True)
    blind = seeded.addressed([seeded.fox], RecipientKind.BCC)
    mixed = (await seeded.post(seeded.letter(seeded.blue, body="parser"), *blind))[0].id

    for agent, expected in (
        (seeded.red, {private, mixed}),
        (seeded.green, {mixed}),
        (seeded.fox, {mixed}),
        (seeded.lib_blue, set()),
    ):
        assert await found(seeded, proven(agent)) == expected, (agent.name, agent.project_id)


async def test_no_more_is_found_or_searched_than_the_bounds_and_that_is_told(
    seeded: SeededStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mail_search, "MOST_PROJECTS", 1)
    await write(seeded, seeded.blue, seeded.red)
    newer = {await write(seeded, seeded.fox, seeded.lib_blue) for _ in range(2)}
    search = OversightSearch(seeded.store)

    one = await search.find(OPERATOR, HitsRequest(words="parser", limit=1))
    two = await search.find(OPERATOR, HitsRequest(words="parser", limit=2))
    nothing = await search.find(OPERATOR, HitsRequest(words=" * ", limit=2))

    assert (len(one.hits), one.has_more) == (1, True)
    assert ({hit.id for hit in two.hits}, two.has_more) == (newer, False)
    assert (two.project_count, two.has_more_projects) == (1, True)
    assert (nothing.hits, nothing.is_asked, nothing.has_more) == ([], False, False)


async def test_the_mail_of_system_alone_is_searched(seeded: SeededStore) -> None:
    letter = replace(seeded.letter(seeded.blue, body="parser"), is_system=True)
    told, _ = await seeded.post(letter, *seeded.addressed([seeded.red]))
    wrote = await write(seeded, seeded.blue, seeded.red)

    assert await found(seeded, OPERATOR, is_system=True) == {told.id}
    assert await found(seeded, OPERATOR, is_system=True, sender="BlueLake") == {told.id}
    assert await found(seeded, OPERATOR) == {told.id, wrote}
