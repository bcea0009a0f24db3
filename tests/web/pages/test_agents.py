from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.web.pages import agents
from tests.web.swarm import BILLS, SHOP, open_swarm


async def test_the_list_shows_task_last_call_unread_and_leases_of_each(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.hold("BlueLake", "src/cart/**")
        await swarm.app.call(
            "send_message", project_key=SHOP, sender_name="GreenHill", to=["BlueLake"], subject="One", body_md="x"
        )

        page = await swarm.text(f"/mail/{swarm.shop}/agents")

        row = page.partition(">BlueLake</span>")[2].partition("</tr>")[0]
        assert "claude-code · opus" in row
        assert "Coupons" in row
        assert 'data-label="Unread" class="number">1</td>' in row
        assert 'data-label="Leases" class="number">1</td>' in row
        assert f"/mail/{swarm.shop}/outbox/BlueLake" in row


async def test_what_agents_say_of_themselves_is_text(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        listed = await swarm.text(f"/mail/{swarm.shop}/agents")
        alone = await swarm.text(f"/mail/{swarm.shop}/agents/GreenHill")

        for page in (listed, alone):
            assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
            assert "<script>alert" not in page
            assert "<img src=x" not in page
            assert "\u202e" not in page


async def test_the_list_is_bounded_and_leads_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "PAGE_SIZE", 1)
    async with open_swarm(tmp_path) as swarm:
        first = await swarm.text(f"/mail/{swarm.shop}/agents")
        more = await swarm.text(f"/mail/{swarm.shop}/agents?shown=2")

        assert 'rel="next"' in first
        assert first.count('role="rowheader"') == 1
        assert more.count('role="rowheader"') == 2
        assert 'rel="next"' not in more


async def test_no_list_is_shorter_than_a_page_or_longer_than_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (agents.PAGE_SIZE, agents.MOST_PAGES) == (50, 40)
    monkeypatch.setattr(agents, "PAGE_SIZE", 1)
    monkeypatch.setattr(agents, "MOST_PAGES", 1)
    async with open_swarm(tmp_path) as swarm:
        pages = [await swarm.text(f"/mail/{swarm.shop}/agents?shown={shown}") for shown in ("0", "2", "99")]

        assert [page.count('role="rowheader"') for page in pages] == [1] * 3
        assert 'rel="next"' not in pages[-1]


async def test_retired_agents_are_shown_when_asked_for(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.app.call("deregister_agent", project_key=SHOP, agent_name="BlueLake")

        assert "BlueLake" not in await swarm.text(f"/mail/{swarm.shop}/agents")
        assert "BlueLake" in await swarm.text(f"/mail/{swarm.shop}/agents?retired=1")


async def test_one_agent_is_shown_with_what_it_holds_and_sent(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        number = await swarm.hold("BlueLake", "src/cart/**", reason="coupons")
        await swarm.app.call(
            "send_message", project_key=SHOP, sender_name="BlueLake", to=["GreenHill"], subject="Done", body_md="x"
        )

        page = await swarm.text(f"/mail/{swarm.shop}/agents/bluelake")

        assert "<h1>BlueLake</h1>" in page
        assert f'href="/mail/{swarm.shop}/file_reservations/{number}"' in page
        assert ">Done</span>" in page


async def test_who_holds_nothing_is_said_to_reserve_by_itself(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        page = await swarm.text(f"/mail/{swarm.shop}/agents/BlueLake")
        project = await swarm.text(f"/mail/{swarm.shop}/file_reservations")

        assert "No file reservations. It reserves for itself, by its tool <code>file_reservation_paths</code>" in page
        assert f"<code>am reservations active --project {swarm.shop}</code>" in page
        assert f"<code>am reservations active --project {swarm.shop}</code>" in project
        assert f"<code>am mail send --project {swarm.shop} --from BlueLake --to Human" in page


async def test_an_agent_that_nobody_knows_is_a_page_with_the_next_step(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        page = await swarm.text(f"/mail/{swarm.shop}/agents/BlueLak", 404)

        assert "BlueLake" in page


async def test_a_project_leads_to_its_mail(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        for path in (f"/mail/{swarm.bills}", f"/mail/{swarm.bills}/"):
            answer = await swarm.app.client.get(path)

            assert (answer.status_code, answer.headers["location"]) == (303, f"/mail?q=project%3A{swarm.bills}")
        assert BILLS in await swarm.text("/mail/projects")


async def test_how_much_the_person_has_not_read_is_the_operators_to_know(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        for to in ("Human", "BlueLake"):
            await swarm.app.call(
                "send_message", project_key=SHOP, sender_name="GreenHill", to=[to], subject="One", body_md="x"
            )
        unread = "<dt>Unread</dt><dd>1</dd>"
        human, blue = (f"/mail/{swarm.shop}/agents/{name}" for name in ("Human", "BlueLake"))

        anybody = await swarm.text(human)

        assert "<dt>Unread</dt><dd>" in anybody
        assert unread not in anybody
        assert unread in await swarm.text(blue)
        person = await swarm.sign_in()
        assert unread in await person.page(human)


async def test_a_project_is_called_as_every_page_calls_it(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        answer = await swarm.app.client.get("/mail/shop")

        assert answer.headers["location"] == f"/mail?q=project%3A{swarm.shop}"
        assert f"/mail/{swarm.shop}/agents/BlueLake" in await swarm.text("/mail/shop/agents")
