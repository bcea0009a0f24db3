from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.web.pages import projects
from tests.web.swarm import SHOP, open_swarm


async def test_each_project_has_its_counts(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.hold("BlueLake", "a.py")
        await swarm.ask()
        await swarm.app.call(
            "send_message", project_key=SHOP, sender_name="BlueLake", to=["Human"], subject="One", body_md="x"
        )
        person = await swarm.sign_in()

        page = await person.page("/mail/projects")

        shop = page.partition(f'href="/mail/{swarm.shop}"><strong>shop</strong>')[2].partition("</tr>")[0]
        bills = page.partition(f'href="/mail/{swarm.bills}"><strong>bills</strong>')[2].partition("</tr>")[0]
        assert '<span class="count">1</span>' in shop
        assert '/agents">2<span' in shop
        assert '/file_reservations">1<span' in shop
        assert '/contacts">1<span' in bills


async def test_products_are_shown_with_their_projects(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.app.call("ensure_product", name="Store<b>front")
        await swarm.app.call("products_link", product_key="Store<b>front", project_key=SHOP)

        page = await swarm.text("/mail/projects")

        assert "Store&lt;b&gt;front" in page
        assert f'<a class="chip" href="/mail/{swarm.shop}">shop</a>' in page


async def test_how_products_are_made_and_filled_is_told_as_a_person_does_it(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        none = await swarm.text("/mail/projects")
        await swarm.app.call("ensure_product", name="It's <b>")
        made = await swarm.app.call("ensure_product", name="Storefront")
        empty = await swarm.text("/mail/projects")

        assert "<code>am products ensure NAME</code>" in none
        assert "ensure_product" not in none
        assert f"<code>am products link {made['product_uid']} --project PROJECT</code>" in empty
        assert "products_link" not in empty


async def test_both_lists_lead_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projects, "PAGE_SIZE", 1)
    monkeypatch.setattr(projects, "PRODUCTS_SHOWN", 1)
    async with open_swarm(tmp_path) as swarm:
        for name in ("First", "Second"):
            await swarm.app.call("ensure_product", name=name)

        page = await swarm.text("/mail/projects")
        older = await swarm.text("/mail/projects?before=2")
        products = await swarm.text("/mail/projects?products_before=2")

        assert page.count('rel="next"') == 2
        assert "<strong>shop</strong>" not in page
        assert "<strong>shop</strong>" in older
        assert ("First" in products, "Second" in products) == (True, False)


@pytest.mark.parametrize("asked", ["before=x", "products_before=-1", "before=99999999999999999"])
async def test_what_is_no_place_in_a_list_is_refused(tmp_path: Path, asked: str) -> None:
    async with open_swarm(tmp_path) as swarm:
        assert "no place in a list" in await swarm.text(f"/mail/projects?{asked}", 400)
