from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.web.acting import BILLS, Form, Person, before_the_pages, form_to
from tests.web.visits import shown_text
from tests.workspace.code_repository import begin, git

PAGE = "/mail/projects"
WEB, API = "/code/store-web", "/code/store-api"


@pytest.fixture
async def beside(person: Person) -> Person:
    """Two projects whose names are alike, in one folder."""
    for key in (WEB, API):
        await person.app.call("ensure_project", human_key=key)
    return person


async def form(person: Person) -> Form:
    return form_to(await person.get(PAGE), PAGE)


async def projects_of(person: Person, name: str) -> list[str]:
    made: dict[str, Any] = await person.app.call("ensure_product", name=name)
    page = await person.get(PAGE)
    _, _, card = page.text.partition(made["product_uid"])
    return [key for key in (WEB, API) if f">{key.rpartition('/')[2]}</a>" in card.partition("</li>")[0]]


async def test_why_two_projects_may_belong_together_is_said_in_words(beside: Person) -> None:
    page = await beside.get(PAGE)

    assert "Their names are alike, and they lie in one folder: <code>/code</code>" in page.text
    assert "1 pair of projects may belong together" in page.text


async def test_to_join_puts_both_into_a_new_product(beside: Person) -> None:
    offered = await form(beside)

    asked = await beside.send(PAGE, offered.filled(act="join"))
    between = await beside.get(PAGE)
    answer = await beside.send(PAGE, form_to(asked, PAGE).filled(act="join-for-good"))

    page = await beside.get(answer.headers["location"])
    assert (asked.status_code, answer.status_code, offered.value("name")) == (200, 303, "store")
    assert "Join store-web and store-api?" in asked.text
    assert "a new product <strong>store</strong>. From then on" in asked.text
    assert "This cannot be undone" in asked.text
    assert "may belong together" in between.text
    assert "<strong>store</strong>" not in between.text
    assert "Both are part of one product now." in page.text
    assert "may belong together" not in page.text
    assert "store id " in shown_text(page)
    assert await projects_of(beside, "store") == [WEB, API]


async def test_to_join_a_product_of_either_makes_no_new_one(beside: Person) -> None:
    await beside.app.call("ensure_product", name="Storefront")
    await beside.app.call("products_link", product_key="Storefront", project_key=API)
    await beside.app.call("products_link", product_key="Storefront", project_key=BILLS)
    offered = await form(beside)

    asked = await beside.send(PAGE, offered.filled(act="join"))
    answer = await beside.send(PAGE, form_to(asked, PAGE).filled(act="join-for-good"))

    page = await beside.get(answer.headers["location"])
    assert offered.value("product")
    assert "the product <strong>Storefront</strong>, where bills is already. From then on" in asked.text
    assert await projects_of(beside, "Storefront") == [WEB, API]
    assert "<strong>store</strong>" not in page.text


async def test_a_product_that_is_not_there_joins_nothing(beside: Person) -> None:
    for act in ("join", "join-for-good"):
        answer = await beside.send(PAGE, (await form(beside)).filled(act=act, product="0" * 32))

        assert answer.status_code == 404
        assert "is there no more" in answer.text


async def test_the_name_of_a_product_that_was_not_chosen_joins_no_strangers(beside: Person) -> None:
    await beside.app.call("ensure_product", name="Others")

    for act in ("join", "join-for-good"):
        answer = await beside.send(PAGE, (await form(beside)).filled(act=act, name="others"))

        assert answer.status_code == 409
        assert "There is a product Others already" in answer.text
    assert await projects_of(beside, "Others") == []


async def test_a_dismissed_pair_is_not_shown_again(beside: Person) -> None:
    answer = await beside.send(PAGE, (await form(beside)).filled(act="dismiss"))

    page = await beside.get(answer.headers["location"])
    assert answer.status_code == 303
    assert "They are suggested no more." in page.text
    assert "may belong together" not in page.text


@pytest.mark.parametrize(
    "given",
    [
        {"act": ""},
        {"act": "join", "first": ""},
        {"act": "dismiss", "second": "x"},
        {"act": "join", "name": " "},
        {"act": "join-for-good", "name": " "},
    ],
)
async def test_what_no_button_sends_changes_nothing(beside: Person, given: dict[str, str]) -> None:
    answer = await beside.send(PAGE, (await form(beside)).filled(**given))

    assert answer.status_code == 400
    assert "may belong together" in (await beside.get(PAGE)).text


async def test_a_form_of_another_act_or_origin_decides_nothing(beside: Person) -> None:
    offered = await form(beside)
    other = form_to(await beside.get(PAGE), "/mail/sign-out")

    foreign = await beside.send(PAGE, offered.filled(act="dismiss"), Origin="http://127.0.0.1:1")
    wrong = await beside.send(PAGE, offered.filled(act="dismiss", csrf=other.value("csrf")))

    assert (foreign.status_code, wrong.status_code) == (403, 403)
    assert "may belong together" in (await beside.get(PAGE)).text


async def test_who_is_not_signed_in_sees_suggestions_without_buttons(tmp_path: Path) -> None:
    async with before_the_pages(tmp_path) as visitor:
        for key in (WEB, API):
            await visitor.app.call("ensure_project", human_key=key)

        page = await visitor.get(PAGE)
        answer = await visitor.send(PAGE, [("first", "1"), ("second", "2"), ("act", "dismiss")])

        assert "Their names are alike" in page.text
        assert 'value="join"' not in page.text
        assert answer.status_code == 401


async def test_a_hostile_remote_is_text(person: Person, tmp_path: Path) -> None:
    for place in ("here", "there"):
        begin(tmp_path / place / "wares")
        git(tmp_path / place / "wares", "remote", "add", "origin", "https://example.org/<script>alert(1)</script>")
        await person.app.call("ensure_project", human_key=str(tmp_path / place / "wares"))

    page = await person.get(PAGE)

    assert "the same Git remote: <code>example.org/&lt;script&gt;alert(1)&lt;/script&gt;</code>" in page.text
    assert "<script>alert" not in page.text
