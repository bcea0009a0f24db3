"""Registering under a name that exists: what it says, and which name is offered instead."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.domain.identity.caller import WrongToken
from mcp_agent_mail.domain.identity.names import is_generated_form
from tests.features.identity.harness import OPERATOR, PROJECT, IdentityHarness, Ticking, open_identity, with_token


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[IdentityHarness]:
    async with open_identity(tmp_path, clock=Ticking()) as opened:
        await opened.call("ensure_project", human_key=PROJECT)
        yield opened


async def test_taking_a_name_that_exists_says_so_whose_it_was_and_which_is_free(harness: IdentityHarness) -> None:
    first = await harness.register("BlueLake", program="editor", model="m1")

    again = await harness.register("bluelake", program="terminal", model="m2")

    assert not {"existing", "was", "hint"} & set(first)
    assert (again["id"], again["program"], again["existing"]) == (first["id"], "terminal", True)
    assert (again["was"]["program"], again["was"]["model"]) == ("editor", "m1")
    assert first["last_active_ts"] <= again["was"]["last_active_ts"] < again["last_active_ts"]
    free = again["hint"].removeprefix("BlueLake was registered before. Not you? ").removesuffix(" is free.")
    assert is_generated_form(free)
    assert "registration_token" in await harness.register(free)
    assert "registration_token" not in again


async def test_a_token_alone_is_its_agent_and_needs_no_other_name(harness: IdentityHarness) -> None:
    first = await harness.register("BlueLake")

    again = await harness.register(registration_token=first["registration_token"])

    assert (again["id"], again["verified"], again["existing"]) == (first["id"], True, True)
    assert "hint" not in again
    assert (await harness.rows("SELECT count(*) FROM agents WHERE kind = 'agent'")) == [(1,)]


async def test_who_may_not_have_a_name_is_told_one_that_is_free(harness: IdentityHarness) -> None:
    await harness.register("BlueLake")
    red = await harness.register("RedStone")

    with pytest.raises(WrongToken) as refused:
        await harness.register("BlueLake", by=with_token(red["registration_token"]))

    free = refused.value.data["free_name"]
    assert refused.value.hint.endswith(f". {free} is free.")
    assert free not in ("BlueLake", "RedStone")


async def test_where_every_name_that_comes_to_mind_is_taken_none_is_offered(tmp_path: Path) -> None:
    async with open_identity(tmp_path, choose=lambda words: words[0]) as opened:
        await opened.call("ensure_project", human_key=PROJECT)
        only = await opened.register()

        again = await opened.register(only["name"])

        assert (again["existing"], "hint" in again) == (True, False)
        other = await opened.register("RedStone")
        with pytest.raises(WrongToken) as refused:
            await opened.register(only["name"], by=with_token(other["registration_token"]))
        assert "free_name" not in refused.value.data


async def test_the_operator_who_writes_a_profile_again_is_offered_no_name(harness: IdentityHarness) -> None:
    await harness.register("BlueLake")

    again = await harness.register("BlueLake", by=OPERATOR)

    assert (again["existing"], "hint" in again) == (True, False)
