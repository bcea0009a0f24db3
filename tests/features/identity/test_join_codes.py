from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.errors import Conflict, PermissionDenied
from mcp_agent_mail.core.ids import token_hash
from mcp_agent_mail.domain.identity.admission import MAX_OPEN_CODES, JoinCodeUsed, TooManyJoinCodes, UnknownJoinCode
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.features.identity.join_codes import JoinCodeService
from mcp_agent_mail.store.transaction import Tx
from tests.seeded_store import SeededStore, open_seeded_store

APP = "/code/app"
LIB = "/code/lib"
OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.OPEN)
ANYBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


@pytest.fixture
def codes(seeded: SeededStore) -> JoinCodeService:
    return JoinCodeService(seeded.store, clock=seeded.clock)


async def test_a_code_is_told_once_and_stored_as_its_hash_until_it_expires(
    seeded: SeededStore, codes: JoinCodeService
) -> None:
    invited = await codes.create(OPERATOR, APP, 60)

    found = await seeded.store.read(lambda view: view.join_codes.find(token_hash(invited.text)))
    assert found == invited.code
    assert invited.text.startswith("amj_")
    assert (invited.project.human_key, invited.code.expires_ts) == (APP, seeded.clock.now + 60 * SECOND)


async def test_codes_are_listed_by_project_newest_first(seeded: SeededStore, codes: JoinCodeService) -> None:
    made = [(await codes.create(OPERATOR, key, 60)).code.id for key in (APP, LIB, APP)]
    seeded.clock.step(5)

    listing = await codes.list_(OPERATOR, APP, 10)

    assert [code.id for code in listing.codes] == [made[2], made[0]]
    assert listing.at == seeded.clock.now


async def test_nobody_but_the_operator_makes_lists_or_takes_back_codes(codes: JoinCodeService) -> None:
    await codes.create(OPERATOR, APP, 60)

    with pytest.raises(PermissionDenied):
        await codes.create(ANYBODY, APP, 60)
    with pytest.raises(PermissionDenied):
        await codes.list_(ANYBODY, APP, 10)
    with pytest.raises(PermissionDenied):
        await codes.revoke(ANYBODY, APP, 1)


async def test_so_many_codes_wait_for_one_project_and_no_more(seeded: SeededStore, codes: JoinCodeService) -> None:
    def fill(tx: Tx) -> None:
        for number in range(MAX_OPEN_CODES):
            tx.join_codes.add(seeded.app.id, token_hash(str(number)), tx.now, Micros(tx.now + 60 * SECOND))

    await seeded.store.write(fill)

    with pytest.raises(TooManyJoinCodes):
        await codes.create(OPERATOR, APP, 60)
    assert (await codes.create(OPERATOR, LIB, 60)).project.human_key == LIB
    seeded.clock.step(60)
    assert (await codes.create(OPERATOR, APP, 60)).project.human_key == APP


async def test_an_archived_project_invites_nobody(seeded: SeededStore, codes: JoinCodeService) -> None:
    await seeded.store.write(lambda tx: tx.projects.set_archived(seeded.app.id, tx.now))

    with pytest.raises(Conflict):
        await codes.create(OPERATOR, APP, 60)


async def test_a_code_taken_back_is_gone(seeded: SeededStore, codes: JoinCodeService) -> None:
    invited = await codes.create(OPERATOR, APP, 60)

    await codes.revoke(OPERATOR, APP, invited.code.id)

    assert await seeded.store.read(lambda view: view.join_codes.find(token_hash(invited.text))) is None


async def test_a_code_of_another_project_or_none_is_not_taken_back(codes: JoinCodeService) -> None:
    invited = await codes.create(OPERATOR, APP, 60)

    for key, number in ((LIB, invited.code.id), (APP, invited.code.id + 1)):
        with pytest.raises(UnknownJoinCode):
            await codes.revoke(OPERATOR, key, number)


async def test_a_code_that_let_somebody_in_is_not_taken_back_and_says_whom(
    seeded: SeededStore, codes: JoinCodeService
) -> None:
    invited = await codes.create(OPERATOR, APP, 60)
    await seeded.store.write(lambda tx: tx.join_codes.use(invited.code.id, seeded.blue.id, tx.now))

    with pytest.raises(JoinCodeUsed) as refusal:
        await codes.revoke(OPERATOR, APP, invited.code.id)

    assert refusal.value.data == {"used_by": "BlueLake"}
    assert f"am token reissue BlueLake --project {seeded.app.slug}, " in refusal.value.hint
