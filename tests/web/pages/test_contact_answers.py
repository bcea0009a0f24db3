"""Of two answers to one contact request one counts, whoever sent them, and the same one again is none."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.web.swarm import BILLS, SHOP, fields_of, open_swarm
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
