"""Queries: what they mean, and that no text of a caller reaches the index as syntax."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.domain.search.query import MAX_DEPTH, MAX_NEAR, MAX_PREFIXES, read_query, spaced_out

_LETTERS = {
    1: ("Build plan", "the plan says build the tests with care", "p1"),
    2: ("Tests", "testing took long, see src/app.py and it's fine", "p1"),
    3: ("error: (plan", "care for tests, not for the build", "p1"),
    4: ("secret", "plan of another project", "p2"),
    5: ("\u65e5\u672c\u8a9e\u306e\u30c6\u30b9\u30c8", "\u691c\u7d22abc\u6a5f\u80fd \ud55c\uad6d\uc5b4\uac00", "p1"),
    6: ("Caf\u00e9 \U00020000\U00020001", "r\u00e9sum\u00e9 na\u00efve under_score", "p1"),
}


@pytest.fixture(scope="module")
def index() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(
            "CREATE VIRTUAL TABLE fts USING fts5 (subject, body_md, scope, tokenize='unicode61 remove_diacritics 2')"
        )
        for number, (subject, body, scope) in _LETTERS.items():
            row = (number, spaced_out(subject), spaced_out(body), scope)
            connection.execute("INSERT INTO fts (rowid, subject, body_md, scope) VALUES (?, ?, ?, ?)", row)
        yield connection


def find(index: sqlite3.Connection, text: str) -> list[int]:
    query = read_query(text)
    if query is None:
        return []
    index.execute("SELECT count(*) FROM fts WHERE fts MATCH ?", (query.in_subject,)).fetchone()
    rows = index.execute("SELECT rowid FROM fts WHERE fts MATCH ? ORDER BY rowid LIMIT 100", (query.expression,))
    return [number for (number,) in rows]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("plan", [1, 3, 4]),
        ("PLAN", [1, 3, 4]),
        ("build plan", [1, 3]),
        ('"build plan"', [1]),
        ("build + plan", [1]),
        ("test*", [1, 2, 3]),
        ("test *", [1, 2, 3]),
        ("build AND care", [1, 3]),
        ("took OR secret", [2, 4]),
        ("plan NOT build", [4]),
        ("plan" + " NOT build" * 300, [4]),
        ("plan" + " NOT none" * 300 + " NOT build", [4]),
        ("tests NOT build plan", [2]),
        ("care OR took AND long", [1, 2, 3]),
        ("(care OR took) AND long", [2]),
        ("(care OR took) long", [2]),
        ("subject:plan", [1, 3]),
        ("body:plan", [1, 4]),
        ("BODY_MD : plan", [1, 4]),
        ("{subject body} : plan", [1, 3, 4]),
        ("- subject : plan", [1, 4]),
        ("subject:(plan OR tests)", [1, 2, 3]),
        ("NEAR(plan build, 2)", [1]),
        ("^the", [1]),
        ("cafe", [6]),
        ("CAF\u00c9", [6]),
        ("under_score", [6]),
        ('"build""plan"', [1]),
    ],
)
def test_the_syntax_means_what_it_says(index: sqlite3.Connection, text: str, found: list[int]) -> None:
    assert find(index, text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("src/app.py", [2]),
        ("it's", [2]),
        ("error:", [3]),
        ("(plan", [1, 3, 4]),
        ('"build', [1, 3]),
        ("tests, care", [1, 3]),
        ("plan AND", []),
        ("care NOT", [3]),
        ("-plan", [1, 3, 4]),
        ("unknown:plan", []),
        ("subject:", []),
        ("a:b:c", []),
        ("under-score", [6]),
        ("took OR -secret", []),
        ("subject:(body:plan)", []),
        ("-{subject body}:plan", []),
    ],
)
def test_what_is_no_syntax_is_searched_as_words(index: sqlite3.Connection, text: str, found: list[int]) -> None:
    assert find(index, text) == found


@pytest.mark.parametrize("text", ["", " ", "*", "**", '"', '""', "-", "...", "()", ":", "AND" * 0, "\u3000"])
def test_no_words_find_nothing(text: str) -> None:
    assert read_query(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "\u65e5\u672c",
        "\u672c\u8a9e",
        "\u30c6\u30b9\u30c8",
        "\u306e\u30c6",
        "\u691c\u7d22",
        "\u6a5f\u80fd",
        "abc",
        "\ud55c\uad6d",
        "\uad6d\uc5b4",
        "\ud55c*",
    ],
)
def test_text_written_without_blanks_is_found_by_any_run_of_it(index: sqlite3.Connection, text: str) -> None:
    assert find(index, text) == [5]


def test_a_run_that_is_not_there_is_not_found(index: sqlite3.Connection) -> None:
    assert find(index, "\u672c\u65e5") == []
    assert find(index, "\U00020000\U00020001") == [6]
    assert find(index, "\U00020001\U00020000") == []


@pytest.mark.parametrize(
    "text",
    [
        "scope:p2",
        "scope : p2",
        '"scope" : p2',
        "{scope subject} : p2",
        "-subject:p2",
        "p2",
        "p2*",
        "^p2",
        "p1 OR p2",
        '"x"" OR scope:""p2"',
    ],
)
def test_no_query_asks_who_may_see_a_message(index: sqlite3.Connection, text: str) -> None:
    assert find(index, text) == []


def test_prefixes_and_parentheses_are_bounded(index: sqlite3.Connection) -> None:
    many = read_query("pla* OR " * MAX_PREFIXES + "pla*")
    deep = read_query("(" * (MAX_DEPTH + 1) + "plan" + ")" * (MAX_DEPTH + 1))

    assert many is not None
    assert "*" not in many.expression.replace('"pla*"', "")
    assert deep is not None
    assert "(((plan)))" in deep.expression
    assert find(index, "(" * MAX_DEPTH + "plan" + ")" * MAX_DEPTH) == [1, 3, 4]


@pytest.mark.parametrize("text", ["plan", "(plan)", "plan ...", '"..." OR plan', '("" (plan)) NOT "-"'])
def test_a_part_that_stands_alone_gets_no_parentheses(text: str) -> None:
    query = read_query(text)

    assert query is not None
    assert query.expression == '{body_md subject} : "plan"'


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("NEAR(plan build)", 'NEAR("plan" "build", 10)'),
        ("NEAR(plan build*, 2)", 'NEAR("plan" "build" *, 2)'),
        ('NEAR("-" plan, 999999999)', 'NEAR("plan", 1000)'),
        (f"NEAR({'a ' * MAX_NEAR})", 'NEAR("a"' + ' "a"' * (MAX_NEAR - 1) + ", 10)"),
    ],
)
def test_phrases_near_each_other_are_so_within_ten_words_unless_said_otherwise(text: str, near: str) -> None:
    query = read_query(text)

    assert query is not None
    assert query.expression == f"{{body_md subject}} : {near}"


@pytest.mark.parametrize("text", [f"NEAR({'a ' * (MAX_NEAR + 1)})", "NEAR(a b, c)", "NEAR(a b, 1234567890)", "NEAR(a"])
def test_what_asks_for_too_many_words_or_no_distance_is_searched_as_words(text: str) -> None:
    query = read_query(text)

    assert query is not None
    assert ": NEAR(" not in query.expression


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("plan build plan", ["plan", "build"]),
        ("it's fine", ["it's", "fine"]),
        ('it\'s "fine"', []),
        ('"plan" build', []),
        ("plan OR build", []),
    ],
)
def test_only_words_side_by_side_are_bare(text: str, bare: list[str]) -> None:
    query = read_query(text)

    assert query is not None
    assert [word.text for word in query.bare_words] == bare


_PIECES = st.sampled_from(
    [
        "plan",
        "build",
        "a",
        "AND",
        "OR",
        "NOT",
        "NEAR",
        "NEAR(",
        "(",
        ")",
        '"',
        '""',
        "*",
        ":",
        "subject:",
        "body:",
        "scope:",
        "{",
        "}",
        "-",
        "+",
        "^",
        ",",
        " ",
        " ",
        "5",
        "p2",
        "\u65e5\u672c",
        "\u00e9",
        "'",
        "/",
        "\\",
        ";",
        "--",
        "\x1a",
        "%",
        "\u0301",
    ]
)


@given(st.lists(_PIECES, max_size=30).map("".join) | st.text(max_size=60).filter(lambda text: "\0" not in text))
def test_every_text_is_a_query_that_the_index_accepts(index: sqlite3.Connection, text: str) -> None:
    find(index, text)


@given(st.lists(_PIECES, max_size=30).map("".join) | st.text(max_size=60))
def test_nothing_outside_quotes_comes_from_the_caller(text: str) -> None:
    query = read_query(text)

    if query is not None:
        outside = "".join(query.expression.replace('""', "").split('"')[::2])
        words = outside.translate(str.maketrans("(){}:,*^", " " * 8)).split()
        assert {word for word in words if not word.isdigit()} <= {"AND", "OR", "NOT", "NEAR", "subject", "body_md"}


@given(st.lists(st.sampled_from(["plan", "build", "tests", "care"]), min_size=1, max_size=4))
def test_the_order_of_words_does_not_matter(index: sqlite3.Connection, words: list[str]) -> None:
    assert find(index, " ".join(words)) == find(index, " ".join(reversed(words)))


@given(st.text())
def test_spacing_out_keeps_every_character_in_its_order(text: str) -> None:
    assert spaced_out(text).replace(" ", "") == text.replace(" ", "")
