from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.messages import Importance
from mcp_agent_mail.features.oversight.mail_search import HitsRequest, OversightSearch
from mcp_agent_mail.web.views.found_mail import hit_rows, plain_words
from tests.seeded_store import SeededStore, open_seeded_store

OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.STRICT)


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def test_a_row_has_what_the_message_is_and_what_is_marked_in_it(seeded: SeededStore) -> None:
    letter = seeded.letter(
        seeded.fox, body="the parser", importance=Importance.URGENT, ack_required=True, thread_id="T-1"
    )
    message, _ = await seeded.post(letter, *seeded.addressed([seeded.lib_blue]))

    (row,) = hit_rows(await OversightSearch(seeded.store).find(OPERATOR, HitsRequest(words="parser", limit=9)))

    assert (row.id, row.project, row.project_name, row.sender) == (message.id, "code-lib", "lib", "QuietFox")
    assert (row.subject, row.importance, row.asks_ack, row.thread_id) == ("Plan", "urgent", True, "T-1")
    assert [one.text for one in row.phrases] == ["parser"]
    assert "parser" in row.snippet


async def test_rows_stand_as_they_were_found(seeded: SeededStore) -> None:
    for body in ("parser", "lexer and much else beside the parser " * 9, "parser parser"):
        await seeded.post(seeded.letter(seeded.blue, body=body), *seeded.addressed([seeded.red]))

    found = await OversightSearch(seeded.store).find(OPERATOR, HitsRequest(words="parser", limit=9))

    assert len(found.hits) == 3
    assert [row.id for row in hit_rows(found)] == [hit.id for hit in found.hits]


async def test_mail_of_a_project_that_was_not_searched_is_named_by_its_senders(seeded: SeededStore) -> None:
    await seeded.post(seeded.letter(seeded.fox, body="parser"), *seeded.addressed([seeded.lib_blue]))
    found = await OversightSearch(seeded.store).find(OPERATOR, HitsRequest(words="parser", limit=9))
    (hit,) = found.hits

    for other in (replace(found, projects={}), replace(found, hits=[replace(hit, project_id=None)])):
        assert [(row.project, row.project_name) for row in hit_rows(other)] == [("code-lib", "code-lib")]


async def test_where_nothing_was_found_there_are_no_rows(seeded: SeededStore) -> None:
    assert hit_rows(await OversightSearch(seeded.store).find(OPERATOR, HitsRequest(words="parser", limit=9))) == []


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("now **validates** the `cart`", "now validates the cart"),
        (
            "… | step | took | |---|--:| | bank | 3 ms | - [x] done - [ ] later",
            "… · step · took · bank · 3 ms · done later",
        ),
        ("# Plan ## why? see [the spec](https://a.example/x)", "Plan why? see the spec"),
        ("a __main__ b, 2 * 3, x_y, a-b, ```python def", "a main b, 2 * 3, x_y, a-b, def"),
        ("Found: | a | b |", "Found: a · b"),
        ("> a - b > c", "a - b > c"),
        ("", ""),
        ("** | ` [", "** · ` ["),
    ],
)
def test_an_excerpt_is_plain_words(written: str, told: str) -> None:
    assert plain_words(written) == told
