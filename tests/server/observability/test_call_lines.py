"""Lines about ended calls, on their way to a terminal that may stand still."""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Any

import pytest

from mcp_agent_mail.core.clock import system_clock
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.params import Flag
from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.tools import Credentials, Json, ToolTable, tell_doer, tool
from mcp_agent_mail.features.introspection.usage import Usage
from mcp_agent_mail.server.dispatch import Calls, RequestFacts
from mcp_agent_mail.server.observability.call_lines import CallLines, EndedCall
from mcp_agent_mail.server.observability.line_queue import LineQueue
from tests.server.observability.pipe import Pipe

FACTS = RequestFacts(credentials=Credentials(via="mcp"), request_id="1", opener=None)


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def pipe() -> Pipe:
    return Pipe()


def ended(**keys: Any) -> EndedCall:
    call: dict[str, Any] = {
        "tool": "set_status",
        "is_known": True,
        "changes": True,
        "arguments": {"project_key": "/code/shop", "agent_name": "BlueLake", "status": "busy"},
        "result": {},
        "error": None,
        "doer": "BlueLake",
        "took_s": 0.0042,
    }
    return EndedCall(**{**call, **keys})


def told(pipe: Pipe, *calls: EndedCall, coloured: bool = False) -> list[str]:
    queue = LineQueue(pipe.writer)
    queue.start()
    for call in calls:
        CallLines(queue, coloured=coloured).tell(call)
    queue.close()
    return [re.sub(r"^(\S*)\d\d:\d\d:\d\d", r"\1hh:mm:ss", line) for line in pipe.text().splitlines()]


def test_a_change_is_one_line_of_when_where_who_what_and_how_long(pipe: Pipe) -> None:
    assert told(pipe, ended(), ended(took_s=2.34)) == [
        "hh:mm:ss shop BlueLake is busy  4 ms",
        "hh:mm:ss shop BlueLake is busy  2.3 s",
    ]


def test_what_only_looked_is_not_told(pipe: Pipe) -> None:
    assert told(pipe, ended(changes=False)) == []


def test_a_refusal_is_told_with_its_hint_also_of_what_only_looks(pipe: Pipe) -> None:
    error = InvalidInput("No agent \x1b[1mBob.", hint="Did you mean BlueLake?")

    assert told(pipe, ended(tool="whois", changes=False, error=error, result=None)) == [
        "hh:mm:ss shop BlueLake whois refused: INVALID_INPUT No agent \\x1b[1mBob.  4 ms",
        "         hint: Did you mean BlueLake?",
    ]


def test_a_refusal_without_a_hint_is_one_line(pipe: Pipe) -> None:
    assert len(told(pipe, ended(error=InvalidInput("No.")))) == 1


def test_a_line_stays_within_the_terminal(pipe: Pipe) -> None:
    (line,) = told(pipe, ended(arguments={"status": "x" * 500, "project_key": "/code/shop"}))

    assert len(line) < 100
    assert line.endswith("…  4 ms")


def test_a_refusal_is_folded_and_its_hint_told_whole(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    error = InvalidInput("No agent of the project /code/shop has this name.", hint="word " * 30 + "end.")

    lines = told(pipe, ended(tool="whois", error=error, result=None))

    assert lines[:2] == [
        "hh:mm:ss shop BlueLake whois refused: INVALID_INPUT",
        "         No agent of the project /code/shop has this",
    ]
    assert all(len(line) < 60 for line in lines)
    assert " ".join(line.strip() for line in lines).endswith("word end.")


LONG = "y" * 30 + "15:41:00 core Human retired Alice"
WIDE = "\u6f22" * 25 + "15:43:00 Human ok"
STRANGE = [
    "x" * 40 + "/" + "y" * 64,
    LONG,
    WIDE,
    "\u6f22\u200d" * 60,
    "\u2764\ufe0f" * 60,
    "e\u0301" * 60,
    "\u2800" * 60,
    "\U0001f469\u200d\U0001f680" * 40,
]


@pytest.mark.parametrize("columns", [30, 40, 80, 81, 200])
@pytest.mark.parametrize("text", STRANGE, ids=ascii)
def test_no_row_of_the_terminal_begins_with_a_callers_words(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch, text: str, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    error = InvalidInput(f"No agent {text}.", hint=f"Did you mean {text}?")
    given = {"project_key": text, "agent_name": text, "status": text}

    lines = told(
        pipe,
        ended(arguments=given, doer=None),
        ended(arguments=given, doer=None, tool=text, is_known=False, error=error, result=None),
        ended(doer=None, arguments={**given, "agent_name": "BlueLake"}, error=InvalidInput(""), result=None),
    )

    assert max(map(cells_of, lines)) < columns
    assert all(line.startswith(("hh:mm:ss ", " " * 9)) for line in lines)


def cells_of(line: str) -> int:
    """As a terminal counts that joins no emoji."""
    return sum(
        0 if unicodedata.category(letter) in ("Mn", "Cf") else 1 + (unicodedata.east_asian_width(letter) in "WF")
        for letter in line
    )


def test_who_and_where_leave_room_for_what_was_refused(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    given = {"project_key": "x" * 40, "agent_name": LONG}

    (line,) = told(pipe, ended(arguments=given, doer=None, error=InvalidInput(""), result=None))

    assert line == 'hh:mm:ss xxxxxxxxxxxxx… "yyyyyyyyyyyy… set_status refused: INVALID_INPUT  4 ms'


def test_colours_are_beside_words_alone(pipe: Pipe) -> None:
    (line,) = told(pipe, ended(), coloured=True)

    assert re.sub(r"\x1b\[\d*m", "", line) == "hh:mm:ss shop BlueLake is busy  4 ms"
    assert "\x1b[1mBlueLake\x1b[0m" in line


def calls_of(pipe: Pipe) -> tuple[Calls, LineQueue]:
    async def set_status() -> Json:
        """Set."""
        tell_doer(1, "BlueLake")  # type: ignore[arg-type]  # any project
        return {}

    async def whois() -> Json:
        """Look."""
        return {}

    async def fetch_inbox(*, mark_read: Annotated[bool, Flag(writes=True)] = False) -> Json:
        """Look, and mark."""
        return [mark_read]

    async def refuse() -> Json:
        """Refuse."""
        raise InvalidInput("No.", hint="Call whois.")

    async def fail() -> Json:
        """Have a fault."""
        raise RuntimeError("secret")

    table = ToolTable(
        [
            tool(set_status, cluster="toys", title="Set"),
            tool(whois, cluster="toys", title="Look", read_only=True),
            tool(fetch_inbox, cluster="toys", title="Fetch", read_only=True),
            tool(refuse, cluster="toys", title="Refuse", read_only=True),
            tool(fail, cluster="toys", title="Fail"),
        ]
    )
    queue = LineQueue(pipe.writer)
    queue.start()
    return Calls(
        table, ResourceTable([]), usage=Usage(clock=system_clock), lines=CallLines(queue, coloured=False)
    ), queue


@pytest.mark.parametrize(("given", "is_told"), [("true", True), (" TRUE ", True), ("false", False), ("", False)])
async def test_a_look_that_marks_is_told_however_it_says_so(pipe: Pipe, given: str, is_told: bool) -> None:
    calls, queue = calls_of(pipe)

    await calls.run_tool("fetch_inbox", {"mark_read": given}, FACTS)
    queue.close()

    assert ("read its inbox" in pipe.text()) is is_told


async def test_calls_of_every_kind_are_told_where_they_are_run(pipe: Pipe) -> None:
    calls, queue = calls_of(pipe)

    await calls.run_tool("set_status", {}, FACTS)
    await calls.run_tool("whois", {}, FACTS)
    await calls.run_tool("fetch_inbox", {"mark_read": False}, FACTS)
    await calls.run_tool("fetch_inbox", {"mark_read": True}, FACTS)
    for name in ("refuse", "fail", "nothing"):
        with pytest.raises(Exception):  # noqa: B017, PT011  # which, other tests say
            await calls.run_tool(name, {}, FACTS)
    queue.close()

    lines = pipe.text().splitlines()
    assert [re.sub(r"\d+ ms$", "N ms", re.sub(r"^\S+ ", "", line)) for line in lines[:4]] == [
        "BlueLake set_status  N ms",
        "someone read its inbox  N ms",
        "someone refuse refused: INVALID_INPUT No.  N ms",
        "         hint: Call whois.",
    ]
    assert "someone fail refused: INTERNAL The server failed while running tool fail." in lines[4]
    assert "secret" not in "".join(lines)
    assert 'someone "nothing" refused: NOT_FOUND Unknown tool: nothing' in lines[6]
