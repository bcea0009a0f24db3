from __future__ import annotations

import base64
import json
import zlib

import pytest

from mcp_agent_mail.core.ids import token_hash
from mcp_agent_mail.domain.importing.lines import MAX_UNPACKED, UnfitRecord, from_line, pack, to_line, unpack
from mcp_agent_mail.domain.importing.records import SourceRecord
from tests.features.importing.scripted import agent, project, whole_store


def everything() -> list[SourceRecord]:
    reader = whole_store()
    return [
        *reader.projects(),
        *reader.agents(),
        *reader.messages(),
        *reader.leases(),
        *reader.links(),
        *reader.products(),
    ]


def test_what_was_packed_is_unpacked_as_it_was() -> None:
    assert unpack(pack(everything())) == everything()


def test_what_has_its_default_is_left_out_and_bytes_are_base64() -> None:
    line = to_line(agent("a1", "Blue", token_hash=token_hash("x")))

    assert line["record"] == "agents"
    assert base64.b64decode(line["token_hash"]) == token_hash("x")
    assert "wire" not in line


@pytest.mark.parametrize(
    "line",
    [
        None,
        {},
        {"record": "copies"},
        {"record": "projects", "key": "1"},
        {**to_line(project()), "colour": "red"},
        {**to_line(project()), "key": ""},
        {**to_line(project()), "key": "k" * 513},
        {**to_line(project()), "created_ts": "yesterday"},
        {**to_line(project()), "created_ts": True},
        {**to_line(agent("a1", "Blue")), "wire": "telegram"},
        {**to_line(agent("a1", "Blue")), "token_hash": "!"},
        {**to_line(whole_store().all_messages[0]), "recipients": {}},
        {**to_line(whole_store().all_messages[0]), "recipients": [1]},
    ],
)
def test_anything_else_is_refused_with_the_next_step(line: object) -> None:
    with pytest.raises(UnfitRecord) as refused:
        from_line(line)

    assert refused.value.hint == "Use the am of the same version as the server."


@pytest.mark.parametrize(
    "text",
    [
        "no base64!",
        base64.b64encode(b"not compressed").decode(),
        base64.b64encode(zlib.compress(b"no json")).decode(),
        base64.b64encode(zlib.compress(b"[" * 100_000)).decode(),
        base64.b64encode(zlib.compress(b" " * (MAX_UNPACKED + 1))).decode(),
    ],
)
def test_what_is_not_packed_so_is_refused(text: str) -> None:
    with pytest.raises(UnfitRecord):
        unpack(text)


def test_a_body_of_control_characters_is_no_longer_on_the_way_than_it_is() -> None:
    lines = json.dumps([to_line(one) for one in everything()])

    assert len(pack(everything())) < len(lines)
