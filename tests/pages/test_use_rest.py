"""The how-to about REST, typed line by line against a real server."""

from __future__ import annotations

import json
import re
from pathlib import Path

from mcp_agent_mail.domain.ladder import FeedEvent
from mcp_agent_mail.server.rest.routes import PREFIX, ROUTES
from tests.pages.blocks import ROOT, blocks_of
from tests.pages.reader import Reader

PAGE = ROOT / "docs" / "how-to" / "use-rest.md"
REFERENCE = ROOT / "docs" / "reference" / "http.md"


def test_every_line_of_the_page_does_what_it_says(tmp_path: Path) -> None:
    with Reader(tmp_path) as reader:
        reader.types('git clone -q "$REPOSITORY" mail && cd mail')
        reader.types("make serve")
        _, talk, wait, stream, feed, heartbeat, inbox, description = (
            reader.types(_within_seconds(text)) for _, text in blocks_of(PAGE, "sh")
        )

    assert '"recoverable":true' not in reader.says
    assert "Yours?" in talk
    assert '"status":"answered"' in talk
    assert json.loads(wait) == {"messages": [], "next_cursor": tail_of(feed), "timed_out": True}
    assert stream.startswith("retry: 1000\nid: 0\n\nid: 2\nevent: delivered\ndata: {")
    assert words_of(stream) <= words_listed()
    assert {"delivered", "read", "answered"} <= words_of(stream)
    heard, agents = (json.loads(line) for line in heartbeat.splitlines())
    assert heard["listening_until"]
    assert {one["name"]: one["listening_via"] for one in agents["agents"]} == {"BlueLake": None, "RedStone": "hook"}
    assert [mail["subject"] for mail in json.loads(inbox)["result"]] == ["Parser"]
    assert json.loads(description)["openapi"].startswith("3.1.")


def _within_seconds(text: str) -> str:
    """What a reader ends with Ctrl-C ends by itself."""
    endless = "curl -sSN "
    return f"{text.rstrip().replace(endless, f'{endless}--max-time 3 ')} || test $? = 28\n" if endless in text else text


def tail_of(feed: str) -> int:
    _, now = (json.loads(line) for line in feed.splitlines())
    assert now["events"] == []
    tail: int = now["next_cursor"]
    return tail


def words_of(stream: str) -> set[str]:
    return set(re.findall(r"^event: (\w+)$", stream, re.MULTILINE))


def words_listed() -> set[str]:
    """The words in the first column of the page's table."""
    rows = re.findall(r"^\| (`[a-z`, ]+`) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {word for row in rows for word in re.findall(r"`(\w+)`", row)}


def test_the_page_tells_of_every_event_and_whose_feed_has_it() -> None:
    assert words_listed() == {event.value for event in FeedEvent}


def test_the_reference_lists_every_route_and_its_tool() -> None:
    text = REFERENCE.read_text(encoding="utf-8")

    assert [route.shown for route in ROUTES if f"| `{route.method} {PREFIX}{route.path}` |" not in text] == []
