from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.domain.messages import RecipientKind, Terms
from mcp_agent_mail.store.engine.sqlite.connection import open_reading
from mcp_agent_mail.store.mail.thread_pages import ThreadPages
from tests.seeded_store import SeededStore, open_seeded_store


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


@pytest.fixture
def pages(seeded: SeededStore) -> Iterator[ThreadPages]:
    with closing(open_reading(seeded.store.path)) as connection:
        yield ThreadPages(connection)


async def test_a_page_names_no_blind_recipient(seeded: SeededStore, pages: ThreadPages) -> None:
    letter = seeded.letter(seeded.blue, thread_id="plan")
    recipients = [*seeded.addressed([seeded.red]), *seeded.addressed([seeded.green], RecipientKind.BCC)]
    await seeded.post(letter, *recipients)

    page = pages.render(seeded.app.id, "plan")

    assert page is not None
    assert seeded.red.name.encode() in page
    assert seeded.green.name.encode() not in page


async def test_without_open_mail_there_is_no_page(seeded: SeededStore, pages: ThreadPages) -> None:
    assert pages.render(seeded.app.id, "plan") is None
    assert pages.newest_event(seeded.app.id, "plan") == 0
    assert list(pages.each()) == []


async def test_every_thread_is_found_and_those_a_message_is_in(seeded: SeededStore, pages: ThreadPages) -> None:
    ids = []
    for thread_id in (None, "1", "b", "a"):
        letter = seeded.letter(seeded.blue, thread_id=thread_id)
        message, _ = await seeded.post(letter, *seeded.addressed([seeded.red]))
        ids.append(message.id)

    app = seeded.app.id
    assert list(pages.each()) == [(app, "1"), (app, "a"), (app, "b")]
    assert pages.about(app, ids) == ["1", "b", "a"]


async def test_of_a_message_that_supersedes_another_the_threads_of_that_one_are_found_too(
    seeded: SeededStore, pages: ThreadPages
) -> None:
    earlier, _ = await seeded.post(seeded.letter(seeded.blue, thread_id="a"), *seeded.addressed([seeded.red]))
    letter = replace(seeded.letter(seeded.blue, thread_id="b"), terms=Terms(supersedes=earlier.id))
    later, _ = await seeded.post(letter, *seeded.addressed([seeded.red]))

    assert sorted(pages.about(seeded.app.id, [later.id])) == ["a", "b"]
