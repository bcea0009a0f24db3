from __future__ import annotations

import re
from pathlib import Path

import pytest

from mcp_agent_mail.web.pages import contacts
from tests.web.swarm import BILLS, HOSTILE, SHOP, Swarm, fields_of, open_swarm
from tests.web.visitors import ORIGIN, csrf_in


async def test_who_asks_is_shown_with_the_mail_that_waits(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.ask(HOSTILE, HOSTILE + "x" * 700)
        person = await swarm.sign_in()

        page = await person.page(f"/mail/{swarm.bills}/contacts")

        assert _asks(swarm) in page
        assert "1 message for the answer" in page
        assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 2
        assert "<script>alert" not in page
        assert "\u202e" not in page


@pytest.mark.parametrize(("answer", "lasts_s"), [("approve", 30 * 86_400), ("approve-for-a-year", 365 * 86_400)])
async def test_approving_delivers_the_mail_that_was_held(tmp_path: Path, answer: str, lasts_s: int) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.ask()
        person = await swarm.sign_in()
        path = f"/mail/{swarm.bills}/contacts"

        pressed = await person.press(path, path, fields_of(swarm, answer))

        assert (pressed.status_code, pressed.headers["location"]) == (303, f"{path}?did=approved&mail=1&link=1")
        assert "Which currency?" in await swarm.inbox_of("CopperOak")
        after = await person.page(pressed.headers["location"])
        assert "Approved: GreenHill · shop may write to CopperOak. 1 held message was delivered.</p>" in after
        assert "Nobody waits for an answer." in after
        (link,) = await swarm.app.call("list_contacts", project_key=BILLS, agent_name="CopperOak")
        assert link["status"] == "approved"
        stands = await swarm.app.store.read(lambda view: next(iter(view.contacts.each())))
        assert stands.expires_ts is not None
        assert stands.expires_ts - stands.updated_ts == lasts_s * 1_000_000


async def test_denying_returns_the_mail_and_refuses_more(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.ask()
        person = await swarm.sign_in()
        path = f"/mail/{swarm.bills}/contacts"

        pressed = await person.press(path, path, fields_of(swarm, "deny"))

        assert pressed.headers["location"] == f"{path}?did=denied&mail=1&link=1"
        page = await person.page(pressed.headers["location"])
        assert "1 held message was returned to the sender." in page
        assert ">denied</span>" in page
        assert f'<span title="GreenHill@{swarm.shop}">GreenHill · shop</span>' in page
        until = page.partition('data-label="Until">')[2].partition("</td>")[0]
        assert "CopperOak writes to GreenHill · shop<" in until
        assert "Which currency?" not in await swarm.inbox_of("CopperOak")
        refused = await swarm.app.client.post(
            "/rpc/send_message",
            json={
                "project_key": SHOP,
                "sender_name": "GreenHill",
                "to": [f"CopperOak@{swarm.bills}"],
                "subject": "Again",
                "body_md": "x",
            },
        )
        assert refused.status_code != 200


async def test_an_answer_that_no_button_sends_changes_nothing(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.ask()
        person = await swarm.sign_in()
        path = f"/mail/{swarm.bills}/contacts"

        pressed = await person.press(path, path, fields_of(swarm, "perhaps"))

        assert pressed.status_code == 400
        assert "GreenHill" in (await person.page(path)).partition("Who asks to write")[2]


async def test_an_answer_without_the_forms_token_or_a_session_changes_nothing(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.ask()
        path = f"/mail/{swarm.bills}/contacts"
        fields = {**fields_of(swarm, "approve"), "csrf": "0" * 64}

        anybody = await swarm.app.client.post(path, data=fields, headers={"origin": ORIGIN})
        await swarm.sign_in()
        forged = await swarm.app.client.post(path, data=fields, headers={"origin": ORIGIN})

        assert (anybody.status_code, forged.status_code) == (401, 403)
        assert "Which currency?" not in await swarm.inbox_of("CopperOak")


async def test_who_is_not_the_operator_sees_no_contacts(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.ask()

        page = await swarm.text(f"/mail/{swarm.bills}/contacts")

        assert "am web" in page
        assert "GreenHill" not in page


async def test_links_are_pages_that_lead_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contacts, "PAGE_SIZE", 1)
    async with open_swarm(tmp_path) as swarm:
        await swarm.ask()
        await swarm.app.call(
            "request_contact",
            project_key=SHOP,
            from_agent="BlueLake",
            to_agent="CopperOak",
            to_project=BILLS,
            reason="newest",
        )
        person = await swarm.sign_in()

        first = await person.page(f"/mail/{swarm.bills}/contacts")
        second = await person.page(f"/mail/{swarm.bills}/contacts?before=2")

        assert f'rel="next" href="/mail/{swarm.bills}/contacts?before=2"' in first
        assert "BlueLake" not in second
        assert "GreenHill" in second


async def test_an_answer_goes_back_to_a_page_of_ours_alone(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.ask()
        person = await swarm.sign_in()
        path = f"/mail/{swarm.bills}/contacts"

        ours = await person.press(path, path, {**fields_of(swarm, "deny"), "back": "/mail?box=log"})
        theirs = await person.press(path, path, {**fields_of(swarm, "approve"), "back": "//evil.example/mail"})

        assert ours.headers["location"] == "/mail?box=log&did=denied&mail=1&link=1"
        assert theirs.headers["location"].startswith(path)


async def test_held_mail_is_among_what_needs_a_person(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.ask()
        person = await swarm.sign_in()

        page = await person.page("/mail?box=needs")

        assert page.count("asks to write to") == 1
        assert _asks(swarm) in page
        assert f'<span class="about" title="{swarm.bills}">bills</span>' in page
        assert '<summary>Which currency? <span class="about">' in page
        assert '<p class="excerpt">Euro or dollar?</p>' in page
        assert "Approving delivers the held message." in page
        assert 'value="deny">Deny<span class="unseen"> mail from GreenHill · shop to CopperOak</span></button>' in page
        assert "Never" not in page
        assert "Denying returns it to GreenHill" in page
        assert "waits for your approval" not in page
        assert "It wrote without being a contact, and its mail was held." in page
        assert re.search(r'Needs you</span><span class="count">1</span>', page)


async def test_a_request_without_mail_promises_none(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.app.call(
            "request_contact", project_key=SHOP, from_agent="BlueLake", to_agent="CopperOak", to_project=BILLS
        )
        person = await swarm.sign_in()

        page = await person.page("/mail?box=needs")

        assert "the request alone" in page
        assert "with its mail" not in page
        assert "Denied stands until CopperOak writes to BlueLake" in page
        assert "returns" not in page
        assert "Overdue between agents" in page


async def test_each_card_can_be_moved_to_and_opened(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.ask()
        person = await swarm.sign_in()

        for path in ("/mail?box=needs", f"/mail/{swarm.bills}/contacts"):
            page = await person.page(path)
            opened = re.findall(r'<li class="card screen" data-row>.*?<a class="open" href="([^"]+)"', page, re.DOTALL)
            assert len(opened) == 1, path
            assert "Euro or dollar?" in await person.page(opened[0])


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("approve", "Approved: GreenHill · shop may write to CopperOak. 1 held message was delivered."),
        ("approve-for-a-year", "Approved: GreenHill · shop may write to CopperOak. 1 held message was delivered."),
        ("deny", "Denied: GreenHill · shop may not write to CopperOak. 1 held message was returned to the sender."),
    ],
)
async def test_held_mail_is_decided_on_its_own_page(tmp_path: Path, answer: str, told: str) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.ask()
        person = await swarm.sign_in()
        needs = await person.page("/mail?box=needs")
        (own,) = re.findall(r'<a href="([^"]+)">Read all of', needs)
        path = f"/mail/{swarm.bills}/contacts"

        shown = await person.page(own)
        pressed = await person.press(own, path, {**fields_of(swarm, answer), "back": own})

        for name, value in {**fields_of(swarm, answer), "back": own}.items():
            assert f'name="{name}" value="{value}"' in shown, name
        assert "Denying returns it to GreenHill" in shown
        after = await person.page(pressed.headers["location"])
        assert told in after
        assert "has to let" not in after
        assert ("GreenHill has to send it again." in after) == (answer == "deny")
        assert (f"mail from GreenHill to CopperOak@{swarm.bills} was denied" in after) == (answer == "deny")
        assert ("Which currency?" in await swarm.inbox_of("CopperOak")) == (answer != "deny")


async def test_links_are_drawn_with_what_they_are_and_each_agent_leads_to_its_page(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.ask()
        person = await swarm.sign_in()
        path = f"/mail/{swarm.bills}/contacts"

        asked = await person.page(path)
        await person.press(path, path, fields_of(swarm, "approve"))
        approved = await person.page(path)

        title = f"<title>GreenHill@{swarm.shop} to CopperOak"
        assert f'<g class="edge link-pending">{title}: asks</title>' in asked
        assert f'<g class="edge link-approved">{title}: may write</title>' in approved
        assert f'<a class="node hue-green" href="/mail/{swarm.shop}/agents/GreenHill">' in asked
        assert "asks</li>" in asked
        assert "asks</li>" not in approved
        assert ">GreenHill · shop</text>" in asked
        assert " style=" not in asked


@pytest.mark.parametrize("answer", ["approve", "deny"])
async def test_a_request_is_answered_from_what_needs_a_person(tmp_path: Path, answer: str) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.ask()
        person = await swarm.sign_in()
        needs, path = "/mail?box=needs", f"/mail/{swarm.bills}/contacts"

        shown = await person.page(needs)
        pressed = await person.press(needs, path, {**fields_of(swarm, answer), "back": needs})

        for name, value in {**fields_of(swarm, answer), "back": needs}.items():
            assert f'name="{name}" value="{value}"' in shown
        did = "approved" if answer == "approve" else "denied"
        assert (pressed.status_code, pressed.headers["location"]) == (303, f"{needs}&did={did}&mail=1&link=1")
        after = await person.page(pressed.headers["location"])
        may = "may" if answer == "approve" else "may not"
        assert f"{did.capitalize()}: GreenHill · shop {may} write to CopperOak. 1 held message was" in after
        assert f'Change it in <a href="{path}">Contacts of bills</a>.' in after
        assert "asks to write to" not in after
        assert ("Which currency?" in await swarm.inbox_of("CopperOak")) == (answer == "approve")


def _asks(swarm: Swarm) -> str:
    """As both pages say it."""
    source = f'<strong title="GreenHill@{swarm.shop}">GreenHill · shop</strong>'
    return f"{source} asks to write to <strong>CopperOak</strong></a>"


async def test_an_answer_after_the_mail_was_withdrawn_says_that_none_was_delivered(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.ask()
        person = await swarm.sign_in()
        path = f"/mail/{swarm.bills}/contacts"
        token = csrf_in(await person.page(path), path)
        await swarm.app.call("withdraw_message", project_key=SHOP, sender_name="GreenHill", message_id=1)

        fields = {"csrf": token, **fields_of(swarm, "approve")}
        pressed = await person.client.post(path, data=fields, headers={"origin": ORIGIN})

        assert (
            "Approved: GreenHill · shop may write to CopperOak. No held mail was delivered: none waited."
            in await person.page(pressed.headers["location"])
        )


async def test_a_notice_names_nobody_to_who_may_not_know_it_nor_by_a_link_that_was_not_answered_so(
    tmp_path: Path,
) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.ask()
        asked = "/mail?box=needs&did=denied&mail=1&link=1"

        anybody = await swarm.text(asked)
        person = await swarm.sign_in()

        for page in (anybody, await person.page(asked), await person.page(asked.replace("link=1", "link=99"))):
            assert "Denied. 1 held message was returned to the sender.</p>" in page
        assert "GreenHill" not in anybody
