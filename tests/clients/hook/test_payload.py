"""What a client says is looked up by its contract, and nothing of it is believed to be there."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from mcp_agent_mail.clients.contracts.reader import CLIENTS, read_contract
from mcp_agent_mail.clients.hook.payload import MAX_BYTES, HookPayload, read_payload
from tests.clients.payloads import FOREIGN, payload


def _of(client: str, value: Any) -> HookPayload:
    return HookPayload(read_contract(client), value)


@pytest.mark.parametrize("client", CLIENTS)
def test_session_and_folder_are_found_in_every_event(client: str) -> None:
    for event in read_contract(client)["events"]:
        told = _of(client, payload(client, event, "/code"))

        assert (told.session, told.folder, told.is_foreign(), told.is_subagents) == ("s-1", "/code", False, False), (
            event
        )


@pytest.mark.parametrize("client", CLIENTS)
def test_a_call_of_another_client_is_known(client: str) -> None:
    event = next(iter(read_contract(client)["events"]))

    assert _of(client, {**payload(client, event, "/code"), **FOREIGN[client]}).is_foreign()


def test_copilot_and_cursor_are_known_where_they_run_claudes_hooks() -> None:
    copilots = {"session_id": "s", "timestamp": "2026-11-01T00:00:00Z", "cwd": "/code", "tool_name": "create"}
    cursors = {"session_id": "s", "workspace_roots": ["/code"], "hook_event_name": "PreToolUse"}

    assert [_of("claude", value).is_foreign() for value in (copilots, cursors)] == [True, True]


@pytest.mark.parametrize("odd", [None, 1, [], {}, True, "", " ", "relative", "/with\0nul"])
def test_odd_values_are_as_none(odd: Any) -> None:
    told = _of("claude", {"session_id": odd, "cwd": odd, "tool_name": odd, "tool_input": odd, "source": odd})

    assert told.folder is None
    assert told.session is None or odd in ("relative", "/with\0nul")
    assert told.arguments == {}
    assert isinstance(told.tool, str)
    assert isinstance(told.start_source, str)


def test_arguments_may_come_as_text() -> None:
    assert _of("copilot", {"toolArgs": '{"path": "a"}'}).arguments == {"path": "a"}
    assert _of("copilot", {"toolArgs": "{"}).arguments == {}
    assert _of("copilot", {"toolArgs": "[1]"}).arguments == {}


@pytest.mark.parametrize(("said", "is_continued"), [(False, False), (True, True), (0, False), (2, True), ("x", False)])
def test_a_turn_that_goes_on_is_said_as_a_flag_or_a_count(said: Any, is_continued: bool) -> None:
    assert _of("cursor", {"loop_count": said}).is_continued is is_continued


@pytest.mark.parametrize(("size", "is_read"), [(MAX_BYTES, True), (MAX_BYTES + 1, False), (3 * MAX_BYTES, False)])
def test_stdin_is_read_to_its_end_and_counts_up_to_a_mebibyte(size: int, is_read: bool, tmp_path: Any) -> None:
    file = tmp_path / "stdin"
    file.write_bytes(json.dumps({"a": "x" * (size - len('{"a": ""}'))}).encode())
    descriptor = os.open(file, os.O_RDONLY)
    try:
        value = read_payload(descriptor)
        rest = os.read(descriptor, 10)
    finally:
        os.close(descriptor)

    assert (value is not None, rest) == (is_read, b"")


def test_a_closed_stdin_is_no_payload() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    os.close(writing)

    assert read_payload(reading) is None
