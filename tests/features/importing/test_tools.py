from __future__ import annotations

import base64
import hashlib

import pytest

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.domain.importing.lines import pack
from tests.features.importing.scripted import agent, project
from tests.rebuild.world import ANYBODY, THE_OPERATOR, World

SOURCE = {"system": "postal", "store_id": "one"}


async def test_a_batch_is_counted_and_with_apply_written(world: World) -> None:
    records = pack([project()])

    counted = await world.call("import_records", THE_OPERATOR, **SOURCE, records=records)
    nothing = world.rows("SELECT count(*) FROM projects")
    applied = await world.call("import_records", THE_OPERATOR, **SOURCE, records=records, apply=True)

    assert counted == applied
    assert applied["tally"]["counts"] == {"projects": [1, 0, 0, 0]}
    assert (nothing, world.rows("SELECT count(*) FROM projects")) == ([(0,)], [(1,)])


async def test_in_a_dry_run_names_are_judged_where_the_project_would_be(world: World) -> None:
    await world.call("ensure_project", human_key="/old/app")
    await world.call("register_agent", project_key="/old/app", program="p", model="m", name="Blue")

    counted = await world.call(
        "import_records", THE_OPERATOR, **SOURCE, records=pack([agent("a1", "Blue")]), context=pack([project()])
    )

    assert counted["tally"]["names"] == [["/old/app", "Blue", None, None, "taken"]]


async def test_a_content_is_kept_and_what_is_no_base64_is_refused(world: World) -> None:
    content = {"sha256": hashlib.sha256(b"x").hexdigest(), "offset": 0, "is_last": True}

    kept = await world.call("import_content", THE_OPERATOR, **content, piece=base64.b64encode(b"x").decode())
    with pytest.raises(AgentMailError) as refused:
        await world.call("import_content", THE_OPERATOR, **content, piece="?")

    assert kept == {"kept": True}
    assert refused.value.code == "INVALID_INPUT"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("import_records", {**SOURCE, "records": "no base64, which nobody looks at"}),
        ("import_content", {"sha256": "x", "offset": 0, "piece": "", "is_last": True}),
    ],
)
async def test_they_are_the_operators(world: World, tool: str, arguments: dict[str, object]) -> None:
    with pytest.raises(AgentMailError) as refused:
        await world.call(tool, ANYBODY, **arguments)

    assert refused.value.code == "PERMISSION_DENIED"
    assert not world.services.tools.require(tool, THE_OPERATOR).is_over_mcp
