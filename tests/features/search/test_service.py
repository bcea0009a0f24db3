"""The search tool over a real store, called as a server calls it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.errors import AuthenticationRequired, InvalidInput, NotFound
from mcp_agent_mail.core.tools import Credentials, ToolTable
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import AgentAuth
from mcp_agent_mail.domain.messages import Importance, RecipientKind
from mcp_agent_mail.features.search.service import SearchService
from mcp_agent_mail.features.search.tools import search_tools
from tests.features.messaging.harness import NOBODY, OPERATOR, Identities
from tests.seeded_store import SeededStore, open_seeded_store, token_of


@dataclass
class Desk:
    seeded: SeededStore
    identities: Identities
    tools: ToolTable

    def proof(self, agent: Agent) -> Credentials:
        return Credentials(via="mcp", agent_token=token_of(agent.name, self.seeded.project_of(agent)))

    async def post(
        self,
        subject: str,
        body: str = "text",
        *,
        sender: Agent | None = None,
        to: list[Agent] | None = None,
        bcc: list[Agent] | None = None,
        **more: Any,
    ) -> int:
        """From BlueLake to RedStone unless said otherwise; a second after the one before."""
        seeded = self.seeded
        seeded.clock.step()
        letter = replace(seeded.letter(sender or seeded.blue, body=body), subject=subject, **more)
        recipients = seeded.addressed([seeded.red] if to is None else to)
        message, _ = await seeded.post(letter, *recipients, *seeded.addressed(bcc or [], RecipientKind.BCC))
        return int(message.id)

    async def search(self, query: str, credentials: Credentials = NOBODY, /, **arguments: Any) -> list[dict[str, Any]]:
        given = {"project_key": "/code/app", "query": query, **arguments}
        answer = await self.tools.run("search_messages", given, credentials)
        assert list(answer) in (["result"], ["result", "hint"])
        found: list[dict[str, Any]] = answer["result"]
        return found

    async def hint(self, query: str, credentials: Credentials = NOBODY, /, **more: Any) -> str | None:
        """Of an answer without any hit."""
        given = {"project_key": "/code/app", "query": query, **more}
        answer = await self.tools.run("search_messages", given, credentials)
        assert answer["result"] == []
        hint: str | None = answer.get("hint")
        return hint

    async def ids(self, query: str, credentials: Credentials = NOBODY, /, **arguments: Any) -> list[int]:
        return [item["id"] for item in await self.search(query, credentials, **arguments)]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_seeded_store(tmp_path) as seeded:
        identities = Identities(seeded.store)
        tools = ToolTable(search_tools(SearchService(seeded.store), identities.caller))
        yield Desk(seeded, identities, tools)


async def test_a_hit_says_what_the_contract_says(desk: Desk) -> None:
    message_id = await desk.post(
        "Build plan", "We build\nthe tests first.", importance=Importance.HIGH, ack_required=True, thread_id="TKT-1"
    )

    assert await desk.search("tests") == [
        {
            "id": message_id,
            "thread_id": "TKT-1",
            "subject": "Build plan",
            "from": "BlueLake",
            "importance": "high",
            "ack_required": True,
            "created_ts": iso(desk.seeded.clock.now),
            "snippet": "We build the tests first.",
        }
    ]


async def test_orders_are_by_relevance_newest_and_oldest(desk: Desk) -> None:
    first = await desk.post("The plan")
    second = await desk.post("News", "a plan")
    third = await desk.post("News", "plan, plan and plan")

    assert await desk.ids("plan") == [first, third, second]
    assert await desk.ids("plan", order="newest") == [third, second, first]
    assert await desk.ids("plan", order="Oldest") == [first, second, third]
    assert await desk.ids("plan", order="newest", limit=1) == [third]
    assert await desk.ids("plan", order="oldest", limit=2) == [first, second]


@pytest.mark.parametrize("query", ["", "   ", "*", "-", '""'])
async def test_a_query_without_words_finds_nothing(desk: Desk, query: str) -> None:
    await desk.post("Plan")

    assert await desk.search(query) == []


@pytest.mark.parametrize(
    "query", ["src/app.py", "it's", "error:", "(plan", '"open', "NOT", "a AND", "scope:p1", "\x1a", "%"]
)
async def test_hostile_text_is_never_an_error(desk: Desk, query: str) -> None:
    message_id = await desk.post("src/app.py", "it's an error: (plan is open NOT a and scope:p1 % ")

    assert await desk.ids(query) in ([message_id], [])


async def test_a_filter_keeps_what_it_names(desk: Desk) -> None:
    seeded = desk.seeded
    urgent = await desk.post("plan", importance=Importance.URGENT)
    threaded = await desk.post("plan", sender=seeded.red, to=[seeded.green], thread_id="TKT-1")
    since = iso(seeded.clock.now)
    last = await desk.post("plan", sender=seeded.green, to=[seeded.red])

    assert await desk.ids("plan", importance="URGENT") == [urgent]
    assert await desk.ids("plan", thread_id="TKT-1") == [threaded]
    assert await desk.ids("plan", from_agent="redstone ") == [threaded]
    assert await desk.ids("plan", since_ts=since) == [last]
    assert await desk.ids("plan", agent_name="BlueLake") == [urgent]
    assert await desk.ids("plan", agent_name="GreenField", order="oldest") == [threaded, last]
    assert await desk.ids("plan", agent_name="RedStone", from_agent="GreenField") == [last]


async def test_an_all_digit_thread_is_its_root_with_the_replies(desk: Desk) -> None:
    root = await desk.post("plan")
    reply = await desk.post("Re: plan", sender=desk.seeded.red, to=[desk.seeded.blue], thread_id=str(root))

    assert await desk.ids("plan", thread_id=str(root), order="oldest") == [root, reply]


async def test_another_projects_mail_is_found_by_none_but_those_who_take_part(desk: Desk) -> None:
    seeded = desk.seeded
    private = await desk.post("plan", sender=seeded.fox, to=[seeded.lib_blue])
    openly = await desk.post("plan", sender=seeded.fox, to=[seeded.blue])
    blindly = await desk.post("plan", sender=seeded.fox, to=[seeded.lib_blue], bcc=[seeded.red])

    assert await desk.ids("plan") == [openly]
    assert sorted(await desk.ids("plan", desk.proof(seeded.red))) == [openly, blindly]
    assert await desk.ids("plan", desk.proof(seeded.green)) == [openly]
    assert await desk.ids("plan", project_key="/code/lib", order="oldest") == [private, openly, blindly]
    assert await desk.ids("plan", OPERATOR) == [openly]


async def test_who_is_proven_elsewhere_finds_only_what_it_takes_part_in(desk: Desk) -> None:
    seeded = desk.seeded
    await desk.post("plan")
    got = await desk.post("plan", to=[seeded.fox])
    sent = await desk.post("plan", sender=seeded.fox, to=[seeded.red])
    blind = await desk.post("plan", to=[seeded.red], bcc=[seeded.fox])

    assert await desk.ids("plan", desk.proof(seeded.fox), order="oldest") == [got, sent, blind]
    assert await desk.ids("plan", desk.proof(seeded.lib_blue)) == []


async def test_a_blind_copy_counts_as_got_only_for_its_recipient_its_sender_and_the_operator(desk: Desk) -> None:
    seeded = desk.seeded
    message_id = await desk.post("plan", to=[seeded.red], bcc=[seeded.green])

    assert await desk.ids("plan", agent_name="GreenField") == []
    assert await desk.ids("plan", desk.proof(seeded.red), agent_name="GreenField") == []
    assert await desk.ids("plan", desk.proof(seeded.green), agent_name="GreenField") == [message_id]
    assert await desk.ids("plan", desk.proof(seeded.blue), agent_name="GreenField") == [message_id]
    assert await desk.ids("plan", OPERATOR, agent_name="GreenField") == [message_id]


async def test_a_sender_of_another_project_is_shown_and_named_with_its_project(desk: Desk) -> None:
    seeded = desk.seeded
    message_id = await desk.post("plan", sender=seeded.fox, to=[seeded.blue])
    await desk.post("plan")

    (hit,) = await desk.search("plan", from_agent="QuietFox@code-lib")

    assert (hit["id"], hit["from"]) == (message_id, "QuietFox@code-lib")


async def test_unknown_names_are_errors_with_the_nearest(desk: Desk) -> None:
    with pytest.raises(NotFound) as unknown:
        await desk.search("plan", agent_name="RedSton")
    assert unknown.value.data["nearest"] == ["RedStone"]
    with pytest.raises(NotFound):
        await desk.search("plan", from_agent="Nobody")
    with pytest.raises(NotFound):
        await desk.search("", project_key="/nowhere")


@pytest.mark.parametrize(
    "arguments", [{"query": "x" * 1_001}, {"order": "best"}, {"importance": "huge"}, {"limit": 0}, {"since_ts": "soon"}]
)
async def test_unfit_arguments_are_refused(desk: Desk, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        await desk.search(arguments.pop("query", "plan"), **arguments)


async def test_where_tokens_are_needed_nobody_searches_without_one(desk: Desk) -> None:
    desk.identities.auth = AgentAuth.STRICT
    message_id = await desk.post("plan")

    with pytest.raises(AuthenticationRequired):
        await desk.search("plan")
    assert await desk.ids("plan", desk.proof(desk.seeded.green)) == [message_id]


async def test_an_archived_project_can_still_be_searched(desk: Desk) -> None:
    message_id = await desk.post("plan")
    await desk.seeded.store.write(lambda tx: tx.projects.set_archived(desk.seeded.app.id, tx.now))

    assert await desk.ids("plan") == [message_id]


async def test_bare_words_find_other_forms_and_some_of_them_below_what_holds_all(desk: Desk) -> None:
    exact = await desk.post("Keys", "we rotate the signing key")
    other_form = await desk.post("Keys", "rotation of the signing keys")
    some = await desk.post("News", "signing off for today")
    await desk.post("News", "nothing of that")

    assert await desk.ids("rotate signing key") == [exact, other_form, some]
    assert await desk.ids('rotate "signing key"') == [exact]
    assert await desk.ids("rotate AND signing AND key") == [exact]
    assert await desk.ids("rotate signing key", order="newest") == [exact]


async def test_a_wider_search_shows_no_more_than_the_caller_may_see(desk: Desk) -> None:
    seeded = desk.seeded
    await desk.post("News", "rotation of keys", sender=seeded.fox, to=[seeded.lib_blue])

    assert await desk.ids("rotate keys") == []
    assert await desk.ids("rotate keys", project_key="/code/lib") != []


@pytest.mark.parametrize(
    "query", ['"unclosed AND (', "parser AND", "owner:blue", "(plan", "src/a.py", "what's up?", "well-known", "a, b"]
)
async def test_a_query_that_is_no_expression_and_finds_nothing_says_what_was_looked_for(desk: Desk, query: str) -> None:
    await desk.post("other")

    hint = await desk.hint(query)

    assert hint is not None
    assert hint.startswith("The query is no search expression (words, quotes and brackets in pairs,")
    assert "without its other" not in hint
    assert hint.endswith("Marks part words: src/a.py is src, a and py side by side.")


async def test_marks_part_words_that_have_to_stand_side_by_side(desk: Desk) -> None:
    together = await desk.post("src a py")
    await desk.post("py a src")

    assert await desk.ids("src/a.py") == [together]
    assert await desk.ids("src-a'py?") == [together]


async def test_a_query_that_finds_something_or_is_as_it_should_be_has_no_such_hint(desk: Desk) -> None:
    await desk.post("See src/app.py")

    found = await desk.tools.run("search_messages", {"project_key": "/code/app", "query": "src/app.py"}, NOBODY)

    assert (len(found["result"]), list(found)) == (1, ["result"])
    assert [await desk.hint(query) for query in ("nowhere", '"no where"', "no AND where")] == [None] * 3
    assert await desk.hint("*") == "The query has no word in it: give one."


async def test_an_agent_of_another_project_is_told_that_only_its_own_mail_was_searched(desk: Desk) -> None:
    seeded = desk.seeded
    await desk.post("plan")

    strange = await desk.hint("plan", desk.proof(seeded.fox))
    at_home = await desk.hint("nowhere", desk.proof(seeded.blue))

    assert strange == "QuietFox is an agent of another project: only what it sent or got itself was searched."
    assert at_home is None


async def test_a_thread_that_has_no_mail_is_told_with_the_one_that_is_meant(desk: Desk) -> None:
    root = await desk.post("plan", thread_id="TKT-17")

    told = await desk.hint("plan", thread_id="TKT-71")
    strange = await desk.hint("plan", thread_id="elsewhere")
    unfound = await desk.hint("zebra", thread_id="TKT-17")
    started = await desk.hint("zebra", thread_id=str(root))

    assert told == "Did you mean TKT-17? No mail here is in thread TKT-71; letter case counts."
    assert strange == "No mail here is in thread elsewhere; letter case counts."
    assert (unfound, started) == (None, None)


async def test_whoever_may_not_read_the_project_is_not_told_its_threads(desk: Desk) -> None:
    await desk.post("plan", thread_id="TKT-17")

    told = await desk.hint("plan", desk.proof(desk.seeded.fox), thread_id="TKT-71")

    assert told is not None
    assert "TKT-17" not in told
    assert "No mail here" not in told
