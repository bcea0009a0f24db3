"""Messages on lines, and what becomes of lines that are none: the same for every command that is a server itself."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from typing import Any

import pytest

from mcp_agent_mail.cli.agentmail import mcp_server
from mcp_agent_mail.cli.claude_mailbox import stdio_proxy
from mcp_agent_mail.cli.stdio import proxy
from mcp_agent_mail.cli.stdio.messages import (
    MAX_LINE_BYTES,
    VERSIONS,
    LineRefusal,
    read_lines,
    read_request,
    spoken_version,
)
from tests.pages.blocks import ROOT

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def _of(message: Any) -> Any:
    return read_request(json.dumps(message).encode())


def test_every_command_that_serves_lines_reads_them_here() -> None:
    assert all(vars(one)["read_lines"] is read_lines for one in (mcp_server, stdio_proxy, proxy))
    assert all(vars(one)["read_request"] is read_request for one in (mcp_server, stdio_proxy))


def test_a_line_that_is_too_long_is_one_none_and_the_next_is_read() -> None:
    stream = io.BytesIO(b"short\n" + b"x" * 35 + b"\n\n  \nnext\n" + b"y" * 9 + b"\nlast")

    assert list(read_lines(stream, 10)) == [b"short\n", None, b"next\n", b"y" * 9 + b"\n", b"last"]


def test_a_line_that_is_too_long_at_the_end_is_one_none() -> None:
    assert list(read_lines(io.BytesIO(b"x" * 20), 10)) == [None]


def test_a_body_of_three_megabytes_fits_whatever_it_is_written_as() -> None:
    request = {**PING, "params": {"body": "\x01" * (3 << 20)}}

    (line,) = read_lines(io.BytesIO(json.dumps(request).encode() + b"\n"))

    asked = read_request(line)
    assert asked is not None
    assert asked.params == request["params"]


@pytest.mark.parametrize("line", [b"{", b"\xff\xfe{}", "{}".encode("utf-16"), b"[" * 100_000, b'{"a": }', b"nonsense"])
def test_what_is_no_json_is_a_parse_error(line: bytes) -> None:
    with pytest.raises(LineRefusal, match=r"^Parse error$") as refused:
        read_request(line)

    assert refused.value.code == -32700


@pytest.mark.parametrize(
    "message",
    [
        [],
        "ping",
        {"id": 1, "method": "ping"},
        {**PING, "jsonrpc": "1.0"},
        {**PING, "jsonrpc": 2.0},
        {**PING, "id": {"a": 1}},
        {**PING, "id": [1]},
        {**PING, "id": 1.5},
        {**PING, "id": True},
        {**PING, "method": 5},
    ],
)
def test_what_is_no_request_is_invalid(message: Any) -> None:
    with pytest.raises(LineRefusal, match=r"^Invalid Request$") as refused:
        _of(message)

    assert refused.value.code == -32600


def test_a_line_that_was_too_long_is_invalid_and_says_the_bound() -> None:
    with pytest.raises(LineRefusal, match=str(MAX_LINE_BYTES)) as refused:
        read_request(None)

    assert refused.value.code == -32600


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 9, "result": {}},
        {"jsonrpc": "2.0", "id": None, "method": "ping"},
    ],
)
def test_what_wants_no_answer_is_none(message: Any) -> None:
    assert _of(message) is None


@pytest.mark.parametrize(("number", "params"), [(1, {"a": 1}), ("x", {}), (0, {})])
def test_a_request_is_read(number: Any, params: Any) -> None:
    asked = _of({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})

    assert (asked.number, asked.method, asked.params) == (number, "tools/call", params)


def test_parameters_that_are_no_object_are_none() -> None:
    assert _of({**PING, "params": [1]}).params == {}


@pytest.mark.parametrize("wanted", [*VERSIONS, "2099-01-01", None, ["2025-06-18"]])
def test_a_version_that_is_known_is_spoken_and_else_the_newest(wanted: Any) -> None:
    assert spoken_version({"protocolVersion": wanted}) == (wanted if wanted in VERSIONS else "2025-11-25")


def test_nothing_is_imported_for_it_but_json() -> None:
    program = (
        "import sys\n"
        f"sys.path.append({str(ROOT / 'src')!r})\n"
        "import json\n"
        "before = set(sys.modules)\n"
        "import mcp_agent_mail.cli.stdio.messages\n"
        "print(*sorted(one for one in set(sys.modules) - before if not one.startswith('mcp_agent_mail')))\n"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "__future__\n"
