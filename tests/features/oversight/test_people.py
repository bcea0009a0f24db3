from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.errors import AuthenticationRequired, PermissionDenied
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.contacts import LinkStatus
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.features.oversight import people
from mcp_agent_mail.features.oversight.contact_questions import EXCERPT_CHARACTERS
from mcp_agent_mail.features.oversight.people import PeopleService
from mcp_agent_mail.store.transaction import Tx
from tests.seeded_store import SeededStore
from tests.store.grants import grant

OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.OPEN)
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


async def hold_mail(seeded: SeededStore, count: int, body: str) -> None:
    """BlueLake of the application has written to QuietFox of the library, who has to be asked first."""
    await seeded.store.write(
        lambda tx: tx.contacts.put(
            seeded.blue.id,
            seeded.fox.id,
            status=LinkStatus.PENDING,
            reason="please",
            expires_ts=Micros(tx.now + 60 * SECOND),
            now=tx.now,
        )
    )
    (copy,) = seeded.addressed([seeded.fox])
    for _ in range(count):
        await seeded.post(seeded.letter(seeded.blue, body=body), replace(copy, held_code="contact_required"))


async def test_who_asks_is_shown_with_the_first_of_the_held_mail_and_its_beginning(
    seeded: SeededStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(people, "MOST_HELD_OF_REQUEST", 2)
    await hold_mail(seeded, 3, "x" * (EXCERPT_CHARACTERS + 1))

    (one,) = await PeopleService(seeded.store).screened(OPERATOR, seeded.lib)

    assert (one.contact.source.name, one.contact.reason, one.held_total) == ("BlueLake", "please", 3)
    assert [(held.excerpt, held.is_whole) for held in one.held] == [("x" * EXCERPT_CHARACTERS, False)] * 2
    assert await PeopleService(seeded.store).screened(OPERATOR, seeded.app) == []


async def test_contacts_are_shown_to_the_operator_alone(seeded: SeededStore) -> None:
    service = PeopleService(seeded.store)

    for caller in (ANYBODY, UNPROVEN, proven(seeded.fox)):
        with pytest.raises(PermissionDenied):
            await service.screened(caller, seeded.lib)
        with pytest.raises(PermissionDenied):
            await service.links(caller, seeded.lib, before=None, limit=10)


async def test_leases_are_for_those_who_may_read_the_projects_work(seeded: SeededStore) -> None:
    service = PeopleService(seeded.store)
    await grant(seeded, seeded.blue, "a.py", "b.py")
    await grant(seeded, seeded.fox, "c.py")

    async def seen(caller: Caller) -> tuple[dict[int, int], int, list[str]]:
        counts = await service.lease_counts(caller, seeded.app, [seeded.blue.id, seeded.red.id])
        held = await service.leases_of(caller, seeded.app, seeded.blue.id)
        live = await service.live_leases(caller, 10)
        return {int(one): count for one, count in counts.items()}, len(held), [lease.path_pattern for _, lease in live]

    everything = ({seeded.blue.id: 2, seeded.red.id: 0}, 2, ["c.py", "a.py", "b.py"])
    assert await seen(OPERATOR) == await seen(ANYBODY) == everything
    assert await seen(proven(seeded.red)) == (everything[0], 2, ["a.py", "b.py"])
    assert await seen(proven(seeded.fox)) == ({}, 0, ["c.py"])
    with pytest.raises(AuthenticationRequired):
        await service.live_leases(UNPROVEN, 10)


async def test_all_projects_share_the_bound_of_live_leases(seeded: SeededStore) -> None:
    await grant(seeded, seeded.blue, "a.py", "b.py")
    await grant(seeded, seeded.fox, "c.py")

    found = await PeopleService(seeded.store).live_leases(OPERATOR, 2)

    assert [(project.slug, lease.path_pattern) for project, lease in found] == [
        (seeded.lib.slug, "c.py"),
        (seeded.app.slug, "a.py"),
    ]


async def test_a_project_is_counted_as_far_as_the_caller_may_know(seeded: SeededStore) -> None:
    await hold_mail(seeded, 1, "body")
    await seeded.post(seeded.letter(seeded.fox), *seeded.addressed([seeded.lib_blue]))
    await grant(seeded, seeded.fox, "c.py")

    async def counted(caller: Caller) -> dict[str, tuple[int | None, ...]]:
        found = await PeopleService(seeded.store).projects(caller, before=None, limit=10)
        return {
            one.project.slug: (one.agents, one.mail, one.leases, one.unread, one.requests) for one in found.projects
        }

    assert (await counted(OPERATOR))[seeded.lib.slug] == (2, 1, 1, 0, 1)
    assert (await counted(ANYBODY))[seeded.lib.slug] == (2, 1, 1, None, None)
    assert (await counted(proven(seeded.blue)))[seeded.lib.slug] == (2, None, None, None, None)


async def test_projects_lead_on_and_those_set_aside_are_among_them(seeded: SeededStore) -> None:
    service = PeopleService(seeded.store)
    await seeded.store.write(lambda tx: tx.projects.set_archived(seeded.app.id, tx.now))

    first = await service.projects(OPERATOR, before=None, limit=1)
    rest = await service.projects(OPERATOR, before=first.next_before, limit=1)

    assert [one.project.slug for page in (first, rest) for one in page.projects] == [seeded.lib.slug, seeded.app.slug]
    assert rest.next_before is None
    assert rest.projects[0].project.is_archived


async def test_an_agent_sees_the_products_of_its_own_project(seeded: SeededStore) -> None:
    service = PeopleService(seeded.store)

    def make(tx: Tx) -> None:
        for name, project in (("Ours", seeded.app), ("Theirs", seeded.lib)):
            product = tx.products.add(uid=name, name=name, now=tx.now)
            tx.products.link(product, project.id, tx.now)

    await seeded.store.write(make)

    async def names(caller: Caller) -> list[str]:
        found = await service.products(caller, before=None, limit=10)
        return [one.product.name for one in found.products]

    assert await names(OPERATOR) == ["Theirs", "Ours"]
    assert await names(proven(seeded.blue)) == ["Ours"]
    with pytest.raises(AuthenticationRequired):
        await names(UNPROVEN)
