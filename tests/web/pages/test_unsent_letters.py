from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest

from mcp_agent_mail.web.routes import UNSENT_BYTES
from tests.server.whole_app import open_whole_app
from tests.web.acting import SHOP, Person, form_to
from tests.web.pages.test_written_mail import HOSTILE, compose


class _Fields(HTMLParser):
    """What stands in the fields of a page, outside of any form too, and where its links lead."""

    def __init__(self, page: httpx.Response) -> None:
        super().__init__(convert_charrefs=True)
        self.values: list[str] = []
        self.links: list[str] = []
        self._is_open = False
        self.feed(page.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "a":
            self.links.append(given["href"] or "")
        if tag in ("input", "textarea"):
            assert "readonly" in given, attrs
            self.values.append(given.get("value") or "")
        self._is_open = tag == "textarea"

    def handle_data(self, data: str) -> None:
        if self._is_open:
            self.values[-1] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._is_open = False
            self.values[-1] = self.values[-1].removeprefix("\n")


def signing_in(back: str) -> str:
    return f"/mail/sign-in?{urlencode({'back': back})}"


async def sign_out(person: Person) -> None:
    ended = await person.send("/mail/sign-out", form_to(await person.get("/mail"), "/mail/sign-out").fields)
    assert ended.status_code == 303


@pytest.mark.parametrize("text", [HOSTILE, "\n\nbegins with empty lines", "x" * 70_000])
async def test_a_letter_whose_session_has_ended_is_given_back_to_be_copied(person: Person, text: str) -> None:
    form = await compose(person, "?thread=T-1")
    fields = form.filled(to="GreenHill", subject="A <b> \u202e", body_md=text, act="send")
    await sign_out(person)

    answer = await person.send(form.action, fields)

    shown = _Fields(answer)
    assert answer.status_code == 401
    assert shown.values == ["GreenHill", "A <b> \u202e", text]
    assert signing_in(f"{form.action}?thread=T-1") in shown.links
    assert "<script>alert" not in answer.text
    assert "press the button again" not in answer.text
    assert await person.inbox("GreenHill") == []


async def test_an_answer_whose_session_has_ended_is_given_back_too(person: Person) -> None:
    number = await person.write("BlueLake", "Human")
    action = f"/mail/{await person.slug(SHOP)}/message/{number}/reply"
    fields = form_to(await person.get(action), action).filled(body_md="Yes.", act="send")
    await sign_out(person)

    answer = await person.send(action, fields)

    assert (answer.status_code, _Fields(answer).values) == (401, ["Yes."])
    assert signing_in(action) in _Fields(answer).links


async def test_a_letter_of_a_session_of_before_is_given_back_with_its_form(person: Person) -> None:
    form = await compose(person, "?to=GreenHill")
    fields = form.filled(subject="Kept", body_md=HOSTILE, act="send")
    await sign_out(person)
    await person.sign_in()

    answer = await person.send(form.action, fields)

    assert (answer.status_code, _Fields(answer).values) == (403, ["GreenHill", "Kept", HOSTILE])
    assert f"{form.action}?to=GreenHill" in _Fields(answer).links
    assert await person.inbox("GreenHill") == []


async def test_where_nobody_comes_in_without_a_session_a_letter_is_given_back_too(tmp_path: Path) -> None:
    locked = {"HTTP_BEARER_TOKEN": "t" * 40, "HTTP_ALLOW_LOCALHOST_UNAUTHENTICATED": "false"}
    async with open_whole_app(tmp_path, **locked) as app:
        sent = [("subject", "x"), ("body_md", "precious")]
        answer = await Person(app).send("/mail/code-shop/overseer/compose", sent)

    assert (answer.status_code, _Fields(answer).values) == (401, ["x", "precious"])


@pytest.mark.parametrize("is_signed_in", [True, False])
@pytest.mark.parametrize(
    "headers", [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "same-site"}]
)
async def test_what_another_site_sends_is_not_shown(
    person: Person, headers: dict[str, str], is_signed_in: bool
) -> None:
    form = await compose(person)
    fields = form.filled(to="GreenHill", subject="x", body_md="lured", act="send")
    if not is_signed_in:
        await sign_out(person)

    answer = await person.send(form.action, fields, **headers)

    assert answer.status_code in (401, 403)
    assert "lured" not in answer.text
    assert _Fields(answer).values == []


async def test_a_draft_of_another_address_leads_nowhere_but_to_the_form(person: Person) -> None:
    form = await compose(person)
    await sign_out(person)
    for elsewhere in ("https://evil.example/", "/mail/now", f"{form.action}/../x"):
        answer = await person.send(form.action, form.filled(body_md="x", draft=elsewhere))

        assert signing_in(form.action) in _Fields(answer).links


async def test_a_letter_of_too_much_to_give_back_is_refused_as_any(person: Person) -> None:
    form = await compose(person)
    await sign_out(person)

    answer = await person.send(form.action, form.filled(body_md="x" * (UNSENT_BYTES + 1)))

    assert (answer.status_code, _Fields(answer).values) == (401, [])
    assert signing_in(form.action) in _Fields(answer).links


@pytest.mark.parametrize(
    ("written", "told", "marked"),
    [
        ({}, "To, the subject and the text are empty.", ["to", "subject", "body_md"]),
        ({"to": " , "}, "To, the subject and the text are empty.", ["to", "subject", "body_md"]),
        ({"broadcast": "on"}, "The subject and the text are empty.", ["subject", "body_md"]),
        ({"subject": "Lunch"}, "To and the text are empty.", ["to", "body_md"]),
        ({"to": "GreenHill", "body_md": "At noon."}, "The subject is empty.", ["subject"]),
        ({"to": "GreenHill", "subject": "Lunch"}, "The text is empty.", ["body_md"]),
        ({"body_md": "At noon."}, "To and the subject are empty.", ["to", "subject"]),
    ],
)
async def test_all_that_a_letter_lacks_is_named_at_once(
    person: Person, written: dict[str, str], told: str, marked: list[str]
) -> None:
    form = await compose(person)

    answer = await person.send(form.action, form.filled(**written, act="send"))

    assert answer.status_code == 400
    assert told in answer.text
    invalid = [one for one in re.findall(r"<(?:input|textarea)[^>]*>", answer.text) if 'aria-invalid="true"' in one]
    assert [re.findall(r' name="(\w+)"', one) for one in invalid] == [[name] for name in marked]
    assert ["autofocus" in one for one in invalid] == [True, *[False] * (len(marked) - 1)]
    kept = form_to(answer, form.action)
    assert all(dict(kept.fields)[name] == value for name, value in written.items())


async def test_an_answer_lacks_nothing_but_a_text(person: Person) -> None:
    number = await person.write("GreenHill", "Human")
    action = f"/mail/{await person.slug(SHOP)}/message/{number}/reply"
    form = form_to(await person.get(action), action)

    answer = await person.send(action, form.filled(body_md=" ", act="send"))

    assert "<p>The text is empty.</p><p>Write it, and press Send again" in answer.text
