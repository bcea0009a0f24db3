"""The guard's tools: whose repository, by whose right."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.errors import InvalidInput, NotFound
from mcp_agent_mail.core.tools import Credentials, ToolTable
from mcp_agent_mail.domain.identity.caller import AgentAuth, TokenMissing, WrongToken
from mcp_agent_mail.domain.projects import ProjectArchived
from mcp_agent_mail.features.guarding.install import GuardInstallation
from mcp_agent_mail.features.guarding.tools import guard_tools
from mcp_agent_mail.guard.hooks.install import OtherProject
from tests.features.identity.harness import NOBODY, OPERATOR, PROJECT, IdentityHarness, open_identity, with_token
from tests.guard.code_repository import Code, make_code


class Guards:
    def __init__(self, harness: IdentityHarness, code: Code) -> None:
        self.harness = harness
        self.code = code
        self._tools = ToolTable(guard_tools(GuardInstallation(harness.store), harness.identity.caller))

    async def install(self, *, by: Credentials = NOBODY, project: str = PROJECT, path: Path | None = None) -> Any:
        arguments = {"project_key": project, "code_repo_path": str(path or self.code.top)}
        return await self._tools.run("install_precommit_guard", arguments, by)

    async def uninstall(self, *, by: Credentials = NOBODY) -> Any:
        return await self._tools.run("uninstall_precommit_guard", {"code_repo_path": str(self.code.top)}, by)


@asynccontextmanager
async def _guards(folder: Path, auth: AgentAuth = AgentAuth.OPEN) -> AsyncIterator[Guards]:
    async with open_identity(folder, auth=auth) as harness:
        for key in (PROJECT, "/code/other"):
            await harness.call("ensure_project", human_key=key)
        yield Guards(harness, make_code(folder))


async def test_a_repository_is_guarded_and_let_go(tmp_path: Path) -> None:
    async with _guards(tmp_path) as guards:
        first, again = await guards.install(), await guards.install()
        project = guards.code.git("config", "agent-mail.project").strip()
        gone, nothing = await guards.uninstall(), await guards.uninstall()

    assert first == {"hook": str(guards.code.hooks / "pre-commit"), "status": "installed"}
    assert again["status"] == "unchanged"
    assert project == PROJECT
    assert (gone, nothing) == ({"removed": True, "left": []}, {"removed": False, "left": []})


async def test_a_slug_is_recorded_as_the_path_it_stands_for(tmp_path: Path) -> None:
    async with _guards(tmp_path) as guards:
        await guards.install(project="code-app")

    assert guards.code.git("config", "agent-mail.project").strip() == PROJECT


async def test_what_cannot_be_guarded_is_refused(tmp_path: Path) -> None:
    async with _guards(tmp_path) as guards:
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
    async with _guards(tmp_path, AgentAuth.STRICT) as guards:
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
