"""Full-text search: candidates from the index, newest first and bounded, then ranked.

Who may see a message is decided twice. The index is asked within the project's scope token, so that
a bound on candidates is a bound on candidates of this project; the rows themselves are then held
against the tables, so that nothing hangs on the index alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import NamedTuple, Protocol

import aiosqlite

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.concurrency.computation import computed
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
from mcp_agent_mail.domain.threads import thread_of
from mcp_agent_mail.store.mail.search_filters import FEW, find_few, is_for_several, search_parameters

CANDIDATES = 100
"""So many of the newest hits are ranked; more when more are asked for."""
SUBJECT_CANDIDATES = 50
"""So many older hits with a word in the subject are ranked too ..."""
SUBJECT_REACH = 20_000
"""... as far back as this many ids, which bounds how much of the index is walked for them."""
OTHER_CANDIDATES = 40
"""So many of the newest hits of each word are ranked when too little holds all words."""
OTHER_REACH = 10_000
"""Two of the words are looked for as far back as this many ids: of common words that are seldom together all must be
walked through.
"""
MAX_NAMES = 20
"""So many names of code are looked for that hold a word in their inside: those that were new last."""
RANKED_CHARACTERS = 4_096
"""So much of a body is ranked and searched for a snippet."""
RANKED_TOGETHER = 1024 * 1024
"""So much of all bodies is ranked: of a thousand hits a kilobyte each."""
RANKED_AT_ONCE = 128 * 1024
"""More than so much is ranked beside the event loop, which a look at a megabyte would hold up: in the place of the
long read, which bounds how many rank at once.
"""
MAX_SHOWN = 24
"""So many phrases are looked for to place a snippet."""

_TAKES_PART = """(m.sender_id = :agent OR EXISTS (
    SELECT 1 FROM recipients r WHERE r.message_id = m.id AND r.agent_id = :agent AND r.delivery_seq IS NOT NULL))"""
_COLUMNS = f"""
SELECT m.id, m.subject, m.importance, m.ack_required, m.created_ts, m.thread_id, a.name, m.project_id, p.slug,
       m.body_bytes, mp.project_id,
       CASE WHEN m.body_bytes > {RANKED_CHARACTERS} THEN substr(m.body_md, 1, {RANKED_CHARACTERS}) ELSE m.body_md END
"""
_CONDITIONS = f"""
CROSS JOIN messages m ON m.id = messages_fts.rowid
JOIN agents a ON a.id = m.sender_id JOIN projects p ON p.id = m.project_id
{{home}}
WHERE messages_fts MATCH :match AND messages_fts.rowid BETWEEN :low AND :high
  AND CASE WHEN :whole_project THEN mp.message_id IS NOT NULL OR {_TAKES_PART}
           ELSE mp.message_id IS NOT NULL AND {_TAKES_PART} END
  AND (:since IS NULL OR coalesce(mp.delivered_ts, m.created_ts) > :since)
  AND (:importance IS NULL OR m.importance = :importance)
  AND (:is_system IS NULL OR m.is_system = :is_system)
  AND (:thread IS NULL OR m.thread_id = :thread OR m.id = :root)
  AND (:sender IS NULL OR m.sender_id = :sender)
  AND (:senders IS NULL OR instr(:senders, ',' || m.sender_id || ',') > 0)
  AND (:topic IS NULL OR mp.topic_key = :topic)
  AND m.created_ts >= :begin AND m.created_ts < :end
  AND (:recipients IS NULL OR EXISTS (
       SELECT 1 FROM recipients r WHERE r.message_id = m.id AND r.delivery_seq IS NOT NULL
         AND (r.kind <> 'bcc' OR :with_blind) AND instr(:recipients, ',' || r.agent_id || ',') > 0))
  AND (:participant IS NULL OR m.sender_id = :participant OR EXISTS (
       SELECT 1 FROM recipients r
       WHERE r.message_id = m.id AND r.agent_id = :participant AND r.delivery_seq IS NOT NULL
         AND (r.kind <> 'bcc' OR :with_blind OR m.sender_id = :agent)))
"""
_OF_ONE = "LEFT JOIN message_projects mp ON mp.project_id = :project AND mp.message_id = m.id"
# Mail of several of the projects is shown as its sender's, else as the oldest project's.
_OF_MANY = """LEFT JOIN message_projects mp ON mp.message_id = m.id AND mp.project_id = (
    SELECT coalesce(max(CASE WHEN x.project_id = m.project_id THEN x.project_id END), min(x.project_id))
    FROM json_each(:projects) one CROSS JOIN message_projects x ON x.project_id = one.value AND x.message_id = m.id)"""
_IN_ONE = _CONDITIONS.format(home=_OF_ONE)
_NEWEST = f"{_COLUMNS} FROM messages_fts {_IN_ONE} ORDER BY messages_fts.rowid DESC LIMIT :limit"
_NEWEST_IN_MANY = f"""
{_COLUMNS} FROM messages_fts {_CONDITIONS.format(home=_OF_MANY)} ORDER BY messages_fts.rowid DESC LIMIT :limit
"""
_OLDEST = f"{_COLUMNS} FROM messages_fts {_IN_ONE} ORDER BY messages_fts.rowid ASC LIMIT :limit"
_AMONG_THESE = f"""
{_COLUMNS} FROM json_each(:ids) few CROSS JOIN messages_fts ON messages_fts.rowid = few.value %s
ORDER BY messages_fts.rowid DESC LIMIT :limit
"""
_AMONG = _AMONG_THESE % _IN_ONE
_AMONG_IN_MANY = _AMONG_THESE % _CONDITIONS.format(home=_OF_MANY)
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
_DEEP_BEFORE = 60
_DEEP_LENGTH = 300


class LongReader(Protocol):
    """What search needs of the store."""

    def long_read(self) -> AbstractAsyncContextManager[aiosqlite.Connection]: ...


class _Row(NamedTuple):
    id: int
    subject: str
    importance: str
    ack_required: int
    created_ts: int
    thread_id: str | None
    sender_name: str
    sender_project_id: int
    sender_project_slug: str
    body_bytes: int
    project_id: int | None
    beginning: str


async def search(
    store: LongReader, query: SearchQuery, reader: SearchScope, filters: Filters, *, order: Order, limit: int
) -> list[Hit]:
    """At most `limit` messages that `reader` may see. Ties of relevance: newest first.

    Several projects are searched by relevance, and with filters that are for several.
    """
    assert not reader.more_projects or (is_for_several(filters) and order is Order.RELEVANCE)
    parameters, match = search_parameters(reader, filters), _within(reader, query.expression)
    async with store.long_read() as connection:
        if filters.since_ts is not None:
            ((last_too_old,),) = await connection.execute_fetchall(_LAST_TOO_OLD, parameters)
            parameters["low"] = last_too_old + 1
        few = await find_few(connection, filters, parameters)
        if few is not None:
            rows = await _rows(connection, _among(reader), match, parameters | {"ids": few}, limit=FEW)
        elif order is Order.RELEVANCE:
            rows = await _candidates(connection, query, reader, parameters, limit)
        else:
            sql = _NEWEST if order is Order.NEWEST else _OLDEST
            rows = await _rows(connection, sql, match, parameters, limit=limit)
        terms, others = [Term(phrase) for phrase in query.phrases], list[_Row]()
        names = {} if rows else await _names(connection, parts_of_names(query), reader)
        if order is Order.RELEVANCE and query.bare_words and len(rows) < ENOUGH:
            terms = terms_of(query, names)
            others = await _others(connection, terms, reader, parameters | {"ids": few})
        elif names:
            terms = terms_of(query, names)
            sql = _among(reader) if few is not None else _NEWEST if order is Order.NEWEST else _OLDEST
            match = _within(reader, every_term(terms))
            rows = await _rows(connection, sql, match, parameters | {"ids": few}, limit=max(limit, FEW))
        rows = (await _in_order(rows, others, terms, order))[:limit]
        snippets = await _snippets(connection, rows, shown_phrases(terms)[:MAX_SHOWN])
    return [_hit(row, snippets[row.id]) for row in rows]


def _among(reader: SearchScope) -> str:
    return _AMONG_IN_MANY if reader.more_projects else _AMONG


async def _in_order(rows: list[_Row], others: list[_Row], terms: Sequence[Term], order: Order) -> list[_Row]:
    """`rows` hold what was asked for, `others` something like it; both newest first when `order` is by relevance."""
    if order is not Order.RELEVANCE:
        return sorted(rows, key=lambda row: row.id, reverse=order is Order.NEWEST)
    exact = {row.id for row in rows}
    candidates = rows + [row for row in others if row.id not in exact]
    each = RANKED_TOGETHER // max(1, len(candidates))
    texts = [_text(row, each, is_exact=row.id in exact) for row in candidates]
    if sum(len(text.body) for text in texts) > RANKED_AT_ONCE:
        positions = await computed(partial(ranked, texts, terms))
    else:
        positions = ranked(texts, terms)
    return [candidates[position] for position in positions]


def _text(row: _Row, length: int, *, is_exact: bool) -> RankedText:
    return RankedText(
        subject=row.subject,
        body=row.beginning[:length],
        created_ts=row.created_ts,
        importance=Importance(row.importance),
        thread=thread_of(MessageId(row.id), row.thread_id),
        is_exact=is_exact,
    )


async def _names(connection: aiosqlite.Connection, parts: dict[str, str], reader: SearchScope) -> dict[str, list[str]]:
    """For each text the names, of those that mail spoke of first lately, with the text's part inside.

    Of mail that the reader may read, and no other: which names are tried shows in what is found. Who may not read the
    project's mail finds its own by whole words.
    """
    if not parts or not reader.whole_project:
        return {}
    scopes = " OR ".join(f'"p{project_id:d}."' for project_id in (reader.project_id, *reader.more_projects))
    asked = {text: f'(name : "{part}") AND (scope : ({scopes}))' for text, part in parts.items()}
    found: dict[str, dict[str, None]] = {}
    for text, name in await connection.execute_fetchall(_NAMES, {"parts": json.dumps(asked), "limit": MAX_NAMES}):
        found.setdefault(text, {})[name] = None
    return {text: list(names) for text, names in found.items()}


async def _known_forms(connection: aiosqlite.Connection, terms: Sequence[Term]) -> set[str]:
    forms = {form: written_phrase(Phrase(form)) for term in terms for form in term.forms}
    known = await connection.execute_fetchall(_KNOWN, {"forms": json.dumps(forms)})
    return {form for (form,) in known}


async def _others(
    connection: aiosqlite.Connection, terms: Sequence[Term], reader: SearchScope, parameters: dict[str, object]
) -> list[_Row]:
    """The newest hits of at least two of the terms, as far back as OTHER_REACH, and of each term: of rare words all, of
    common ones some.
    """
    asked = expressions(terms, await _known_forms(connection, terms))
    if parameters["ids"] is not None:  # All of these few, whichever term they hold: each is looked at once.
        return await _rows(
            connection, _among(reader), _within(reader, " OR ".join(asked[-len(terms) :])), parameters, limit=FEW
        )
    one = _NEWEST_IN_MANY if reader.more_projects else _NEWEST
    parts = [one.replace(":match", f":match{at}").replace(":limit", f":limit{at}") for at in range(len(asked))]
    if len(asked) > 1:
        parts[0] = parts[0].replace("BETWEEN :low", _BETWEEN_LATE)
    matches = {f"match{at}": _within(reader, expression) for at, expression in enumerate(asked)}
    limits = {f"limit{at}": OTHER_CANDIDATES if at else CANDIDATES for at in range(len(asked))}
    sql = " UNION ALL ".join(f"SELECT * FROM ({part}) AS part" for part in parts)
    found = await connection.execute_fetchall(sql, parameters | matches | limits)
    rows = {row.id: row for row in (_Row(*row) for row in found)}
    return sorted(rows.values(), key=lambda row: row.id, reverse=True)


async def _candidates(
    connection: aiosqlite.Connection,
    query: SearchQuery,
    reader: SearchScope,
    parameters: dict[str, object],
    limit: int,
) -> list[_Row]:
    """The newest hits, and of the older ones those with a word in the subject."""
    bound = max(limit, CANDIDATES)
    sql = _NEWEST_IN_MANY if reader.more_projects else _NEWEST
    newest = await _rows(connection, sql, _within(reader, query.expression), parameters, limit=bound)
    if len(newest) < bound:
        return newest
    low = parameters["low"]
    assert isinstance(low, int)
    span = {"high": newest[-1].id - 1, "low": max(low, newest[0].id - SUBJECT_REACH)}
    match = _within(reader, query.in_subject)
    return newest + await _rows(connection, sql, match, parameters | span, limit=SUBJECT_CANDIDATES)


def _within(reader: SearchScope, expression: str) -> str:
    """The expression, asked within what the reader may see. Only here is the index's scope spoken of."""
    scopes = [f'"p{project_id:d}"' for project_id in (reader.project_id, *reader.more_projects)]
    if reader.whole_project and reader.agent_id is not None:
        scopes.append(f'"b{reader.agent_id:d}"')
    return f"({expression}) AND (scope : ({' OR '.join(scopes)}))"


async def _rows(
    connection: aiosqlite.Connection, sql: str, match: str, parameters: dict[str, object], *, limit: int
) -> list[_Row]:
    found = await connection.execute_fetchall(sql, parameters | {"match": match, "limit": limit})
    return [_Row(*row) for row in found]


async def _snippets(
    connection: aiosqlite.Connection, rows: Sequence[_Row], phrases: Sequence[Phrase]
) -> dict[int, str]:
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
        for message_id, part in await connection.execute_fetchall(_DEEP, parameters):
            snippets[message_id] = excerpt(part, None, is_beginning=False, is_end=False)
    return snippets


def _hit(row: _Row, snippet: str) -> Hit:
    return Hit(
        id=MessageId(row.id),
        subject=row.subject,
        importance=Importance(row.importance),
        ack_required=bool(row.ack_required),
        created_ts=Micros(row.created_ts),
        thread_id=row.thread_id,
        sender_name=row.sender_name,
        sender_project_id=ProjectId(row.sender_project_id),
        sender_project_slug=row.sender_project_slug,
        snippet=snippet,
        project_id=None if row.project_id is None else ProjectId(row.project_id),
    )
