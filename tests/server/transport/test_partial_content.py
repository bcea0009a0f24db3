from __future__ import annotations

import pytest

from mcp_agent_mail.server.transport.partial_content import ContentPart, NoSuchPart, is_known, read_range


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        (b"bytes=0-0", (0, 1)),
        (b"bytes=0-9", (0, 10)),
        (b"bytes=3-", (3, 7)),
        (b"bytes=9-9", (9, 1)),
        (b"bytes=5-999999999999999999", (5, 5)),
        (b"bytes=-3", (7, 3)),
        (b"bytes=-99", (0, 10)),
        (b"BYTES = 1-2", (1, 2)),
    ],
)
def test_one_range_is_read_as_far_as_there_are_bytes(header: bytes, wanted: tuple[int, int]) -> None:
    assert read_range(header, 10) == ContentPart(*wanted)


@pytest.mark.parametrize(
    "header",
    [
        None,
        b"",
        b"bytes=-",
        b"bytes=",
        b"bytes=5-3",
        b"bytes=0-1,3-4",
        b"bytes=a-b",
        b"bytes=0x1-2",
        b"items=0-1",
        b"bytes=1-2-3",
        b"bytes=+1-2",
        b"bytes=" + b"9" * 5_000 + b"-",
        "bytes=\u0661-\u0662".encode(),
    ],
)
def test_what_is_no_single_range_asks_for_everything(header: bytes | None) -> None:
    assert read_range(header, 10) is None


@pytest.mark.parametrize(
    ("header", "size"), [(b"bytes=10-", 10), (b"bytes=10-20", 10), (b"bytes=-0", 10), (b"bytes=-1", 0)]
)
def test_a_range_behind_the_content_is_no_range_of_it(header: bytes, size: int) -> None:
    with pytest.raises(NoSuchPart):
        read_range(header, size)


def test_a_range_is_told_as_the_header_wants_it() -> None:
    assert ContentPart(3, 7).of(10) == b"bytes 3-9/10"


@pytest.mark.parametrize(
    ("header", "is_it"),
    [
        (None, False),
        (b"", False),
        (b'"a"', True),
        (b'W/"a"', True),
        (b'"b", "a"', True),
        (b" * ", True),
        (b'"b"', False),
        (b"a", False),
        (b'"aa"', False),
    ],
)
def test_a_tag_is_known_by_itself_weakly_or_in_a_list(header: bytes | None, is_it: bool) -> None:
    assert is_known(header, b'"a"') is is_it
