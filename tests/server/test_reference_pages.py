from __future__ import annotations

import json
import re

import pytest

from mcp_agent_mail.core import errors
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.features.messaging.shapes import show_inbox_item
from mcp_agent_mail.server.rendering.wire import http_status
from tests.features.samples import APP, NOW, a_head, an_entry
from tests.server.reference_pages import (
    GOLDEN,
    MAKE,
    PROFILES,
    REFERENCE,
    RESOURCES,
    TOOLS,
    declared,
    profiles_page,
    resources_page,
    tools_page,
)


def test_the_reference_pages_show_what_is_declared() -> None:
    tools, resources = declared()

    assert TOOLS.read_text() == tools_page(tools), f"run: {MAKE}"
    assert RESOURCES.read_text() == resources_page(resources), f"run: {MAKE}"


def test_the_table_of_profiles_names_the_tools_that_each_has_today() -> None:
    tools, _ = declared()
    page = PROFILES.read_text()

    assert page == profiles_page(tools, page), f"run: {MAKE}"
    (messaging,) = (line for line in page.splitlines() if line.startswith("| `messaging` |"))
    assert "`list_threads`, `mark_message_read`, `read_mail`" in messaging


def test_each_name_in_a_line_of_results_is_closed_where_it_was_opened() -> None:
    lines = [line for page in (TOOLS, RESOURCES) for line in page.read_text().splitlines() if line.startswith("Gives:")]

    assert lines
    assert [line for line in lines if "`" in re.sub(r"`[^` ]+`", "", line)] == []


@pytest.mark.parametrize("tool", ["fetch_inbox", "fetch_inbox_product"])
def test_each_key_that_an_inbox_shows_stands_in_the_reference(tool: str) -> None:
    entry = an_entry()._replace(
        head=a_head(is_system=True),
        read_ts=NOW,
        ack_ts=NOW,
        expired_ts=NOW,
        withdrawn_ts=NOW,
        withdrawn_reason="sent too early",
        superseded_by=MessageId(2),
    )
    declared_keys = json.loads(GOLDEN.read_text())["tools"][tool]
    everything = show_inbox_item(entry, APP.id, NOW, {})

    assert set(everything) <= {*declared_keys["result_keys"], *declared_keys["optional_keys"]}


def test_every_error_stands_in_the_reference_with_its_status() -> None:
    page = (REFERENCE / "errors.md").read_text()
    kinds = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.AgentMailError)
    ]

    for kind in kinds:
        assert f"| `{kind.code}` | {http_status(kind('It is so.'))} |" in page
