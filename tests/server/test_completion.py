"""`completion/complete`: what can be completed, in which project, and for whom."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp_types import (
    CompleteRequestParams,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)

from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.features.completion.service import NOTHING, CompletionKind, Suggested
from mcp_agent_mail.server.completion import Suggest, complete, suggesting
from tests.features.macros.harness import APP, LIB, MacrosHarness, open_macros

ANYONE = Credentials(via="mcp")
KNOWN = ("hand_over", "resource://thread/{thread_id}{?project}")
PROMPT = PromptReference(type="ref/prompt", name="hand_over")
TEMPLATE = ResourceTemplateReference(type="ref/resource", uri=KNOWN[1])


@pytest.fixture
async def team(tmp_path: Path) -> AsyncIterator[MacrosHarness]:
    """Two projects with agents, and two threads in one of them."""
    async with open_macros(tmp_path) as opened:
        for project, names in ((APP, ("BlueLake", "RedStone")), (LIB, ("QuietFox",))):
            for name in names:
                await opened.start(name, project)
        for thread in ("plan-1", "release"):
            await opened.send("BlueLake", "RedStone", thread_id=thread)
        yield opened


def of(team: MacrosHarness) -> Suggest:
    return suggesting(team.services.suggestions, team.services.identity.caller)


async def completed(
    suggest: Suggest,
    argument: str,
    value: str,
    context: dict[str, str] | None = None,
    *,
    ref: PromptReference | ResourceTemplateReference = PROMPT,
    credentials: Credentials = ANYONE,
) -> list[str]:
    params = CompleteRequestParams(
        ref=ref,
        argument=CompletionArgument(name=argument, value=value),
        context=None if context is None else CompletionContext(arguments=context),
    )
    return (await complete(suggest, KNOWN, credentials, params)).completion.values


async def test_projects_agents_and_threads_are_completed(team: MacrosHarness) -> None:
    suggest = of(team)

    assert await completed(suggest, "project_key", "/code/") == [LIB, APP]
    assert await completed(suggest, "project_key", "ap") == [APP]
    assert await completed(suggest, "agent_name", "b", {"project_key": APP}) == ["BlueLake"]
    assert await completed(suggest, "to", "", {"project_key": LIB}) == ["QuietFox"]
    assert await completed(suggest, "thread_id", "", {"project_key": APP}) == ["release", "plan-1"]
    assert await completed(suggest, "thread_id", "PLAN", {"project_key": APP}) == ["plan-1"]
    assert await completed(suggest, "agent_name", "", {"project_key": "/code/none"}) == []
    assert await completed(suggest, "agent_name", "") == []


async def test_a_token_that_is_nobodys_gets_nothing(team: MacrosHarness) -> None:
    stranger = Credentials(via="mcp", agent_token="amt_nobodys")

    suggested = await of(team)(stranger, CompletionKind.PROJECT, "", None)

    assert suggested == NOTHING


class Asked:
    """Suggests what it was asked for."""

    async def __call__(
        self, _credentials: Credentials, asked: CompletionKind, beginning: str, project: str | None
    ) -> Suggested:
        return Suggested(values=(asked, beginning, project or "(none)"), has_more=True)


@pytest.mark.parametrize("name", ["project", "project_key", "human_key", "slug"])
async def test_the_project_may_stand_under_any_of_its_names(name: str) -> None:
    context = {"agent": "BlueLake", "project": "", name: APP}

    assert await completed(Asked(), "agent_name", "b", context) == ["agent", "b", APP]


@pytest.mark.parametrize("context", [None, {}, {"agent": "BlueLake"}, {"project": ""}])
async def test_without_a_project_none_is_asked_for(context: dict[str, str] | None) -> None:
    assert await completed(Asked(), "to", "b", context) == ["agent", "b", "(none)"]


@pytest.mark.parametrize("ref", [PROMPT, TEMPLATE])
async def test_arguments_of_known_prompts_and_templates_are_completed(
    ref: PromptReference | ResourceTemplateReference,
) -> None:
    assert await completed(Asked(), "slug", "a", ref=ref) == ["slug", "a", "(none)"]


async def test_what_refers_to_nothing_known_has_no_completion() -> None:
    unknown = PromptReference(type="ref/prompt", name="no_such")

    assert await completed(Asked(), "project_key", "", ref=unknown) == []
    assert await completed(Asked(), "path", "src") == []


async def test_that_there_are_more_is_passed_on() -> None:
    params = CompleteRequestParams(ref=PROMPT, argument=CompletionArgument(name="to", value=""))

    assert (await complete(Asked(), KNOWN, ANYONE, params)).completion.has_more is True
