"""Full-text search: candidates from the index, newest first and bounded, then ranked.

Who may see a message is decided twice. The index is asked within the project's scope token, so that
a bound on candidates is a bound on candidates of this project; the rows themselves are then held
against the tables, so that nothing hangs on the index alone.

A search is one piece of work for one thread: each statement that is waited for on the event loop is a turn of the
interpreter's lock, which beside a busy loop costs more than the statement.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import TypeVar

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MessageId, ProjectId
from mcp_agent_mail.domain.messages import Importance
from mcp_agent_mail.domain.search.expansion import (
    ENOUGH,
    Term,
    every_term,
    expressions,
    parts_of_names,
    shown_phrases,
    terms_of,
)
from mcp_agent_mail.domain.search.query import Filters, Hit, Order, Phrase, SearchQuery, SearchScope, written_phrase
from mcp_agent_mail.domain.search.ranking import RankedText, excerpt, first_match, ranked, words_of
from mcp_agent_mail.domain.search.text_query import has_short_beginning, holds, is_in_subject
from mcp_agent_mail.domain.threads import thread_of
from mcp_agent_mail.store.engine.port import Connection, LongReader, TimeBound
from mcp_agent_mail.store.mail.search_filters import FEW, find_few, is_for_several, search_parameters
from mcp_agent_mail.store.mail.search_statements import (
    RANKED_CHARACTERS,
    FoundRow,
    newest_mail_sql,
    rows_sql,
)

T = TypeVar("T")

CANDIDATES = 40
"""So many of the newest hits are ranked: two pages. What is asked for beyond them stands behind, newest first."""
SUBJECT_CANDIDATES = 20
"""So many older hits with a word in the subject are ranked too ..."""
SUBJECT_REACH = 20_000
"""... as far back as this many ids, and ..."""
SUBJECT_WALK = 1_000
"""... as about this many hits, if they lie as the newest do: that bounds how much of the index is walked for them."""
WALKS = (100, 400)
"""So many of the newest messages are read for a beginning of few letters, before the index is asked."""
OTHER_CANDIDATES = 40
"""So many of the newest hits of each word are ranked when too little holds all words ..."""
PAIR_CANDIDATES = 100
"""... and so many of those that hold two of them."""
OTHER_REACH = 10_000
"""Two of the words are looked for as far back as this many ids: of common words that are seldom together all must be
walked through.
"""
MAX_NAMES = 20
"""So many names of code are looked for that hold a word in their inside: those that were new last."""
RANKED_TOGETHER = 1024 * 1024
"""So much of all bodies is ranked: of a thousand hits a kilobyte each."""
MAX_SHOWN = 24
"""So many phrases are looked for to place a snippet."""

# The delivery times of a project's messages never fall along their ids, but for mail that was held until later: the
# last one that is too old, by halving, less the ones delivered late since then.
_TOO_OLD = """SELECT CASE WHEN delivered_ts <= :since THEN message_id END FROM message_projects
    WHERE project_id = :project AND message_id >= (low + high + 1) / 2 AND is_late = 0 ORDER BY message_id LIMIT 1"""
_LAST_TOO_OLD = f"""
WITH RECURSIVE half (low, high) AS (
    SELECT 0, (SELECT coalesce(max(message_id), 0) FROM message_projects WHERE project_id = :project)
    UNION ALL
    SELECT coalesce(({_TOO_OLD}), low), CASE WHEN ({_TOO_OLD}) IS NULL THEN (low + high + 1) / 2 - 1 ELSE high END
    FROM half WHERE low < high
)
SELECT min(max(low), coalesce((SELECT min(message_id) FROM message_projects INDEXED BY message_projects_late
                               WHERE project_id = :project AND is_late = 1 AND delivered_ts > :since) - 1, max(low)))
FROM half
"""
# Most forms stand nowhere, and each costs every expression it is named in.
_KNOWN = """SELECT key FROM json_each(:forms)
    WHERE EXISTS (SELECT 1 FROM messages_fts WHERE messages_fts MATCH value) LIMIT 1000"""
_NAMES = """SELECT key, name FROM json_each(:parts) CROSS JOIN identifiers i ON i.id IN (
    SELECT rowid FROM identifiers_fts WHERE identifiers_fts MATCH value ORDER BY rowid DESC LIMIT :limit)
    ORDER BY i.id DESC LIMIT 1000"""
_BETWEEN_LATE = f"BETWEEN max(:low, (SELECT max(id) FROM messages) - {OTHER_REACH})"
_DEEP = """
SELECT id, substr(body_md, max(1, at - :before), :length)
FROM (SELECT id, body_md, instr(lower(body_md), :word) AS at FROM messages
      WHERE id IN (SELECT value FROM json_each(:ids))) AS part
WHERE at > 0 ORDER BY id
"""
_IMPORTANCE = {one.value: one for one in Importance}
_DEEP_BEFORE = 60
_DEEP_LENGTH = 300


async def search(
    store: LongReader, query: SearchQuery, reader: SearchScope, filters: Filters, *, order: Order, limit: int
) -> list[Hit]:
    """At most `limit` messages that `reader` may see. Ties of relevance: newest first.

    Several projects are searched by relevance, and with filters that are for several.
    """
    assert not reader.more_projects or (is_for_several(filters) and order is Order.RELEVANCE)

    def find(connection: Connection, bound: TimeBound) -> list[Hit]:
        return _Search(connection, bound, query, reader, filters, order=order, limit=limit).hits()

    return await store.long_read(find)


class _Search:
    """One search, on the thread of its connection, which it asks at once where the bounds of its filters lie."""

    def __init__(
        self,
        connection: Connection,
        bound: TimeBound,
        query: SearchQuery,
        reader: SearchScope,
        filters: Filters,
        *,
        order: Order,
        limit: int,
    ) -> None:
        self._bound = bound
        self._connection, self._query, self._reader, self._filters = connection, query, reader, filters
        self._order, self._limit = order, limit
        self._parameters = search_parameters(reader, filters)
        if filters.since_ts is not None:
            ((last_too_old,),) = connection.execute(_LAST_TOO_OLD, self._parameters)
            self._parameters["low"] = last_too_old + 1
        self._few = find_few(connection, filters, self._parameters)

    def hits(self) -> list[Hit]:
        query, order = self._query, self._order
        is_of_many = order is Order.RELEVANCE and self._few is None
        rows, more = self._candidates() if is_of_many else (self._exact(query.expression), [])
        terms, others = [Term(phrase) for phrase in query.phrases], list[FoundRow]()
        names = {} if rows else self._names(parts_of_names(query))
        if order is Order.RELEVANCE and query.bare_words and len(rows) < ENOUGH:
            terms = terms_of(query, names)
            others = self._others(terms)
        elif names:
            terms = terms_of(query, names)
            rows = self._exact(every_term(terms), at_least=FEW)
        self._bound.require()
        rows = [*_in_order(rows, others, terms, order), *more][: self._limit]
        self._bound.require()
        snippets = self._snippets(rows, shown_phrases(terms)[:MAX_SHOWN])
        return [_hit(row, snippets[row.id]) for row in rows]

    def _rows(self, expression: str, *, limit: int, oldest_first: bool = False, **parameters: object) -> list[FoundRow]:
        """Of these few alone where a filter leaves few, else of all."""
        sql = rows_sql(self._reader, self._filters, among=self._few is not None, oldest_first=oldest_first)
        asked = {"match": _within(self._reader, expression), "limit": limit, "ids": self._few, **parameters}
        # Each of few is looked at by an opening of the index of its own, which a beginning makes long.
        is_slow = self._few is not None and '" *' in expression
        with self._bound.asked_often() if is_slow else nullcontext():
            return self._read(sql, asked)

    def _read(self, sql: str, asked: Mapping[str, object]) -> list[FoundRow]:
        return list(map(FoundRow._make, self._connection.execute(sql, {**self._parameters, **asked})))

    def _exact(self, expression: str, *, at_least: int = 0) -> list[FoundRow]:
        """As many as are asked for, from the end that is asked for; of few all, newest first."""
        if self._few is not None:
            return self._rows(expression, limit=FEW)
        limit = max(self._limit, at_least)
        return self._rows(expression, limit=limit, oldest_first=self._order is not Order.NEWEST)

    def _candidates(self) -> tuple[list[FoundRow], list[FoundRow]]:
        """What is ranked: the newest hits, and of the older ones those with a word in the subject; and behind them, as
        many as are asked for, the hits that come next, newest first. So a larger limit changes no order.
        """
        if (walked := self._walked()) is not None:
            return walked
        found = self._rows(self._query.expression, limit=max(self._limit, CANDIDATES))
        newest = found[:CANDIDATES]
        if len(newest) < CANDIDATES:
            return newest, []
        first, last = newest[0].id, newest[-1].id
        reach = min(SUBJECT_REACH, (first - last + 1) * SUBJECT_WALK // CANDIDATES)
        low = self._parameters["low"]
        assert isinstance(low, int)
        older = self._rows(self._query.in_subject, limit=SUBJECT_CANDIDATES, high=last - 1, low=max(low, first - reach))
        return newest + older, _without(found[CANDIDATES:], older)

    def _walked(self) -> tuple[list[FoundRow], list[FoundRow]] | None:
        """As `_candidates`, where the newest mail has enough of them: of beginnings of few letters. None asks the
        index, and so does what is rare.
        """
        reader = self._reader
        if not reader.whole_project or reader.more_projects or not has_short_beginning(self._query):
            return None
        sql = newest_mail_sql(reader, self._filters)
        for length in WALKS:
            mail = self._read(sql, {"walked": length})
            self._bound.require()
            found = [row for row in mail if holds(self._query, row.subject, row.beginning)]
            if len(found) >= CANDIDATES:
                older = [row for row in found[CANDIDATES:] if is_in_subject(self._query, row.subject)]
                if (lacking := self._limit - len(found)) > 0:
                    found += self._rows(self._query.expression, limit=lacking, high=found[-1].id - 1)
                ranked = found[:CANDIDATES] + older[:SUBJECT_CANDIDATES]
                return ranked, _without(found[CANDIDATES:], older[:SUBJECT_CANDIDATES])
        return None

    def _names(self, parts: dict[str, str]) -> dict[str, list[str]]:
        """For each text the names, of those that mail spoke of first lately, with the text's part inside.

        Of mail that the reader may read, and no other: which names are tried shows in what is found. Who may not read
        the project's mail finds its own by whole words.
        """
        reader = self._reader
        if not parts or not reader.whole_project:
            return {}
        scopes = " OR ".join(f'"p{project_id:d}."' for project_id in (reader.project_id, *reader.more_projects))
        asked = {text: f'(name : "{part}") AND (scope : ({scopes}))' for text, part in parts.items()}
        found: dict[str, dict[str, None]] = {}
        for text, name in self._connection.execute(_NAMES, {"parts": json.dumps(asked), "limit": MAX_NAMES}):
            found.setdefault(text, {})[name] = None
        return {text: list(names) for text, names in found.items()}

    def _known_forms(self, terms: Sequence[Term]) -> set[str]:
        forms = {form: written_phrase(Phrase(form)) for term in terms for form in term.forms}
        known = self._connection.execute(_KNOWN, {"forms": json.dumps(forms)})
        return {form for (form,) in known}

    def _others(self, terms: Sequence[Term]) -> list[FoundRow]:
        """The newest hits of at least two of the terms, as far back as OTHER_REACH, and of each term: of rare words
        all, of common ones some.
        """
        asked = expressions(terms, self._known_forms(terms))
        if self._few is not None:  # All of these few, whichever term they hold: each is looked at once.
            return self._rows(" OR ".join(asked[-len(terms) :]), limit=FEW)
        one = rows_sql(self._reader, self._filters)
        parts = [one.replace(":match", f":match{at}").replace(":limit", f":limit{at}") for at in range(len(asked))]
        if len(asked) > 1:
            parts[0] = parts[0].replace("BETWEEN :low", _BETWEEN_LATE)
        matches = {f"match{at}": _within(self._reader, expression) for at, expression in enumerate(asked)}
        limits = {f"limit{at}": OTHER_CANDIDATES if at else PAIR_CANDIDATES for at in range(len(asked))}
        sql = " UNION ALL ".join(f"SELECT * FROM ({part}) AS part" for part in parts)
        found = self._read(sql, {**matches, **limits})
        return sorted({row.id: row for row in found}.values(), key=lambda row: row.id, reverse=True)

    def _snippets(self, rows: Sequence[FoundRow], phrases: Sequence[Phrase]) -> dict[int, str]:
        """What to show of each message: its body around the first word found, else its beginning."""
        at = {row.id: first_match(row.beginning, phrases) for row in rows}
        cut = {row.id for row in rows if row.body_bytes > RANKED_CHARACTERS}
        snippets = {row.id: excerpt(row.beginning, at[row.id], is_end=row.id not in cut) for row in rows}
        deeper = [
            row.id for row in rows if row.id in cut and at[row.id] is None and first_match(row.subject, phrases) is None
        ]
        words = [word for phrase in phrases for word in words_of(phrase)]
        if deeper and words:
            parameters = {"ids": json.dumps(deeper), "word": words[0], "before": _DEEP_BEFORE, "length": _DEEP_LENGTH}
            for message_id, part in self._connection.execute(_DEEP, parameters):
                snippets[message_id] = excerpt(part, None, is_beginning=False, is_end=False)
        return snippets


def _without(rows: Sequence[FoundRow], others: Sequence[FoundRow]) -> list[FoundRow]:
    known = {row.id for row in others}
    return [row for row in rows if row.id not in known]


def _in_order(rows: list[FoundRow], others: list[FoundRow], terms: Sequence[Term], order: Order) -> list[FoundRow]:
    """`rows` hold what was asked for, `others` something like it; both newest first when `order` is by relevance."""
    if order is not Order.RELEVANCE:
        return sorted(rows, key=lambda row: row.id, reverse=order is Order.NEWEST)
    exact = {row.id for row in rows}
    candidates = rows + [row for row in others if row.id not in exact]
    each = RANKED_TOGETHER // max(1, len(candidates))
    texts = [_text(row, each, is_exact=row.id in exact) for row in candidates]
    return [candidates[position] for position in ranked(texts, terms)]


def _text(row: FoundRow, length: int, *, is_exact: bool) -> RankedText:
    return RankedText(
        subject=row.subject,
        body=row.beginning[:length],
        created_ts=row.created_ts,
        importance=_IMPORTANCE[row.importance],
        thread=thread_of(MessageId(row.id), row.thread_id),
        is_exact=is_exact,
    )


def _within(reader: SearchScope, expression: str) -> str:
    """The expression, asked within what the reader may see. Only here is the index's scope spoken of."""
    scopes = [f'"p{project_id:d}"' for project_id in (reader.project_id, *reader.more_projects)]
    if reader.whole_project and reader.agent_id is not None:
        scopes.append(f'"b{reader.agent_id:d}"')
    return f"({expression}) AND (scope : ({' OR '.join(scopes)}))"


def _hit(row: FoundRow, snippet: str) -> Hit:
    return Hit(
        id=MessageId(row.id),
        subject=row.subject,
        importance=_IMPORTANCE[row.importance],
        ack_required=bool(row.ack_required),
        created_ts=Micros(row.created_ts),
        thread_id=row.thread_id,
        sender_name=row.sender_name,
        sender_project_id=ProjectId(row.sender_project_id),
        sender_project_slug=row.sender_project_slug,
        snippet=snippet,
        project_id=None if row.project_id is None else ProjectId(row.project_id),
    )
