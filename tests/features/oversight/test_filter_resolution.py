from __future__ import annotations

from functools import partial

import pytest

from mcp_agent_mail.domain.projects import UnknownProject
from mcp_agent_mail.features.oversight.filter_resolution import (
    agents_named,
    meant_project,
    numbered_project,
    unknown_agents,
)
from mcp_agent_mail.features.projects.lookup import AmbiguousProject
from tests.seeded_store import SeededStore, add_project


async def test_a_project_is_found_by_slug_path_number_and_name(seeded: SeededStore) -> None:
    home = await seeded.store.read(lambda view: view.projects.find(seeded.blue.project_id))
    assert home is not None

    for called in (home.slug, home.human_key, str(home.id), home.name, home.name.upper()):
        found = await seeded.store.read(partial(meant_project, key=called))
        assert found == home, called
    with pytest.raises(UnknownProject):
        await seeded.store.read(lambda view: meant_project(view, "nothing"))
    assert await seeded.store.read(lambda view: numbered_project(view, str(home.id))) == home


async def test_a_name_that_several_projects_have_names_their_slugs(seeded: SeededStore) -> None:
    await seeded.store.write(lambda tx: add_project(tx, "/elsewhere/app"))

    with pytest.raises(AmbiguousProject) as refused:
        await seeded.store.read(lambda view: meant_project(view, "app"))

    assert sorted(refused.value.data["projects"]) == ["code-app", "elsewhere-app"]
    assert "project:elsewhere-app" in refused.value.hint


async def test_agents_are_found_by_name_and_others_are_said_to_be_none(seeded: SeededStore) -> None:
    found = await seeded.store.read(lambda view: agents_named(view, "bluelake"))
    unknown = await seeded.store.read(lambda view: unknown_agents(view, ["BlueLake", "Nobody"]))

    assert {seeded.blue.id, seeded.lib_blue.id} == set(found)
    assert unknown.startswith("There is no agent Nobody.")
    assert "agent BlueLake" not in unknown


async def test_an_agent_of_one_project_is_named_with_it(seeded: SeededStore) -> None:
    for text, agents in (
        ("bluelake@code-app", [seeded.blue.id]),
        ("BlueLake@lib", [seeded.lib_blue.id]),
        ("QuietFox@code-app", []),
        ("BlueLake@nowhere", []),
    ):
        assert await seeded.store.read(partial(agents_named, text=text)) == agents, text
    unknown = await seeded.store.read(lambda view: unknown_agents(view, ["QuietFox@code-app"]))

    assert unknown.startswith("There is no agent QuietFox@code-app.")
