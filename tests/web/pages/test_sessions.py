from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.server.whole_app import OPERATOR
from tests.sick_store import full_disk
from tests.web.visits import Visits, open_visits, shown_text

OWN = {"origin": "http://127.0.0.1"}


@pytest.fixture
async def visits(tmp_path: Path) -> AsyncIterator[Visits]:
    async with open_visits(tmp_path) as opened:
        yield opened


def csrf_of(page: httpx.Response) -> str:
    return field_of(page, "csrf")


def field_of(page: httpx.Response, name: str) -> str:
    found = re.search(f'name="{name}" value="([^"]+)"', page.text)
    assert found is not None, page.text
    return found[1]


async def sign_in(visits: Visits, **fields: str) -> httpx.Response:
    """Through the page, as a browser does; its cookies are the client's from then on."""
    page = await visits.get("/mail/sign-in")
    return await visits.app.client.post("/mail/sign-in", data={"csrf": csrf_of(page), **fields}, headers=OWN)


async def test_a_token_signs_in_and_leads_back(visits: Visits) -> None:
    answer = await sign_in(visits, token=f"  {OPERATOR}\n", back="/mail?box=needs")

    assert (answer.status_code, answer.headers["location"]) == (303, "/mail?box=needs")
    assert "Human" in shown_text(await visits.get("/mail"))


def _plain(page: httpx.Response) -> str:
    return shown_text(page).replace("\u2019", "'")


async def test_who_signed_in_by_the_servers_token_is_told_of_both_ways_to_be_the_operator(visits: Visits) -> None:
    form = _plain(await visits.get("/mail/sign-in"))
    token = (await visits.app.call("create_issued_token", visits.operator, expires="1d", role="writer"))["token"]
    await sign_in(visits, token=token)

    pages = [_plain(await visits.get(path)) for path in ("/mail?box=needs", "/mail/code-app/contacts")]
    compose = shown_text(await visits.get("/mail/code-app/overseer/compose"))

    assert "To write and answer as Human it has to be an operator's: am token create --role operator" in form
    assert all("am web on the server's machine" in page for page in pages)
    assert all("by a token from am token create --role operator" in page for page in pages)
    assert "paste a token of `am token create --role operator`" in compose


@pytest.mark.parametrize("back", ["https://evil.example/", "//evil.example", "/mail\\@evil", ""])
async def test_nobody_is_led_elsewhere(visits: Visits, back: str) -> None:
    assert (await sign_in(visits, token=OPERATOR, back=back)).headers["location"] == "/mail"


@pytest.mark.parametrize("token", ["", " ", "wrong", "am\u00f6", "x" * 9_000, "a\x00b"])
async def test_what_is_no_token_shows_the_form_again_with_why(visits: Visits, token: str) -> None:
    answer = await sign_in(visits, token=token)

    assert answer.status_code == 403
    assert 'role="alert"' in answer.text
    assert csrf_of(answer)
    assert not token.strip() or token not in answer.text
    assert "agent_mail_session" not in str(answer.headers.get_list("set-cookie"))


async def test_a_link_shows_one_button_and_signs_in_when_it_is_pressed(visits: Visits) -> None:
    made = await visits.app.call("create_sign_in_link", visits.operator)

    page = await visits.get(made["path"])
    link = made["path"].partition("link=")[2]
    before = await visits.get("/mail")
    again = await visits.get(made["path"])
    answer = await sign_in(visits, link=link)

    assert 'name="token"' not in page.text
    assert "if the link was not used yet and is less than a minute old" in page.text
    assert again.text.count(link) == 1
    assert "Reading only" in before.text
    assert answer.status_code == 303
    assert (await sign_in(visits, link=link)).status_code == 403


async def test_signing_out_ends_the_session(visits: Visits) -> None:
    await sign_in(visits, token=OPERATOR)
    page = await visits.get("/mail")
    cookies = dict(visits.app.client.cookies)

    answer = await visits.app.client.post("/mail/sign-out", data={"csrf": csrf_of(page)}, headers=OWN)
    visits.app.client.cookies.update(cookies)

    assert (answer.status_code, answer.headers["location"]) == (303, "/mail/sign-in")
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert "Reading only" in (await visits.get("/mail")).text


async def test_a_sign_in_that_the_server_cannot_write_is_its_own_fault_and_spends_no_link(visits: Visits) -> None:
    made = await visits.app.call("create_sign_in_link", visits.operator)
    link = made["path"].partition("link=")[2]
    await visits.get("/mail")

    with full_disk(visits.app.store):
        failed = await sign_in(visits, link=link)
        typed = await sign_in(visits, token=OPERATOR)
    again = await sign_in(visits, link=field_of(failed, "link"))

    assert (failed.status_code, typed.status_code) == (503, 503)
    assert failed.headers["retry-after"] == "1"
    assert "database or disk is full" in shown_text(failed)
    assert "idempotency_key" not in failed.text
    assert 'name="token"' not in failed.text
    assert again.status_code == 303
    assert (await sign_in(visits, link=link)).status_code == 403


async def test_a_sign_out_that_cannot_be_written_yet_counts_at_once_and_says_so(visits: Visits) -> None:
    await sign_in(visits, token=OPERATOR)
    page = await visits.get("/mail")
    cookies = dict(visits.app.client.cookies)

    with full_disk(visits.app.store):
        answer = await visits.app.client.post("/mail/sign-out", data={"csrf": csrf_of(page)}, headers=OWN)
        kept_cookies = dict(visits.app.client.cookies)
        visits.app.client.cookies.update(cookies)
        meanwhile = await visits.get("/mail")

    assert answer.status_code == 503
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert not any(name.startswith("agent_mail_session") for name in kept_cookies)
    assert "You are signed out" in shown_text(answer)
    assert "writes it down as soon as it can" in shown_text(answer)
    assert "Reading only" in meanwhile.text


async def test_what_is_longer_than_any_token_is_not_judged(visits: Visits) -> None:
    longest, longer = [await sign_in(visits, token="x" * length) for length in (8_192, 8_193)]

    assert "This token opens nothing here." in longest.text
    assert "That is no token." in longer.text


async def test_a_link_that_is_spent_is_shown_no_more_and_a_token_can_be_pasted(visits: Visits) -> None:
    made = await visits.app.call("create_sign_in_link", visits.operator)
    link = made["path"].partition("link=")[2]
    assert (await sign_in(visits, link=link)).status_code == 303

    again = await sign_in(visits, link=link, back="/mail?box=needs")

    assert again.status_code == 403
    assert link not in again.text
    assert 'name="token"' in again.text
    assert field_of(again, "back") == "/mail?box=needs"
