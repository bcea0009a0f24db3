"""An agent that is always new, and its project, made in one unit of work."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.core.tools import call_as
from mcp_agent_mail.domain.identity.names import UnfitName
from mcp_agent_mail.features.macros.requests import Newcomer
from mcp_agent_mail.features.macros.results import AgentRegistered
from tests.features.macros.harness import NOBODY, MacrosHarness, open_macros


async def create(macros: MacrosHarness, name: str, human_key: str) -> AgentRegistered:
    async def run() -> AgentRegistered:
        newcomer = Newcomer(name=name, program="tests", model="none", task_description="")
        caller = await macros.services.identity.caller()
        return await macros.services.macros.create_agent(caller, human_key, newcomer)

    created: AgentRegistered = await call_as(NOBODY, run, {})
    return created


async def test_an_agent_is_made_anew_in_a_project_that_is_made_with_it(team: MacrosHarness, tmp_path: Path) -> None:
    gone = str(tmp_path / "gone")
    made = await create(team, "BlueLake", gone)
    other = await create(team, "BlueLake", gone)

    assert (made.project.human_key, made.registered.agent.name) == (gone, "BlueLake")
    assert made.doubt.startswith(f"There is no directory {gone}")
    assert (other.project.id, other.doubt) == (made.project.id, "")
    assert other.registered.agent.id != made.registered.agent.id


async def test_a_name_that_is_refused_makes_no_project_either(tmp_path: Path) -> None:
    async with open_macros(tmp_path, AGENT_NAME_ENFORCEMENT_MODE="strict") as strict:
        before = strict.everything()
        with pytest.raises(UnfitName):
            await create(strict, "zzz", str(tmp_path))

        assert strict.everything() == before
