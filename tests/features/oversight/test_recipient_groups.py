from __future__ import annotations

import pytest

from mcp_agent_mail.core.errors import PermissionDenied
from mcp_agent_mail.core.ids import new_product_uid
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.messages import MAX_NAMED_RECIPIENTS
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.oversight import recipient_groups
from mcp_agent_mail.features.oversight.recipient_groups import (
    MOST_GROUPS,
    GroupService,
    NobodyInGroup,
    TooManyGroups,
    UnknownGroup,
    is_group,
)
from mcp_agent_mail.store.transaction import Tx
from tests.seeded_store import SeededStore
from tests.store.grants import grant

OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.OPEN)
ANYBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)
DAY_S = 86_400


async def expand(seeded: SeededStore, *names: str, thread_id: str = "") -> list[str]:
    return await GroupService(seeded.store).expanded(OPERATOR, seeded.app, names, thread_id)


async def hold(seeded: SeededStore, agent: Agent, path: str) -> None:
    await grant(seeded, agent, path)


async def link(seeded: SeededStore, name: str, *projects: Project) -> str:
    def unit(tx: Tx) -> str:
        product = tx.products.add(uid=new_product_uid(), name=name, now=tx.now)
        for project in projects:
            tx.products.link(product, project.id, tx.now)
        return product.uid

    return await seeded.store.write(unit)


async def test_who_holds_a_reservation_here_by_name_and_once(seeded: SeededStore) -> None:
    for agent, path in ((seeded.red, "a.py"), (seeded.blue, "b.py"), (seeded.blue, "c.py"), (seeded.fox, "d.py")):
        await hold(seeded, agent, path)

    assert await expand(seeded, "@reservations") == ["BlueLake", "RedStone"]
    assert await expand(seeded, "GreenField", "@Reservations", "BlueLake") == ["GreenField", "BlueLake", "RedStone"]


async def test_who_is_in_a_thread_of_other_projects_too(seeded: SeededStore) -> None:
    await seeded.post(seeded.letter(seeded.red, thread_id="T-1"), *seeded.addressed([seeded.fox]))

    assert await expand(seeded, "@thread:T-1") == ["RedStone", f"QuietFox@{seeded.lib.slug}"]
    assert await expand(seeded, "@thread", thread_id="T-1") == await expand(seeded, "@thread:T-1")


async def test_who_runs_one_program_and_was_active_lately(seeded: SeededStore) -> None:
    assert await expand(seeded, "@program:TEST") == ["BlueLake", "GreenField", "RedStone"]

    seeded.clock.step(31 * DAY_S)
    await seeded.store.write(lambda tx: tx.agents.touch_many([(seeded.red.id, tx.now)]))

    assert await expand(seeded, "@program:test") == ["RedStone"]


async def test_who_works_in_a_product_by_its_name_or_uid(seeded: SeededStore) -> None:
    uid = await link(seeded, "Store, front", seeded.app, seeded.lib)

    everyone = await expand(seeded, f"@product:{uid}")

    lib = seeded.lib.slug
    assert everyone == ["BlueLake", "GreenField", "RedStone", f"BlueLake@{lib}", f"QuietFox@{lib}"]
    assert await expand(seeded, "@product:store, FRONT") == everyone


async def test_of_products_of_others_nobody_is_reached(seeded: SeededStore) -> None:
    await link(seeded, "Library", seeded.lib)

    with pytest.raises(NobodyInGroup):
        await expand(seeded, "@product:Library")


async def test_nobody_retired_is_in_a_group(seeded: SeededStore) -> None:
    await hold(seeded, seeded.red, "a.py")
    await seeded.store.write(lambda tx: tx.agents.set_retired(seeded.red.id, tx.now, tx.now))

    with pytest.raises(NobodyInGroup):
        await expand(seeded, "@reservations")


@pytest.mark.parametrize("word", ["@", "@all", "@thread", "@thread:", "@program:", "@product", "@reservations:x"])
async def test_what_is_no_group_is_refused(seeded: SeededStore, word: str) -> None:
    assert is_group(word)
    with pytest.raises(UnknownGroup, match="is no group"):
        await expand(seeded, word)


async def test_one_message_takes_so_many_groups(seeded: SeededStore) -> None:
    words = ["@program:test"] * MOST_GROUPS

    assert len(await expand(seeded, *words)) == 3
    with pytest.raises(TooManyGroups):
        await expand(seeded, *words, "@reservations")


async def test_names_without_a_group_stay_as_they_are_written(seeded: SeededStore) -> None:
    names = ("Name@project", "project:x#Name", "Nobody")

    assert await expand(seeded, *names) == list(names)
    assert not any(map(is_group, names))


async def test_groups_that_somebody_is_in_are_offered(seeded: SeededStore, monkeypatch: pytest.MonkeyPatch) -> None:
    uid = await link(seeded, "Store, front", seeded.app)
    await hold(seeded, seeded.red, "a.py")
    await seeded.post(seeded.letter(seeded.red, thread_id="T-1"), *seeded.addressed([seeded.blue]))
    groups = GroupService(seeded.store)

    offered = await groups.offered(OPERATOR, seeded.app, "T-1")
    elsewhere = await groups.offered(OPERATOR, seeded.lib, "T-9")
    monkeypatch.setattr(recipient_groups, "MOST_PROGRAMS", 0)
    fewer = await groups.offered(OPERATOR, seeded.app)

    assert [(one.word, one.count) for one in offered] == [
        ("@reservations", 1), ("@thread:T-1", 2), ("@program:test", 3), (f"@product:{uid}", 3),
    ]  # fmt: skip
    assert [one.word for one in elsewhere] == ["@program:test"]
    assert [one.word for one in fewer] == ["@reservations", f"@product:{uid}"]


async def test_an_ended_reservation_holds_nobody(seeded: SeededStore) -> None:
    await hold(seeded, seeded.red, "a.py")
    seeded.clock.step(30 * DAY_S)

    with pytest.raises(NobodyInGroup):
        await expand(seeded, "@reservations")


async def test_groups_are_the_operators_alone(seeded: SeededStore) -> None:
    groups = GroupService(seeded.store)

    with pytest.raises(PermissionDenied):
        await groups.offered(ANYBODY, seeded.app)
    with pytest.raises(PermissionDenied):
        await groups.expanded(ANYBODY, seeded.app, ["@reservations"])


async def test_a_group_gives_no_more_than_one_beyond_what_a_message_may_have(
    seeded: SeededStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert recipient_groups._MOST == MAX_NAMED_RECIPIENTS + 1
    monkeypatch.setattr(recipient_groups, "_MOST", 2)
    for agent in (seeded.red, seeded.blue, seeded.green):
        await hold(seeded, agent, f"{agent.name}.py")

    assert await expand(seeded, "@reservations") == ["BlueLake", "GreenField"]
