"""What judged a JWT is known again while it is there: after a restart too, and by no other settings or key."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.core.settings.kinds import Secret
from mcp_agent_mail.server.jwt.judge_digests import judge_hash, settings_hash
from mcp_agent_mail.server.jwt.signatures import read_key_set, shared_key
from tests.core.machine import Machine
from tests.server.jwt.issuing import SECRET, FakeClock, claims, issuing, key_set, new_key, public, signed
from tests.server.jwt.test_verifier import with_issuer


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def test_settings_that_judge_otherwise_are_others(machine: Machine) -> None:
    base = {"HTTP_JWT_ENABLED": "true", "HTTP_JWT_SECRET": SECRET, "HTTP_JWT_AUDIENCE": "mail"}
    changed = (
        {"HTTP_JWT_SECRET": SECRET[::-1]},
        {"HTTP_JWT_AUDIENCE": "mail,post"},
        {"HTTP_JWT_ISSUER": "https://id.example"},
        {"HTTP_RBAC_OPERATOR_ROLES": "root"},
        {"HTTP_RBAC_ENABLED": "false"},
    )

    hashes = [settings_hash(machine.settings(**{**base, **one})) for one in ({}, *changed)]
    alike = settings_hash(machine.settings(**base, HTTP_PORT="9999", HTTP_BEARER_TOKEN="another-token-of-this"))

    assert len(set(hashes)) == len(hashes)
    assert alike == hashes[0]
    assert {len(one) for one in hashes} == {32}


def test_each_key_is_a_judge_of_its_own_by_its_name_too() -> None:
    one, other = new_key("ES256"), new_key("ES256", 1)
    named = [public(one, kid="a"), public(other, kid="b"), public(one, kid="c")]
    keys = read_key_set(key_set(*named), ("ES256",)).keys

    judges = [judge_hash(settings, key) for settings in (b"1", b"2") for key in keys]

    assert len(keys) == 3
    assert len(set(judges)) == 6
    assert judge_hash(b"1", shared_key(Secret(SECRET), ["HS256"]).keys[0]) not in judges


async def test_the_judge_of_a_token_goes_with_the_key_that_signed_it(machine: Machine, clock: FakeClock) -> None:
    one, other = new_key("ES256"), new_key("ES256", 1)
    told = claims(iat=int(clock.now_s), exp=int(clock.now_s) + 86_400)
    token = signed(told, algorithm="ES256", key=one, header={"kid": "one"})
    async with issuing(public(one, kid="one"), public(other, kid="other")) as issuer:
        async with with_issuer(machine, clock, issuer) as verifier:
            assert verifier.judges() is None
            await verifier.settle()
            before = verifier.judges()
            judge = (await verifier.verify(token)).judged_by
        issuer.publish(public(other, kid="other"))
        async with with_issuer(machine, clock, issuer) as verifier:
            await verifier.settle()
            after = verifier.judges()

    assert before is not None
    assert judge in before
    assert after == before - {judge}


async def test_while_the_issuer_is_away_nobody_is_known_to_judge(machine: Machine, clock: FakeClock) -> None:
    async with issuing() as issuer:
        gone = issuer
    async with with_issuer(machine, clock, gone) as verifier:
        await verifier.settle()
        assert verifier.judges() is None
