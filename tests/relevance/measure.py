"""How well a ranking agrees with the judgements: `python -m tests.relevance.measure` prints both halves.

nDCG@10 with gains of 2^grade - 1, the ideal order taken over all that is judged. Two plain rankings stand
beside ours: SQLite's FTS5 with its own bm25() and its default tokenizer, over subject and body, asked for
all words of the query as FTS5 reads words side by side, and, since that often finds nothing, for any of them.
"""

from __future__ import annotations

import asyncio
import json
import math
import sqlite3
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.domain.agents import AgentKind
from mcp_agent_mail.domain.messages import Importance, NewMessage, NewRecipient, RecipientKind
from mcp_agent_mail.domain.search.query import Filters, Order, SearchScope, read_query
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.mail.search import search
from mcp_agent_mail.store.transaction import Tx
from tests.relevance.corpus import HERE, Letter, letters
from tests.seeded_store import SetClock, add_agent, add_project

DEPTH = 10
HALVES = ("tuning", "held out")
Ranking = Callable[[str], Sequence[int]]
"""From a query to positions in the corpus, best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A query with the grade of each letter that is worth something to who asks it."""

    half: str
    matter: str
    query: str
    grades: Mapping[int, int]


def judged() -> list[Judged]:
    frozen: dict[str, Any] = json.loads((HERE / "judgements.json").read_text(encoding="utf-8"))
    return [
        Judged(
            half=one["half"],
            matter=one["matter"],
            query=one["query"],
            grades={int(position): grade for position, grade in one["grades"].items()},
        )
        for one in frozen["queries"]
    ]


def ndcg(found: Sequence[int], grades: Mapping[int, int]) -> float:
    ideal = _gain(sorted(grades.values(), reverse=True))
    return _gain([grades.get(position, 0) for position in found]) / ideal


def _gain(grades: Sequence[int]) -> float:
    return sum((2.0**grade - 1) / math.log2(rank + 2) for rank, grade in enumerate(grades[:DEPTH]))


def figures(ranking: Ranking, queries: Sequence[Judged]) -> dict[str, float]:
    """The mean nDCG@10 of each half."""
    return {half: mean(ndcg(ranking(one.query), one.grades) for one in queries if one.half == half) for half in HALVES}


class PlainFts5:
    """FTS5 as it comes: no weights, no bound, no help."""

    def __init__(self, corpus: Sequence[Letter]) -> None:
        self._connection = sqlite3.connect(":memory:")
        self._connection.execute("CREATE VIRTUAL TABLE mail USING fts5 (subject, body)")
        rows = [(position, letter.subject, letter.body) for position, letter in enumerate(corpus)]
        self._connection.executemany("INSERT INTO mail (rowid, subject, body) VALUES (?, ?, ?)", rows)

    def figures(self, queries: Sequence[Judged]) -> dict[str, dict[str, float]]:
        return {
            "plain, all words": figures(self.all_words, queries),
            "plain, any word": figures(self.any_word, queries),
        }

    def close(self) -> None:
        self._connection.close()

    def all_words(self, query: str) -> list[int]:
        return self._found(query, " ")

    def any_word(self, query: str) -> list[int]:
        return self._found(query, " OR ")

    def _found(self, query: str, between: str) -> list[int]:
        expression = between.join('"' + word.replace('"', '""') + '"' for word in query.split())
        sql = "SELECT rowid FROM mail WHERE mail MATCH ? ORDER BY bm25(mail), rowid DESC LIMIT ?"
        return [position for (position,) in self._connection.execute(sql, (expression, DEPTH))]


async def ours(directory: Path, corpus: Sequence[Letter], queries: Sequence[str]) -> dict[str, list[int]]:
    """What the product's search answers to each query, over a store that holds the corpus."""
    clock = SetClock()
    begin = clock.now
    async with Store(directory / "mail.sqlite3", clock=clock) as store:
        project = await store.write(lambda tx: add_project(tx, "/code/app"))
        names = [f"Worker{number}" for number in range(max(letter.sender for letter in corpus) + 1)]
        agents = await store.write(lambda tx: [add_agent(tx, project, name, AgentKind.AGENT) for name in names])
        ids: dict[int, int] = {}

        def post(tx: Tx, position: int, letter: Letter) -> None:
            new = NewMessage(
                sender=agents[letter.sender],
                project=project,
                thread_id=letter.thread,
                topic=None,
                subject=letter.subject,
                body_md=letter.body,
                importance=Importance(letter.importance),
                ack_required=False,
                reply_to=None,
            )
            to = NewRecipient(agent=agents[(letter.sender + 1) % len(agents)], project=project, kind=RecipientKind.TO)
            message, _ = tx.messages.add(new, [to], tx.now)
            ids[message.id] = position

        def post_all(tx: Tx) -> None:
            for position, letter in enumerate(corpus):
                clock.now = Micros(begin + letter.at_s * SECOND)
                post(tx, position, letter)

        await store.write(post_all)
        reader = SearchScope(project_id=project.id, agent_id=None, whole_project=True)
        answers: dict[str, list[int]] = {}
        for text in queries:
            query = read_query(text)
            assert query is not None
            hits = await search(store, query, reader, Filters(), order=Order.RELEVANCE, limit=DEPTH)
            answers[text] = [ids[hit.id] for hit in hits]
        return answers


def main() -> None:
    corpus, queries = letters(), judged()
    with closing(PlainFts5(corpus)) as plain:
        shown = {
            "plain, all words": figures(plain.all_words, queries),
            "plain, any word": figures(plain.any_word, queries),
        }
    with TemporaryDirectory(prefix="am-relevance-") as folder:
        answers = asyncio.run(ours(Path(folder), corpus, [one.query for one in queries]))
    shown["ours"] = figures(answers.__getitem__, queries)
    for name, halves in shown.items():
        sys.stdout.write(f"{name:20}" + "".join(f"  {half} {halves[half]:.3f}" for half in HALVES) + "\n")


if __name__ == "__main__":
    main()
