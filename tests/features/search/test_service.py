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
from mcp_agent_mail.store.engine.connection import open_writing
from mcp_agent_mail.store.mail import search as store_search
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
        assert list(answer) == ["result"]
        found: list[dict[str, Any]] = answer["result"]
        return found

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


@pytest.mark.parametrize(
    "tampering",
    [
        "INSERT INTO messages_fts (rowid, subject, body_md, scope) VALUES (:private, 'plan', '', 'p1')",
        "INSERT INTO message_projects (project_id, message_id, delivered_ts) VALUES (1, :private, 0)",
    ],
)
async def test_neither_the_index_nor_the_tables_alone_show_a_message(desk: Desk, tampering: str) -> None:
    private = await desk.post("plan", sender=desk.seeded.fox, to=[desk.seeded.lib_blue])
    assert desk.seeded.app.id == 1
    writing = open_writing(desk.seeded.store.path)
    writing.execute(tampering, {"private": private})
    writing.commit()
    writing.close()

    assert await desk.ids("plan") == []
    assert await desk.ids("plan", order="newest") == []


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


async def test_a_bound_on_candidates_hides_no_small_project_beside_a_busy_one(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_search, "CANDIDATES", 5)
    seeded = desk.seeded
    mine = await desk.post("plan", sender=seeded.red, to=[seeded.green])
    for _ in range(20):
        await desk.post("plan", sender=seeded.fox, to=[seeded.lib_blue])

    assert await desk.ids("plan", limit=3) == [mine]


async def test_beyond_the_newest_hits_those_with_a_word_in_the_subject_are_ranked(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_search, "CANDIDATES", 5)
    old_subject = await desk.post("The plan")
    old_body = await desk.post("News", "plan plan plan")
    for _ in range(10):
        await desk.post("News", "a plan")

    found = await desk.ids("plan", limit=6)

    assert found[0] == old_subject
    assert old_body not in found


@pytest.mark.parametrize("few", [0, 200])
@pytest.mark.parametrize("narrowing", ["thread_id", "from_agent", "agent_name"])
async def test_a_narrow_filter_finds_the_same_whether_or_not_it_is_asked_first(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, narrowing: str, few: int
) -> None:
    monkeypatch.setattr(store_search, "FEW", few)
    seeded = desk.seeded
    kept = [
        await desk.post(subject, sender=seeded.red, to=[seeded.blue], thread_id="TKT-7")
        for subject in ("a plan", "plan, plan", "no such word", "the plan")
    ]
    for _ in range(5):
        await desk.post("plan", sender=seeded.green, to=[seeded.green])
    value = "TKT-7" if narrowing == "thread_id" else "RedStone"

    assert await desk.ids("plan", order="newest", **{narrowing: value}) == [kept[3], kept[1], kept[0]]
    assert await desk.ids("plan", order="oldest", limit=2, **{narrowing: value}) == [kept[0], kept[1]]
    assert (await desk.ids("plan", **{narrowing: value}))[0] == kept[1]


async def test_since_parts_the_mail_exactly_though_the_clock_was_set_back(desk: Desk) -> None:
    early = [await desk.post("plan") for _ in range(5)]
    since = iso(desk.seeded.clock.now)
    late = [await desk.post("plan") for _ in range(4)]
    desk.seeded.clock.step(-3_600)
    latest = await desk.post("plan")

    assert await desk.ids("plan", order="oldest", since_ts=since) == [*late, latest]
    assert await desk.ids("plan", order="newest", since_ts="2020-01-01T00:00:00Z") == [
        latest,
        *reversed(late),
        *reversed(early),
    ]


async def test_a_limit_above_the_bound_is_met(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_search, "CANDIDATES", 5)
    for _ in range(12):
        await desk.post("News", "a plan")

    assert len(await desk.ids("plan", limit=12)) == 12


async def test_a_word_deep_in_a_long_body_is_shown_in_its_place(desk: Desk) -> None:
    await desk.post("Log", "line\n" * 5_000 + "then an Error came up\n" + "line\n" * 5_000)

    (hit,) = await desk.search("error")

    assert "then an Error came up line" in hit["snippet"]
    assert hit["snippet"].startswith("\u2026")
    assert len(hit["snippet"]) < 250


async def test_text_without_blanks_is_found_by_any_two_characters_of_it(desk: Desk) -> None:
    message_id = await desk.post("\u65e5\u672c\u8a9e\u306e\u30c6\u30b9\u30c8", "\u5168\u6587\u691c\u7d22\u6a5f\u80fd")

    assert await desk.ids("\u672c\u8a9e") == [message_id]
    assert await desk.ids("\u691c\u7d22") == [message_id]
    assert await desk.ids("subject:\u691c\u7d22") == []
    assert (await desk.search("\u691c\u7d22"))[0]["snippet"] == "\u5168\u6587\u691c\u7d22\u6a5f\u80fd"


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


async def test_a_search_that_finds_enough_is_not_widened(desk: Desk) -> None:
    await desk.post("News", "we planned it")
    exact = [await desk.post("News", "a plan") for _ in range(10)]

    assert sorted(await desk.ids("plan")) == exact


async def test_a_wider_search_shows_no_more_than_the_caller_may_see(desk: Desk) -> None:
    seeded = desk.seeded
    await desk.post("News", "rotation of keys", sender=seeded.fox, to=[seeded.lib_blue])

    assert await desk.ids("rotate keys") == []
    assert await desk.ids("rotate keys", project_key="/code/lib") != []


@pytest.mark.parametrize("few", [0, 200])
async def test_filters_hold_for_a_wider_search(desk: Desk, monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr(store_search, "FEW", few)
    seeded = desk.seeded
    mine = await desk.post("News", "rotation of keys", thread_id="TKT-7")
    await desk.post("News", "rotation of keys", sender=seeded.green)

    assert await desk.ids("rotate keys", thread_id="TKT-7") == [mine]
    assert await desk.ids("rotate keys", from_agent="BlueLake") == [mine]


async def test_the_newest_of_equals_comes_first_and_a_quotation_counts_less(desk: Desk) -> None:
    own = await desk.post("News", "the plan is good")
    quoted = await desk.post("News", "> the plan is good\n\nyes")
    newest = await desk.post("News", "the plan is good")

    assert await desk.ids("plan") == [newest, own, quoted]


async def test_a_snippet_shows_the_form_that_was_found(desk: Desk) -> None:
    await desk.post("News", "word " * 100 + "the rotation of keys " + "word " * 100)

    (hit,) = await desk.search("rotate")

    assert "rotation of keys" in hit["snippet"]


@pytest.mark.parametrize("query", ["parseTok", "parsetok", "arse_tok", "parseTok failed"])
@pytest.mark.parametrize("order", ["relevance", "newest", "oldest"])
async def test_what_stands_inside_a_name_is_found_when_no_word_is(desk: Desk, query: str, order: str) -> None:
    camel = await desk.post("reparseToken failed")
    snake = await desk.post("News", "sparse_token_set failed")
    await desk.post("News", "no such name")

    found = await desk.ids(query, order=order)

    assert found[0] == (snake if query.startswith("arse") else camel)
    assert len(found) == 1 or (query == "parseTok failed" and order == "relevance")


async def test_a_name_of_another_project_leads_to_none_of_its_mail(desk: Desk) -> None:
    seeded = desk.seeded
    await desk.post("reparseToken", sender=seeded.fox, to=[seeded.lib_blue])

    assert await desk.ids("parseTok") == []
    assert await desk.ids('"parseTok"', project_key="/code/lib") == []
    assert await desk.ids("parseTok", project_key="/code/lib") != []


async def test_a_long_run_that_is_nowhere_finds_what_holds_its_pairs(desk: Desk) -> None:
    near = await desk.post("News", "\u691c\u7d22\u306e\u6a5f\u80fd")
    await desk.post("News", "\u5225\u306e\u8a71")

    assert await desk.ids("\u691c\u7d22\u6a5f\u80fd") == [near]
