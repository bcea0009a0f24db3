"""SQL that another engine would take too: what is SQLite's alone is counted, and may only become less."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.architecture.trees import PACKAGE, ROOT

STORE = ROOT / PACKAGE / "store"

JSON_EACH = {
    "agents.py": 2,
    "contacts.py": 3,
    "leases.py": 7,
    "mail/delivery.py": 1,
    "mail/messages.py": 3,
    "mail/search.py": 3,
    "mail/search_statements.py": 2,
    "mail/summaries.py": 3,
    "retention.py": 1,
}
"""How often each module hands in a list of values as JSON."""

_FORBIDDEN = {
    "RETURNING stands for it": re.compile(r"lastrowid|last_insert_rowid"),
    "CASE stands for it": re.compile(r"\biif\s*\("),
    "a folded key column stands for it": re.compile(r"COLLATE\s+NOCASE", re.IGNORECASE),
}
_SUBQUERY = re.compile(r"\b(?:FROM|JOIN)\s*\((?=\s*(?:SELECT|VALUES|\{))")
_NO_ALIAS = {"", "WHERE", "ORDER", "GROUP", "LIMIT", "UNION", "CROSS", "LEFT", "JOIN", "INDEXED", "ON"}


def _unnamed_subqueries(text: str) -> int:
    count = 0
    for begin in _SUBQUERY.finditer(text):
        depth, end = 1, begin.end()
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        word = re.match(r"\s*(?:AS\s+)?(\w*)", text[end:])
        assert word is not None
        count += word[1].upper() in _NO_ALIAS
    return count


def _peculiarities(text: str) -> list[str]:
    found = [f"{pattern.pattern}: {why}" for why, pattern in _FORBIDDEN.items() if pattern.search(text)]
    return [*found, *(["a subquery without a name"] * _unnamed_subqueries(text))]


_MODULES = sorted(path.relative_to(STORE).as_posix() for path in STORE.rglob("*.py"))


@pytest.mark.parametrize("module", _MODULES)
def test_a_module_of_the_store_has_no_lastrowid_no_iif_and_no_unnamed_subquery(module: str) -> None:
    assert _peculiarities((STORE / module).read_text(encoding="utf-8")) == []


def test_json_each_is_not_used_anew() -> None:
    counts = {name: (STORE / name).read_text(encoding="utf-8").count("json_each") for name in _MODULES}

    assert {name: count for name, count in counts.items() if count} == JSON_EACH


@pytest.mark.parametrize(
    "statement",
    [
        "self._connection.execute(_ADD).lastrowid",
        "SELECT iif(a, b, c) FROM t",
        "SELECT a FROM t WHERE name = ? COLLATE NOCASE",
        "SELECT a FROM (SELECT a FROM t) WHERE a > 1",
        "SELECT a FROM t JOIN (SELECT b FROM (SELECT b FROM u) AS inner_one) ON a = b",
    ],
)
def test_each_peculiarity_is_noticed(statement: str) -> None:
    assert len(_peculiarities(statement)) == 1


def test_named_subqueries_are_let_through() -> None:
    assert _peculiarities("SELECT a FROM (SELECT a FROM (SELECT b AS a FROM t) AS x) y WHERE a IN (SELECT 1)") == []


def test_the_schema_says_nocase_of_the_topics_alone() -> None:
    schema = "".join(path.read_text(encoding="utf-8") for path in sorted(Path(STORE, "schema").glob("*.sql")))

    assert re.findall(r"(\w+) TEXT COLLATE NOCASE", schema) == ["topic"] * 3
