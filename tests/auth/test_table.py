"""Who comes in, as what: every route and tool, asked of real servers with every credential, is as the table says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_agent_mail.server.pages.endpoint import PAGES
from mcp_agent_mail.server.rest.endpoint import MOUNT
from mcp_agent_mail.server.rest.routes import ROUTES
from tests.auth.cells import Tally, ask_kind
from tests.auth.servers import open_server
from tests.auth.table import (
    ACTS_AS_AN_AGENT,
    BESIDE_MCP,
    KINDS,
    MARKS,
    MODES,
    NONE,
    OPERATORS,
    PATHS,
    READER,
    READS,
    RESOURCES,
    REST,
    TOOLS,
    WRITER,
    WRITES,
    WRONG,
)

Told = Callable[[str, object], None]


async def test_every_tool_resource_and_route_of_the_running_server_is_in_the_table(tmp_path: Path) -> None:
    async with open_server(tmp_path) as server:
        tools, resources = server.services.tools.specs(), server.services.resources.specs()
        # Pages by role, whole: tests/server/pages/test_readers.py.
        listed = set(server.app.paths.listed()) - {MOUNT, *PAGES}

    assert {spec.name for spec in tools} == set(TOOLS)
    assert {spec.uri for spec in resources} == RESOURCES
    assert [path for path in listed if not any(_is_at(path, asked) for asked in PATHS)] == []
    assert {route.shown.replace("/rest/v1/", "") for route in ROUTES} == {said.partition("?")[0] for said in REST}
    assert {spec.name for spec in tools if not spec.is_over_mcp} == BESIDE_MCP


async def test_what_a_tool_does_by_its_arguments_is_in_the_table(tmp_path: Path) -> None:
    async with open_server(tmp_path) as server:
        tools = server.services.tools.specs()

    acting = {spec.name for spec in tools if spec.identity_params["caller"] and not spec.operator_only}
    marking = {(spec.name, name) for spec in tools for name, param in spec.params.items() if param.writes}
    assert acting == ACTS_AS_AN_AGENT
    assert marking == set(MARKS.items())


def _is_at(listed: str, asked: str) -> bool:
    return asked.startswith(listed) if listed.endswith("/") else asked == listed


def test_each_tool_is_of_one_kind() -> None:
    assert len(READS) + len(WRITES) + len(OPERATORS) == len(TOOLS)


def _require_as_written(tally: Tally, told: Told) -> None:
    told("cells", tally.cells)
    assert tally.wrong == {}
    assert tally.cells > 0


@pytest.mark.parametrize(("kind", "mode"), [("issued", "open"), ("JWKS", "strict")])
async def test_a_part_of_the_table_is_as_it_is_written(
    kind: str, mode: str, tmp_path: Path, record_property: Told
) -> None:
    """The rest of it is asked by `make auth`."""
    tally = await ask_kind(kind, mode, tmp_path, credentials=(NONE, WRONG, READER, WRITER))

    _require_as_written(tally, record_property)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS)
async def test_every_cell_is_as_it_is_written(kind: str, mode: str, tmp_path: Path, record_property: Told) -> None:
    _require_as_written(await ask_kind(kind, mode, tmp_path), record_property)
