from __future__ import annotations

from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.features.completion.service import NOTHING, CompletionKind, Suggested
from tests.features.macros.harness import APP, LIB, MacrosHarness

ANYONE = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)
UNPROVEN = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.STRICT)


async def suggest(
    team: MacrosHarness, asked: CompletionKind, beginning: str, project: str | None = APP, who: Caller = ANYONE
) -> Suggested:
    return await team.services.suggestions.suggest(who, asked, beginning, project)


async def proven(team: MacrosHarness, name: str, project: str) -> Caller:
    """An agent that has shown its token."""
    agent = (await team.start(name, project))["agent"]
    return Caller(
        kind=CallerKind.AGENT,
        auth=AgentAuth.STRICT,
        agent_id=agent["id"],
        agent_name=name,
        project_id=agent["project_id"],
    )


async def test_threads_are_suggested_to_those_who_may_read_them(team: MacrosHarness) -> None:
    blue = await proven(team, "BlueLake", APP)
    fox = await proven(team, "QuietFox", LIB)
    await team.start("RedStone")
    await team.send("BlueLake", "RedStone", thread_id="plan-1")

    assert (await suggest(team, CompletionKind.THREAD, "plan", who=blue)).values == ("plan-1",)
    assert await suggest(team, CompletionKind.THREAD, "plan", who=fox) == NOTHING
    assert await suggest(team, CompletionKind.THREAD, "plan", who=UNPROVEN) == NOTHING


async def test_without_a_project_it_is_the_callers_own(team: MacrosHarness) -> None:
    fox = await proven(team, "QuietFox", LIB)
    await team.start("BlueLake")

    assert (await suggest(team, CompletionKind.AGENT, "", None, fox)).values == ("QuietFox",)
    assert await suggest(team, CompletionKind.AGENT, "", None) == NOTHING


async def test_mail_of_blind_recipients_elsewhere_names_no_thread_there(team: MacrosHarness) -> None:
    await team.start("BlueLake")
    await team.start("QuietFox", LIB)
    await team.policy("QuietFox", "open", LIB)
    await team.start("RedStone")
    blind = {"bcc": [f"QuietFox@{LIB}"], "thread_id": "secret"}
    await team.send("BlueLake", "RedStone", **blind)

    assert (await suggest(team, CompletionKind.THREAD, "", APP)).values == ("secret",)
    assert await suggest(team, CompletionKind.THREAD, "", LIB) == NOTHING


async def test_at_most_a_hundred_are_suggested_and_the_rest_is_told(team: MacrosHarness) -> None:
    for number in range(101):
        await team.start(f"Agent{number}")

    found = await suggest(team, CompletionKind.AGENT, "agent")

    assert (len(found.values), found.values[0], found.has_more) == (100, "Agent100", True)


async def test_a_slug_is_suggested_where_a_slug_is_asked_for(team: MacrosHarness) -> None:
    slug = (await team.start("BlueLake"))["project"]["slug"]

    assert (await suggest(team, CompletionKind.SLUG, "app", None)).values == (slug,)
    assert await suggest(team, CompletionKind.SLUG, "%", None) == NOTHING
