from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.clients.setup.edits.json_text import MAX_DEPTH, MOST_WORK, Json, parse
from mcp_agent_mail.clients.setup.edits.text import UnfitText

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=15,
)


@given(VALUES, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_it_reads_what_the_standard_library_reads(value: Json, indent: int | str | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)

    assert parse(text).value == json.loads(text)


def test_comments_and_trailing_commas_are_read_over() -> None:
    text = '// a\n{"a": [1, /* x, */ 2,], // "b": 3\n "c": {},}'

    assert parse(text).value == {"a": [1, 2], "c": {}}


def test_every_value_says_where_it_stands() -> None:
    text = '{"a": [1, "x"], "b" : {"c": null}}'
    root = parse(text)

    paths: list[list[str | int]] = [["a"], ["a", 1], ["b", "c"]]
    found = [root.find_path(path) for path in paths]

    assert [text[node.start : node.end] for node in found if node] == ['[1, "x"]', '"x"', "null"]
    assert root.find_path(["a", 2]) is None
    assert root.find_path(["z"]) is None


def test_of_two_members_of_one_name_the_last_counts() -> None:
    root = parse('{"a": 1, "a": 2}')

    assert root.find("a") == root.members[1]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("{", 1),
        ('{\n"a" 1}', 2),
        ('{"a": 1\n"b": 2}', 2),
        ("{'a': 1}", 1),
        ("[1,,2]", 1),
        ('{}\n"more"', 2),
        ('["a\nb"]', 1),
        ("[01]", 1),
        ("/* no end", 1),
        ("[1" + "0" * 5_000 + "]", 1),
        ("[" * (MAX_DEPTH + 1), 1),
    ],
)
def test_what_is_no_json_is_named_with_its_line(text: str, line: int) -> None:
    with pytest.raises(UnfitText) as unfit:
        parse(text)

    assert unfit.value.line == line


def test_words_that_only_the_standard_library_takes_for_json_are_none() -> None:
    with pytest.raises(UnfitText, match="begins no JSON value"):
        parse('{"a": {"b": NaN}}')


def test_what_is_nested_beyond_reason_is_refused_and_no_fault() -> None:
    deep = "[" * 100_000 + "]" * 100_000

    with pytest.raises(UnfitText, match="nested"):
        parse(f'{{"a": {deep}}}')


@pytest.mark.parametrize(
    "text",
    [
        "[" + "1," * MOST_WORK + "]",
        "[" + "{},/**/" * MOST_WORK + "]",
        "[" * 50 + '"' + "x" * 256 * (MOST_WORK // 50 + 1) + '",' + "]" * 50,
        "[" + "1," * MOST_WORK,
    ],
    ids=["values", "containers", "again-and-again", "broken"],
)
def test_what_only_we_can_read_may_be_only_so_large(text: str) -> None:
    with pytest.raises(UnfitText, match="too large to be read with comments"):
        parse(text)


def test_what_the_standard_library_reads_may_be_large_but_where_our_entry_goes() -> None:
    text = '{"a": [' + "1," * MOST_WORK + "1]}"
    array = parse(text).find_path(["a"])

    assert array is not None
    assert len(array.value) == MOST_WORK + 1
    with pytest.raises(UnfitText, match="too many values"):
        _ = array.items


def test_a_text_is_read_once_and_so_are_its_parts() -> None:
    root = parse("[[1,],]")

    assert parse("[[1,],]") is root
    assert root.items[0].items[0] is root.items[0].items[0]
