"""Keys that are changed under load, and an issuer that goes away meanwhile: no good token is refused."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mcp_agent_mail.server.jwt.proofs import JwtReason, JwtRefused, KeysPending, KeyUnknown
from mcp_agent_mail.server.jwt.verifier import JwtVerifier, jwt_verifier
from tests.core.machine import Machine
from tests.server.jwt.issuing import (
    AUDIENCE,
    ISSUER,
    FakeClock,
    Issuer,
    claims,
    issuing,
    new_key,
    public,
    signed,
    until,
)

MINUTE, HOUR = 60, 3_600


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@asynccontextmanager
async def verifying(machine: Machine, clock: FakeClock, issuer: Issuer) -> AsyncIterator[JwtVerifier]:
    given = {"HTTP_JWT_JWKS_URL": issuer.url, "HTTP_JWT_AUDIENCE": AUDIENCE, "HTTP_JWT_ISSUER": ISSUER}
    verifier = jwt_verifier(machine.settings(HTTP_JWT_ENABLED="true", **given), clock=clock)
    verifier.start()
    try:
        yield verifier
    finally:
        await verifier.stop()


def published(number: int) -> dict[str, object]:
    return public(new_key("ES256", number), kid=f"key-{number}")


def token(number: int, clock: FakeClock, subject: str) -> str:
    said = claims(sub=subject, iat=int(clock.now_s), exp=int(clock.now_s) + 15 * MINUTE)
    return signed(said, algorithm="ES256", key=new_key("ES256", number), header={"kid": f"key-{number}"})


async def outcome(verifier: JwtVerifier, text: str) -> str:
    try:
        await verifier.verify(text)
    except JwtRefused as refused:
        return refused.reason.value
    except KeysPending:
        return "away"
    return "good"


async def test_keys_are_rotated_under_load_and_no_good_token_is_refused(machine: Machine) -> None:
    """Ten rotations. Each new key signs in the very moment in which it is published, and the one before goes on signing
    for others; old tokens are used beside new ones.
    """
    clock, told, used = FakeClock(), Counter[str](), set[int]()
    newest = 0
    is_over = asyncio.Event()

    async def under_load() -> None:
        """Until the newest key was used, among some hundred other uses."""
        enough = told.total() + 300
        await until(lambda: newest in used and told.total() > enough)

    async def client(verifier: JwtVerifier, number: int) -> None:
        kept, made_with, uses = "", -1, 0
        while not is_over.is_set():
            if made_with not in (newest, newest - 1) or uses % 20 == 0:
                made_with = newest if number % 2 else max(newest - 1, 0)
                kept = token(made_with, clock, f"{number}-{uses}")
            told[await outcome(verifier, kept)] += 1
            used.add(made_with)
            uses += 1
            await asyncio.sleep(0)

    async with issuing(published(0)) as issuer, verifying(machine, clock, issuer) as verifier:
        clients = [asyncio.create_task(client(verifier, number)) for number in range(16)]
        for number in range(1, 11):
            await under_load()
            clock.now_s += MINUTE
            issuer.publish(published(number), published(number - 1), published(max(number - 2, 0)))
            newest = number
        await under_load()
        is_over.set()
        await asyncio.gather(*clients)

    assert set(told) == {"good"}, told
    assert told["good"] > 3_000
    assert issuer.looks == 11, "one for each key that was met first in a token"


async def test_a_flood_of_made_up_keys_asks_the_issuer_once_a_minute_and_refuses_no_good_token(
    machine: Machine,
) -> None:
    clock = FakeClock()

    async with issuing(published(0)) as issuer, verifying(machine, clock, issuer) as verifier:
        good = [token(0, clock, f"{number}") for number in range(100)]
        made_up = [
            signed(algorithm="ES256", key=new_key("ES256", 9), header={"kid": f"x{number}"}) for number in range(500)
        ]
        for _ in range(3):
            found = await asyncio.gather(*(outcome(verifier, text) for text in [*made_up, *good]))
            assert Counter(found) == {JwtReason.KEY.value: 500, "good": 100}
            clock.now_s += MINUTE

    assert issuer.looks == 4


async def test_a_new_key_is_refused_to_nobody_while_somebody_makes_up_keys(machine: Machine) -> None:
    """Whose tokens come in the rest of the minute are told when to come again, and are good then."""
    clock = FakeClock()

    async with issuing(published(0)) as issuer, verifying(machine, clock, issuer) as verifier:
        assert await outcome(verifier, token(9, clock, "nobody")) == "key"
        issuer.publish(published(0), published(1))
        new = token(1, clock, "ada")
        with pytest.raises(KeyUnknown) as unknown:
            await verifier.verify(new)
        clock.now_s += unknown.value.retry_after_s
        assert await outcome(verifier, token(8, clock, "nobody, who asks first")) == "key"

        assert await outcome(verifier, new) == "good"

    assert issuer.looks == 3


async def test_a_key_that_was_taken_back_proves_nothing_more(machine: Machine) -> None:
    """Nor does what was remembered of its tokens."""
    clock = FakeClock()

    async with issuing(published(0), published(1)) as issuer, verifying(machine, clock, issuer) as verifier:
        old, other = token(0, clock, "ada"), token(1, clock, "eve")
        assert [await outcome(verifier, text) for text in (old, other)] == ["good", "good"]

        issuer.publish(published(1))
        clock.now_s += 10 * MINUTE
        await outcome(verifier, other)
        await until(lambda: issuer.looks == 2 and not _is_looking(verifier))

        assert [await outcome(verifier, text) for text in (old, other)] == ["key", "good"]


async def test_another_key_of_the_same_name_takes_its_place(machine: Machine) -> None:
    clock = FakeClock()

    async with issuing(published(0)) as issuer, verifying(machine, clock, issuer) as verifier:
        assert await outcome(verifier, token(0, clock, "ada")) == "good"

        issuer.publish({**published(1), "kid": "key-0"})
        clock.now_s += 10 * MINUTE
        await outcome(verifier, token(0, clock, "ada"))
        await until(lambda: issuer.looks == 2 and not _is_looking(verifier))

        assert await outcome(verifier, token(0, clock, "ada")) == "signature"


async def test_an_issuer_whose_keys_have_no_names_may_change_them_too(machine: Machine) -> None:
    clock = FakeClock()
    nameless = [public(new_key("ES256", number)) for number in range(2)]

    def made(number: int) -> str:
        return signed(algorithm="ES256", key=new_key("ES256", number))

    async with issuing(nameless[0]) as issuer, verifying(machine, clock, issuer) as verifier:
        assert await outcome(verifier, made(0)) == "good"
        issuer.publish(*nameless)

        assert [await outcome(verifier, made(number)) for number in (0, 1)] == ["good", "good"]
        assert await outcome(verifier, made(2)) == "away", "the issuer was asked a moment ago"
        clock.now_s += MINUTE
        assert await outcome(verifier, made(2)) == "key"


async def test_the_issuer_away_for_an_hour_and_for_a_day(machine: Machine) -> None:
    clock = FakeClock()

    async with issuing(published(0)) as issuer, verifying(machine, clock, issuer) as verifier:
        assert await outcome(verifier, token(0, clock, "ada")) == "good"
        issuer.is_away = True
        began_s = clock.now_s

        for minute in range(HOUR // MINUTE):
            clock.now_s += MINUTE
            assert await outcome(verifier, token(0, clock, f"{minute}")) == "good"
        assert await outcome(verifier, token(1, clock, "new key")) == "away"
        clock.now_s = began_s + 24 * HOUR - 1
        kept = token(0, clock, "the last")
        assert await outcome(verifier, kept) == "good"
        clock.now_s += 1
        assert await outcome(verifier, kept) == "away"
        issuer.is_away = False
        clock.now_s += MINUTE
        assert await outcome(verifier, kept) == "good"


def _is_looking(verifier: JwtVerifier) -> bool:
    assert verifier.key_set is not None
    return verifier.key_set._is_look_coming()
