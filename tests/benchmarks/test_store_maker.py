"""Generated stores: the ruler of `make scale`."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.corpus import (
    CLASSES,
    COMMONEST,
    HITS,
    PLANTED_LETTERS,
    THREAD_LETTERS,
    THREADS,
    Corpus,
    planted_letter,
    planted_words,
)
from benchmarks.store_maker import (
    BUSY,
    MANY_FROM,
    SMALL,
    SMALL_MESSAGES,
    SMALLEST,
    cached_store,
    count_places,
    make_store,
)
from mcp_agent_mail.domain.search.query import Filters, Order, SearchScope, read_query
from mcp_agent_mail.store.checks.integrity import find_faults
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.mail.search import search


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cached_store(tmp_path_factory.mktemp("stores"), SMALLEST)


def _one(database: Path, sql: str) -> object:
    with closing(sqlite3.connect(database)) as connection:
        (value,) = connection.execute(sql).fetchone()
        return value


def test_each_planted_word_is_in_as_many_letters_as_its_class_says() -> None:
    found = Counter(word for number in range(PLANTED_LETTERS) for word in planted_words(number))

    assert found == {word: HITS[name] for name, words in CLASSES.items() for word in words}


def test_a_planted_letter_is_the_same_in_every_store() -> None:
    assert planted_letter(7) == planted_letter(7)
    assert planted_letter(7) != planted_letter(8)


def test_the_text_has_a_commonest_word_and_many_rare_ones() -> None:
    words = Counter(Corpus(3).words(50_000))

    assert words.most_common(1)[0][0] == COMMONEST
    assert sum(count == 1 for count in words.values()) > 2_000


def test_a_store_has_exactly_the_messages_asked_for(database: Path) -> None:
    small = f"SELECT count(*) FROM messages m JOIN projects p ON p.id = m.project_id WHERE p.human_key = '{SMALL}'"

    assert _one(database, "SELECT count(*) FROM messages") == SMALLEST
    assert _one(database, small) == SMALL_MESSAGES


def test_planted_threads_are_whole_in_every_store(database: Path) -> None:
    letters = f"SELECT count(*) FROM messages WHERE thread_id IN {THREADS}"

    assert _one(database, letters) == THREAD_LETTERS * len(THREADS)


def test_a_store_of_a_million_has_a_thousand_projects(database: Path) -> None:
    agents = "SELECT count(*) FROM agents WHERE kind = 'agent'"

    assert count_places(SMALLEST) == (_one(database, "SELECT count(*) FROM projects"), _one(database, agents))
    assert count_places(MANY_FROM) == (1_000, 2_020)


def test_counters_and_reading_states_agree_as_in_the_product(database: Path) -> None:
    acknowledged_unread = "SELECT count(*) FROM recipients WHERE ack_ts IS NOT NULL AND read_ts IS NULL"

    assert find_faults(database) == []
    assert _one(database, acknowledged_unread) == 0


async def test_the_product_finds_what_was_planted(database: Path) -> None:
    async with Store(database) as store:
        projects = {one.human_key: one for one in await store.read(lambda view: view.projects.list_(limit=100))}

        async def found(key: str, word: str) -> int:
            query = read_query(word)
            assert query is not None
            reader = SearchScope(project_id=projects[key].id, agent_id=None, whole_project=True)
            return len(await search(store, query, reader, Filters(), order=Order.RELEVANCE, limit=1_000))

        for name, words in CLASSES.items():
            assert [await found(BUSY, word) for word in words] == [HITS[name]] * len(words)
        assert await found(SMALL, COMMONEST) == SMALL_MESSAGES


def test_a_store_is_made_once_for_one_recipe(database: Path) -> None:
    before = database.stat().st_mtime_ns

    assert cached_store(database.parent.parent, SMALLEST) == database
    assert database.stat().st_mtime_ns == before


def test_too_small_a_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="planted"):
        make_store(tmp_path / "mail.sqlite3", SMALLEST - 1)
