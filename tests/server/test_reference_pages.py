from __future__ import annotations

from mcp_agent_mail.core import errors
from mcp_agent_mail.server.rendering.wire import http_status
from tests.server.reference_pages import (
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


def test_every_error_stands_in_the_reference_with_its_status() -> None:
    page = (REFERENCE / "errors.md").read_text()
    kinds = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.AgentMailError)
    ]

    for kind in kinds:
        assert f"| `{kind.code}` | {http_status(kind('It is so.'))} |" in page
