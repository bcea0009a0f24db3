from __future__ import annotations

from collections.abc import Callable

import pytest

from mcp_agent_mail.domain.archive_format.json_text import document
from mcp_agent_mail.domain.archive_format.parse.fields import MAX_DEPTH, Fields, Unfit, read_object, require_same
from mcp_agent_mail.domain.leases import LeaseKind


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (True, lambda fields: fields.number("key")),
        (-1, lambda fields: fields.number("key")),
        (1 << 63, lambda fields: fields.number("key")),
        ((1 << 53) + 1, lambda fields: fields.number("key")),
        (1.0, lambda fields: fields.number_or_none("key")),
        (1, lambda fields: fields.flag("key")),
        (None, lambda fields: fields.text("key")),
        ("2026-11-21T21:00:00+00:00", lambda fields: fields.time("key")),
        ("2026-02-30T21:00:00.000000+00:00", lambda fields: fields.time("key")),
        ("٢٠٢٦-11-21T21:00:00.000000+00:00", lambda fields: fields.time("key")),
        ("web", lambda fields: fields.choice("key", LeaseKind)),
        ([], lambda fields: fields.mapping_or_none("key")),
        ([1], lambda fields: fields.items("key")),
        ({}, lambda fields: fields.items("key")),
        ("there", lambda fields: fields.text("another")),
    ],
)
def test_a_value_of_another_type_is_unfit(value: object, read: Callable[[Fields], object]) -> None:
    with pytest.raises(Unfit):
        read(Fields({"key": value}))


def test_an_object_is_read_down_to_a_depth() -> None:
    def nested(depth: int) -> bytes:
        return b'{"a":' * depth + b"1" + b"}" * depth

    assert read_object(nested(MAX_DEPTH - 1)).has("a")
    with pytest.raises(Unfit, match="deep"):
        read_object(nested(MAX_DEPTH + 1))


def test_keys_that_rendering_does_not_know_may_stand_beside_the_others_at_any_depth() -> None:
    rendered = document({"id": 1, "list": [{"a": True}]})
    content = document({"id": 1, "later": None, "list": [{"a": True, "b": 2}]})

    require_same(content, read_object(content), rendered, document)

    assert content != rendered


@pytest.mark.parametrize(
    "content",
    [b'{"id": 1}', b'{\n  "id": true\n}\n', b'{\n  "id": 1,\n  "id": 1\n}\n', b'{\n  "b": 2,\n  "id": 1\n}'],
    ids=["another layout", "another type", "twice", "no last newline"],
)
def test_what_rendering_would_not_write_so_is_unfit(content: bytes) -> None:
    with pytest.raises(Unfit):
        require_same(content, read_object(content), document({"id": 1}), document)
