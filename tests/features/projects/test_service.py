"""Creating, finding and archiving projects, through the tools."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.domain.identity.caller import AgentAuth, TokenMissing, WrongToken
from tests.features.identity.harness import OPERATOR, PROJECT, open_identity, with_token


async def test_twenty_callers_ensuring_one_project_at_once_make_one(tmp_path: Path) -> None:
    async with open_identity(tmp_path) as harness:
        answers = await asyncio.gather(*(harness.call("ensure_project", human_key=PROJECT) for _ in range(20)))

        assert len({json.dumps(answer) for answer in answers}) == 1
        assert (await harness.rows("SELECT count(*) FROM projects")) == [(1,)]
        assert (await harness.rows("SELECT count(*) FROM agents")) == [(2,)]
        assert (await harness.rows("SELECT count(*) FROM outbox")) == [(3,)]


async def test_a_project_keeps_its_key_when_its_path_becomes_a_link(tmp_path: Path) -> None:
    async with open_identity(tmp_path) as harness:
        (tmp_path / "app").mkdir()
        before = await harness.call("ensure_project", human_key=f"{tmp_path}/app")
        (tmp_path / "app").rmdir()
        (tmp_path / "moved").mkdir()
        (tmp_path / "app").symlink_to(tmp_path / "moved")

        assert await harness.call("ensure_project", human_key=f"{tmp_path}/app") == before


@pytest.mark.parametrize("key", ["work/app", "~/app", "/a\nb", "/" + "x" * 1_050])
async def test_an_unfit_path_makes_no_project(key: str, tmp_path: Path) -> None:
    async with open_identity(tmp_path) as harness:
        with pytest.raises(InvalidInput):
            await harness.call("ensure_project", human_key=key)

        assert (await harness.rows("SELECT count(*) FROM projects")) == [(0,)]


async def test_in_strict_mode_archiving_needs_a_token_of_the_project_or_the_operator(tmp_path: Path) -> None:
    async with open_identity(tmp_path, auth=AgentAuth.STRICT) as harness:
        for key in (PROJECT, "/code/other"):
            await harness.call("ensure_project", human_key=key)
        insider = with_token((await harness.register("BlueLake"))["registration_token"])
        outsider = with_token((await harness.register("RedStone", project_key="/code/other"))["registration_token"])

        with pytest.raises(TokenMissing):
            await harness.call("archive_project", project_key=PROJECT)
        with pytest.raises(WrongToken):
            await harness.call("archive_project", by=outsider, project_key=PROJECT)
        archived = await harness.call("archive_project", by=insider, project_key=PROJECT)
        back = await harness.call("unarchive_project", by=OPERATOR, project_key=PROJECT)

    assert (archived["archived"], back["archived"]) == (True, False)
