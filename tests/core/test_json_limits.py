from __future__ import annotations

import json
import tracemalloc

import pytest

from mcp_agent_mail.core.json_limits import TooManyParts, read_bounded


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
