from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import PermissionDenied
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.core.tools import Credentials, call_as
from mcp_agent_mail.domain.doors.names import Door, NameOwnedElsewhere
from mcp_agent_mail.domain.identity.admission import ProjectAdmission, lets_in
from mcp_agent_mail.domain.identity.caller import (
    AgentAuth,
    Caller,
    NotTheDoors,
    ReservedIdentity,
    WrongToken,
    find_unproven,
    require_operator,
    require_to_act,
)
from mcp_agent_mail.features.identity.door_callers import newcomers_caller, resolve_door_caller
from mcp_agent_mail.store.transaction import Tx
from tests.seeded_store import SeededStore, open_seeded_store


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


@pytest.mark.parametrize("auth", list(AgentAuth))
async def test_a_doors_caller_acts_as_its_one_agent_and_is_proven_by_nothing(
    auth: AgentAuth, seeded: SeededStore
) -> None:
    def unit(tx: Tx) -> tuple[Caller, bool]:
        known = tx.wire_names.own(tx.wire_names.add(seeded.app.id, seeded.blue.id, "bob", tx.now), Door.POSTAL)
        caller, becomes_own = resolve_door_caller(tx, Door.POSTAL, known, seeded.blue, auth)
        with pytest.raises(NameOwnedElsewhere):
            resolve_door_caller(tx, Door.AGENTMAIL, known, seeded.blue, auth)
        assert require_to_act(caller, seeded.blue) is False
        with pytest.raises(NotTheDoors):
            require_to_act(caller, seeded.red)
        return caller, becomes_own

    caller, becomes_own = await seeded.store.write(unit)

    assert becomes_own is False
    assert caller.is_verified is False


def test_who_comes_by_a_door_is_let_in_and_is_nobody_else() -> None:
    caller = newcomers_caller(AgentAuth.STRICT)

    assert all(lets_in(admission, caller, ProjectId(1)) for admission in ProjectAdmission)
    assert find_unproven(caller, "Reading mail") is not None
    with pytest.raises(PermissionDenied):
        require_operator(caller)


async def test_no_door_speaks_as_human_or_system(seeded: SeededStore) -> None:
    residents = await seeded.store.read(
        lambda view: [view.agents.find_by_name(seeded.app.id, name) for name in ("Human", "System")]
    )

    for resident in residents:
        assert resident is not None
        with pytest.raises(ReservedIdentity):
            require_to_act(newcomers_caller(AgentAuth.OPEN), resident)


@pytest.mark.parametrize(
    ("credentials", "speaks"),
    [
        (Credentials(via="mcp"), True),
        (Credentials(via="mcp", claimed_agents=("bluelake@/code/app",)), True),
        (Credentials(via="mcp", claimed_agents=("RedStone", "BlueLake@/code/app")), True),
        (Credentials(via="mcp", claimed_agents=("BlueLake",)), False),  # Two projects have one.
        (Credentials(via="mcp", claimed_agents=("RedStone@/code/app",)), False),
        (Credentials(via="mcp", claimed_agents=("BlueLake@/code/elsewhere",)), False),
        (Credentials(via="mcp", claimed_agents=("(nobody)",)), False),
        (Credentials(via="mcp", issued_to=AgentId(9_999)), False),
    ],
)
async def test_a_token_of_an_agents_lets_nobody_speak_as_another_by_a_door(
    credentials: Credentials, speaks: bool, seeded: SeededStore
) -> None:
    def unit(tx: Tx) -> Caller:
        known = tx.wire_names.own(tx.wire_names.add(seeded.app.id, seeded.blue.id, "bob", tx.now), Door.POSTAL)
        return resolve_door_caller(tx, Door.POSTAL, known, seeded.blue, AgentAuth.OPEN)[0]

    async def speak() -> Caller:
        return await seeded.store.write(unit)

    if speaks:
        assert (await call_as(credentials, speak, {})).agent_id == seeded.blue.id
    else:
        with pytest.raises(WrongToken, match="another agent's than BlueLake's"):
            await call_as(credentials, speak, {})


async def test_the_token_that_was_issued_to_an_agent_speaks_as_it(seeded: SeededStore) -> None:
    def unit(tx: Tx) -> Caller:
        known = tx.wire_names.own(tx.wire_names.add(seeded.app.id, seeded.blue.id, "bob", tx.now), Door.POSTAL)
        return resolve_door_caller(tx, Door.POSTAL, known, seeded.blue, AgentAuth.OPEN)[0]

    async def speak() -> Caller:
        return await seeded.store.write(unit)

    caller: Caller = await call_as(Credentials(via="mcp", issued_to=seeded.blue.id), speak, {})

    assert caller.agent_name == "BlueLake"
