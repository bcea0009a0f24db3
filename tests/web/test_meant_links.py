from __future__ import annotations

from pathlib import Path

from tests.web.swarm import open_swarm


async def test_a_page_that_is_not_there_links_what_was_probably_meant(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        project = await swarm.text("/mail/shpo/agents", 404)
        agent = await swarm.text(f"/mail/{swarm.shop}/agents/BlueLak", 404)
        nobody = await swarm.text("/mail/shop/agents/Zzzz", 404)
        other = await swarm.app.call("ensure_project", human_key="/elsewhere/shop")
        several = await swarm.text("/mail/shop", 409)

        assert '<a href="/mail/projects">Projects</a>' in project
        assert f'<a href="/mail/{swarm.shop}/agents/BlueLake">BlueLake</a>' in agent
        assert f'<a href="/mail/{swarm.shop}/agents">Agents of shop</a>' in nobody
        for slug in (swarm.shop, other["slug"]):
            assert f'<a href="/mail/{slug}">{slug}</a>' in several
        assert "<h1>Several are called so</h1>" in several


async def test_a_project_that_is_meant_by_a_slip_is_linked_by_its_name(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        page = await swarm.text(f"/mail/{swarm.shop[:-1]}/agents", 404)

        assert f'<a href="/mail/{swarm.shop}">shop</a>' in page
