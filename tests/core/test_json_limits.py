from __future__ import annotations

import json
import tracemalloc
from contextlib import suppress

import pytest

from mcp_agent_mail.core.json_limits import LONGEST_TEXT, TooManyParts, read_bounded


@pytest.mark.parametrize(
    "value",
    [{"a": [1, 2, {}]}, ",[{" * 1_000, '"' * 500, "\\" * 501, '\\"' * 500, ["\\", ",,,,,,,,,,"], "ü\u2c22" * 500],
)
@pytest.mark.parametrize("is_ascii", [True, False])
def test_what_stands_in_texts_does_not_count(value: object, is_ascii: bool) -> None:
    assert read_bounded(json.dumps(value, ensure_ascii=is_ascii).encode(), 6) == value


@pytest.mark.parametrize("part", ["{},", "[],", "0,", '"",', '"a",', '"\\\\",'])
def test_many_parts_are_refused_before_anything_is_made_of_them(part: str) -> None:
    content = b"[" + part.encode() * 1_000_000 + b"0]"
    tracemalloc.start()
    try:
        with pytest.raises(TooManyParts):
            read_bounded(content, 1_000)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < 4 * len(content)


def test_objects_within_objects_count() -> None:
    with pytest.raises(TooManyParts):
        read_bounded(b'{"a":' * 100 + b"1" + b"}" * 100, 99)


def test_another_encoding_is_no_json() -> None:
    with pytest.raises(ValueError, match="utf-8"):
        read_bounded(json.dumps({"a": 1}).encode("utf-16"), 10)


@pytest.mark.parametrize(
    "content",
    [
        b'{"a": "%s\xf0\x9f\x98\x80"}' % (b"a" * (16 << 20)),
        b"[%s]" % b",".join([b'"%s\xf0\x9f\x98\x80"' % (b"a" * 16_000)] * 1_000),
        b'["\\ud83d\\ude00%s"]' % (b"a" * (16 << 20)),
    ],
    ids=["one", "each", "escaped"],
)
def test_a_wide_character_does_not_widen_all_that_stands_beside_it(content: bytes) -> None:
    tracemalloc.start()
    try:
        with suppress(TooManyParts):
            read_bounded(content, 2_000)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < 6 * len(content)


def test_a_text_of_any_length_is_refused() -> None:
    longest = json.dumps(["ü" * (LONGEST_TEXT // 2)], ensure_ascii=False).encode()
    assert read_bounded(longest, 10) == ["ü" * (LONGEST_TEXT // 2)]

    with pytest.raises(TooManyParts, match="a text of"):
        read_bounded(longest.replace(b'"]', b'a"]'), 10)


@pytest.mark.parametrize("before", range(4))
def test_characters_that_lie_across_pieces_are_whole(before: int) -> None:
    value = ["a" * before + '\U0001f600\u2c22"\\' * 40_000]

    assert read_bounded(json.dumps(value, ensure_ascii=False).encode(), 10) == value
