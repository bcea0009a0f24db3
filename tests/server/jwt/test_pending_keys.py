"""What is said of a token whose key is not known while nobody can tell whether it is good."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from mcp_agent_mail.server.jwt.key_document import KeyDocument
from mcp_agent_mail.server.jwt.key_set import KeySet
from mcp_agent_mail.server.jwt.proofs import KeyUnknown
from tests.server.jwt.issuing import FakeClock, Issuer, issuing, new_key, public, until

ONE = public(new_key("EdDSA"), kid="one")
TOKEN = b"of an unknown key"
MINUTE = 60


@asynccontextmanager
async def opened(clock: FakeClock, *, wait_s: float) -> AsyncIterator[tuple[KeySet, Issuer]]:
    async with issuing(ONE) as issuer:
        document = KeyDocument(issuer.url, ["EdDSA"])
        keys = KeySet(document.read, clock=clock, close=document.close, wait_s=wait_s)
        keys.start()
        try:
            yield keys, issuer
        finally:
            await keys.stop()


async def test_while_a_look_goes_on_the_token_is_told_to_come_again_at_once() -> None:
    async with opened(FakeClock(), wait_s=0.05) as (keys, issuer):
        await until(lambda: keys.figures().keys == 1)
        first = await keys.current()
        issuer.gate = asyncio.Event()

        with pytest.raises(KeyUnknown) as unknown:
            await keys.newer_than(first, TOKEN)
        issuer.gate.set()

    assert unknown.value.retry_after_s == 1


async def test_once_a_later_look_has_failed_nobody_can_tell_of_a_token_that_was_refused_before() -> None:
    clock = FakeClock()
    async with opened(clock, wait_s=20.0) as (keys, issuer):
        first = await keys.current()
        before = await keys.newer_than(first, TOKEN)
        issuer.is_away = True
        clock.now_s += MINUTE

        with pytest.raises(KeyUnknown) as unknown:
            await keys.newer_than(first, TOKEN)

    assert before is None
    assert unknown.value.retry_after_s == MINUTE
