from __future__ import annotations

from typing import Any

import pytest

from tests.web.acting import BILLS, SHOP, Form, Person, form_to

MARKS = "/mail/marks"


async def form_of(person: Person, path: str) -> Form:
    return form_to(await person.get(path), MARKS)


@pytest.mark.parametrize(("act", "status"), [("read", "read"), ("acknowledge", "acknowledged")])
async def test_a_message_is_marked_from_its_page(person: Person, act: str, status: str) -> None:
    number = await person.write("BlueLake", "Human", ack_required=True)
    path = f"/mail/{await person.slug(SHOP)}/message/{number}"
    form = await form_of(person, path)

    answer = await person.send(MARKS, form.filled(act=act))

    assert (answer.status_code, answer.headers["location"]) == (303, path)
    assert await person.status(number, "BlueLake") == status


async def test_chosen_mail_of_several_projects_is_marked_at_once(person: Person) -> None:
    numbers = [
        await person.write("BlueLake", "Human", ack_required=True),
        await person.write("TealRiver", "Human", project=BILLS, ack_required=True),
    ]
    form = await form_of(person, "/mail?box=needs")

    answer = await person.send(MARKS, form.filled(message=[str(one) for one in numbers], act="acknowledge"))

    assert answer.headers["location"] == "/mail?box=needs"
    assert "Nothing waits for you" in (await person.get("/mail?box=needs")).text


async def test_rows_of_mail_to_human_alone_can_be_chosen(person: Person) -> None:
    own = await person.write("BlueLake", "Human")
    others = await person.write("BlueLake", "GreenHill")

    page = (await person.get("/mail")).text

    assert f'name="message" value="{own}" form="marks"' in page
    assert f'name="message" value="{others}"' not in page


@pytest.mark.parametrize("path", ["/mail", "/mail?box=needs"])
async def test_how_mail_is_chosen_stands_beside_what_marks_it(person: Person, path: str) -> None:
    await person.write("BlueLake", "Human", ack_required=True)

    page = (await person.get(path)).text

    bar = page.partition('id="marks"')[2].partition("</form>")[0]
    assert '<span class="how">choose it by <kbd>x</kbd> or its box</span>' in bar
    assert bar.index("choose it by") < bar.index("Mark read")


async def test_an_agents_mail_is_never_marked_from_here(person: Person) -> None:
    own = await person.write("BlueLake", "Human")
    others = await person.write("BlueLake", "GreenHill", ack_required=True)
    form = await form_of(person, "/mail")

    answer = await person.send(MARKS, form.filled(message=[str(own), str(others)], act="acknowledge"))

    assert answer.status_code == 403
    assert f"Not mail to Human: #{others}" in answer.text
    assert await person.status(others, "BlueLake", "GreenHill") == "delivered"
    assert await person.status(own, "BlueLake") == "delivered"


async def test_its_page_says_whose_it_is_and_has_no_button(person: Person) -> None:
    number = await person.write("BlueLake", "GreenHill", ack_required=True)

    page = await person.get(f"/mail/{await person.slug(SHOP)}/message/{number}")

    assert "Mail between agents" in page.text
    assert f'action="{MARKS}"' not in page.text


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"act": "read"}, 400),
        ({"act": "burn", "message": "1"}, 400),
        ({"act": "read", "message": "1 OR 1"}, 400),
        ({"act": "read", "message": "999999"}, 403),
    ],
)
async def test_what_is_unfit_marks_nothing(person: Person, fields: dict[str, str], status: int) -> None:
    number = await person.write("BlueLake", "Human")
    form = await form_of(person, "/mail")

    answer = await person.send(MARKS, form.filled(**fields))

    assert answer.status_code == status
    assert await person.status(number, "BlueLake") == "delivered"


async def test_mail_that_was_withdrawn_meanwhile_is_told(person: Person) -> None:
    number = await person.write("BlueLake", "Human", ack_required=True)
    form = await form_of(person, "/mail?box=needs")
    withdrawn: dict[str, Any] = {"project_key": SHOP, "sender_name": "BlueLake", "message_id": number}
    await person.app.call("withdraw_message", **withdrawn)

    answer = await person.send(MARKS, form.filled(message=str(number), act="read"))

    page = await person.get(f"/mail/{await person.slug(SHOP)}/message/{number}")
    assert (answer.status_code, "or was withdrawn" in answer.text) == (409, True)
    assert f'action="{MARKS}"' not in page.text


async def test_a_link_marks_nothing(person: Person) -> None:
    number = await person.write("BlueLake", "Human")

    answer = await person.get(f"{MARKS}?act=read&message={number}")

    assert answer.status_code == 405
    assert await person.status(number, "BlueLake") == "delivered"


@pytest.mark.parametrize(
    ("count", "told"), [(1, "{0}"), (5, "{0}, {1}, {2}, {3}, {4}"), (7, "{0}, {1}, {2}, {3}, {4} and 2 more")]
)
async def test_a_refusal_names_each_once_and_no_more_than_a_few(person: Person, count: int, told: str) -> None:
    numbers = [str(await person.write("BlueLake", "GreenHill")) for _ in range(count)]
    await person.write("BlueLake", "Human")
    form = await form_of(person, "/mail")

    answer = await person.send(MARKS, form.filled(message=[*numbers, *numbers], act="read"))

    assert answer.status_code == 403
    assert f"Not mail to Human: {told.format(*(f'#{one}' for one in numbers))}. Nothing" in answer.text
