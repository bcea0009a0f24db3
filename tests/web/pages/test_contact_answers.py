"""Of two answers to one contact request one counts, whoever sent them, and the same one again is none."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.web.acting import form_to
from tests.web.swarm import BILLS, SHOP, Swarm, fields_of, open_swarm
from tests.web.visitors import ORIGIN, csrf_in


@pytest.mark.parametrize(
    ("first", "late", "told"),
    [
        ("deny", "approve", "is denied"),
        ("approve", "deny", "is approved"),
        ("approve", "approve-for-a-year", "is approved"),
    ],
)
async def test_a_late_answer_overturns_no_other_and_is_told_what_is_so(
    tmp_path: Path, first: str, late: str, told: str
) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.ask()
        person = await swarm.sign_in()
        path = f"/mail/{swarm.bills}/contacts"
        fields = fields_of(swarm, late) | {"seen": _seen_on(await person.page(path))}
        await person.press(path, path, fields_of(swarm, first) | {"seen": fields["seen"]})
        before = await swarm.app.store.read(lambda view: next(iter(view.contacts.each())))

        pressed = await person.press(path, path, fields)
        again = await person.press(path, path, fields | {"seen": _seen_on(await person.page(path))})

        assert (pressed.status_code, fields["seen"]) == (409, "pending")
        assert f"to CopperOak {told} by now" in pressed.text
        assert again.status_code == 303
        after = await swarm.app.store.read(lambda view: next(iter(view.contacts.each())))
        assert (after.status, after.expires_ts) != (before.status, before.expires_ts)


@pytest.mark.parametrize(
    ("answer", "did", "told"),
    [
        ("approve", "approved", "Approved: GreenHill · shop may write to CopperOak.<"),
        ("approve-for-a-year", "approved", "Approved: GreenHill · shop may write to CopperOak.<"),
        ("deny", "denied", "Denied: GreenHill · shop may not write to CopperOak.<"),
    ],
)
async def test_the_same_answer_again_changes_nothing_and_leads_to_what_was_done(
    tmp_path: Path, answer: str, did: str, told: str
) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.ask()
        person = await swarm.sign_in()
        path = f"/mail/{swarm.bills}/contacts"
        fields = fields_of(swarm, answer) | {"seen": _seen_on(await person.page(path))}
        first = await person.press(path, path, fields)
        before = await swarm.app.store.read(lambda view: list(view.contacts.each()))

        again = await person.press(path, path, fields | {"back": first.headers["location"]})

        assert (again.status_code, again.headers["location"]) == (303, f"{path}?did={did}&link=1")
        assert told in await person.page(again.headers["location"])
        assert await swarm.app.store.read(lambda view: list(view.contacts.each())) == before


async def test_the_same_answer_again_is_none_also_where_the_request_was_made_again_between(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.ask()
        person = await swarm.sign_in()
        path = f"/mail/{swarm.bills}/contacts"
        fields = fields_of(swarm, "approve") | {"seen": _seen_on(await person.page(path))}
        await person.press(path, path, fields)
        await swarm.app.call(
            "request_contact", project_key=SHOP, from_agent="GreenHill", to_agent="CopperOak", to_project=BILLS
        )

        again = await person.press(path, path, fields)

        assert (again.status_code, again.headers["location"]) == (303, f"{path}?did=approved&link=1")


async def test_of_two_answers_at_once_one_counts(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.ask()
        person = await swarm.sign_in()
        path = f"/mail/{swarm.bills}/contacts"
        shown = await person.page(path)
        fields = {"seen": _seen_on(shown), "csrf": csrf_in(shown, path)}

        pressed = await asyncio.gather(
            *(
                person.client.post(path, data=fields_of(swarm, answer) | fields, headers={"origin": ORIGIN})
                for answer in ("approve", "deny")
            )
        )

        assert sorted(one.status_code for one in pressed) == [303, 409]


async def test_of_two_clicks_on_one_answer_both_lead_to_what_was_done(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.ask()
        person = await swarm.sign_in()
        path = f"/mail/{swarm.bills}/contacts"
        shown = await person.page(path)
        fields = fields_of(swarm, "approve") | {"seen": _seen_on(shown), "csrf": csrf_in(shown, path)}

        pressed = await asyncio.gather(
            *(person.client.post(path, data=fields, headers={"origin": ORIGIN}) for _ in range(2))
        )

        assert sorted((one.status_code, one.headers["location"]) for one in pressed) == [
            (303, f"{path}?did=approved&link=1"),
            (303, f"{path}?did=approved&mail=1&link=1"),
        ]


async def test_a_request_that_is_made_again_meanwhile_is_answered(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.ask()
        person = await swarm.sign_in()
        path = f"/mail/{swarm.bills}/contacts"
        seen = _seen_on(await person.page(path))
        await swarm.app.call(
            "request_contact",
            project_key=SHOP,
            from_agent="GreenHill",
            to_agent="CopperOak",
            to_project=BILLS,
            reason="once more",
        )

        pressed = await person.press(path, path, fields_of(swarm, "approve") | {"seen": seen})

        assert pressed.status_code == 303


def _seen_on(page: str) -> str:
    """What the first form of the page was shown of."""
    return page.partition('name="seen" value="')[2].partition('"')[0]


async def introduction(swarm: Swarm) -> str:
    """The path of the message by which GreenHill asks CopperOak whether it may write, beside mail that is held."""
    await swarm.ask()
    await swarm.app.call(
        "request_contact", project_key=SHOP, from_agent="GreenHill", to_agent="CopperOak", to_project=BILLS
    )
    found = await swarm.app.call("fetch_inbox", project_key=BILLS, agent_name="CopperOak")
    (number,) = [one["id"] for one in found if one["subject"].startswith("Contact request from GreenHill")]
    return f"/mail/{swarm.bills}/message/{number}"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("approve", "mail from <strong>GreenHill · shop</strong> to <strong>CopperOak</strong> is approved."),
        ("deny", "mail from <strong>GreenHill · shop</strong> to <strong>CopperOak</strong> is denied."),
    ],
)
async def test_the_message_of_a_request_is_answered_where_it_is_read(tmp_path: Path, answer: str, told: str) -> None:
    async with open_swarm(tmp_path) as swarm:
        own = await introduction(swarm)
        anybody = await swarm.text(own)
        person = await swarm.sign_in()
        action = f"/mail/{swarm.bills}/contacts"

        page = await person.page(own)
        pressed = await person.client.post(
            action,
            data=dict(form_to(await person.client.get(own), action).fields) | {"answer": answer},
            headers={"origin": ORIGIN},
        )
        after = await person.page(own)

        assert 'name="answer"' not in anybody
        assert page.count('value="deny"') == 1
        assert "Approving delivers the held message." in page
        assert (pressed.status_code, pressed.headers["location"].partition("?")[0]) == (303, own)
        assert f"This request was answered: {told}" in after
        assert f'<a href="{action}">Contacts of bills</a>' in after
        assert 'name="answer"' not in after
        assert "This request was answered" not in await person.page(pressed.headers["location"])


async def test_a_request_that_ended_without_an_answer_says_so(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.app.call("set_contact_policy", project_key=BILLS, agent_name="CopperOak", policy="contacts_only")
        await swarm.app.call(
            "request_contact", project_key=SHOP, from_agent="GreenHill", to_agent="CopperOak", to_project=BILLS
        )
        (asked,) = await swarm.app.call("fetch_inbox", project_key=BILLS, agent_name="CopperOak")
        await swarm.app.store.write(lambda tx: tx._connection.execute("UPDATE contacts SET expires_ts = 1"))
        person = await swarm.sign_in()

        page = await person.page(f"/mail/{swarm.bills}/message/{asked['id']}")

        assert "This request ended without an answer." in page
        assert 'name="answer"' not in page


async def test_a_request_among_very_many_leads_to_where_all_are_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_agent_mail.features.oversight.people.MOST_REQUESTS", 0)
    async with open_swarm(tmp_path) as swarm:
        own = await introduction(swarm)
        person = await swarm.sign_in()

        page = await person.page(own)

        assert 'This request waits for an answer: <a href="/mail?box=needs">Needs you</a>' in page


async def test_mail_that_asks_for_nothing_has_no_answer(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        sent = await swarm.app.call(
            "send_message",
            project_key=SHOP,
            sender_name="GreenHill",
            to=["BlueLake"],
            subject="Contact request from GreenHill",
            body_md="`respond_contact(accept=True)`",
        )
        person = await swarm.sign_in()

        page = await person.page(f"/mail/{swarm.shop}/message/{sent['deliveries'][0]['payload']['id']}")

        assert "This request" not in page
        assert 'name="answer"' not in page
