"""The guard's tools: whose repository, by whose right."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import InvalidInput, NotFound
from mcp_agent_mail.domain.identity.caller import AgentAuth, TokenMissing, WrongToken
from mcp_agent_mail.domain.projects import ProjectArchived
from mcp_agent_mail.guard.hooks.install import OtherProject
from tests.features.guarding.harness import open_guards
from tests.features.identity.harness import OPERATOR, PROJECT, with_token


async def test_a_slug_is_recorded_as_the_path_it_stands_for(tmp_path: Path) -> None:
    async with open_guards(tmp_path) as guards:
        await guards.install(project="code-app")

    assert guards.code.git("config", "agent-mail.project").strip() == PROJECT


async def test_what_cannot_be_guarded_is_refused(tmp_path: Path) -> None:
    async with open_guards(tmp_path) as guards:
        with pytest.raises(InvalidInput, match="is in no Git repository"):
            await guards.install(path=tmp_path)
        with pytest.raises(NotFound):
            await guards.install(project="/code/unknown")
        await guards.install()
        with pytest.raises(OtherProject):
            await guards.install(project="/code/other")
        await guards.harness.call("archive_project", project_key=PROJECT)
        with pytest.raises(ProjectArchived):
            await guards.install()


async def test_in_strict_mode_it_takes_an_agent_of_the_project_or_the_operator(tmp_path: Path) -> None:
    async with open_guards(tmp_path, AgentAuth.STRICT) as guards:
        insider = with_token((await guards.harness.register("BlueLake"))["registration_token"])
        outsider = with_token(
            (await guards.harness.register("RedStone", project_key="/code/other"))["registration_token"]
        )

        with pytest.raises(TokenMissing):
            await guards.install()
        with pytest.raises(WrongToken):
            await guards.install(by=outsider)
        await guards.install(by=insider)
        with pytest.raises(TokenMissing):
            await guards.uninstall()
        with pytest.raises(WrongToken):
            await guards.uninstall(by=outsider)
        removed = await guards.uninstall(by=insider)
        await guards.install(by=OPERATOR)

    assert removed["removed"] is True
