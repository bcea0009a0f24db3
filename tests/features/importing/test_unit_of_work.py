from __future__ import annotations

from mcp_agent_mail.domain.importing.records import SourceKind, SourceStore
from tests.features.importing.scripted import ScriptedReader, agent, copy, message, project
from tests.features.importing.test_service import bring
from tests.rebuild.world import World

STRANGE = "k\ud800\0"


async def test_a_key_that_is_no_text_is_known_again(world: World) -> None:
    reader = ScriptedReader(
        all_projects=[project()],
        all_agents=[agent(STRANGE, "Blue"), agent("a2", "Red")],
        all_messages=[message("m1", STRANGE, copy("a2"))],
    )

    await bring(world, reader)
    report = await bring(world, reader)

    assert {kind.value: one.added for kind, one in report.counts.items() if one.added} == {}
    known = await world.store.read(
        lambda view: view.imported.find(SourceStore(system=reader.system, store_id="one"), SourceKind.MESSAGE, "m1")
    )
    assert known is not None


async def test_each_unit_is_a_file_of_the_archives_it_wrote_into(world: World) -> None:
    reader = ScriptedReader(
        all_projects=[project(), project("p2", "/old/lib", "old-lib")],
        all_agents=[agent("a1", "Blue"), agent("a2", "Red", "p2")],
    )

    await bring(world, reader)
    await world.drain()

    files = sorted(
        path.relative_to(world.settings.storage_root)
        for path in world.settings.storage_root.glob("projects/*/imports/*/*")
    )
    assert [path.name for path in files] == ["1.json", "2.json", "1.json", "2.json"]
    units = world.rows("SELECT id, system, store_id FROM import_units ORDER BY id")
    assert units == [(1, "mcp-agent-mail", "one"), (2, "mcp-agent-mail", "one")]
