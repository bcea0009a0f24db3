"""What is refused on pages is said for people: by what they can press, open or run."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from mcp_agent_mail.core.errors import AgentMailError, Busy, InvalidInput, PermissionDenied, RateLimited
from mcp_agent_mail.core.profiles import FULL
from mcp_agent_mail.domain.identity.names import UnknownAgent
from mcp_agent_mail.domain.messages import UnfitSubject, parse_subject
from mcp_agent_mail.web.refusals import AS_OPERATOR, fields_of, for_people, in_time, retry_header, status_of
from tests.server.reference_pages import declared
from tests.server.tool_list import tools_of
from tests.web.acting import BILLS, SHOP, Person, before_the_pages, form_to, forms_of

_TOLD = re.compile(
    r'<p class="status-number">.*?</p>\s*<h1>.*?</h1>(.*?)<p class="buttons">|<div class="notice bad"[^>]*>(.*?)</div>',
    re.DOTALL,
)


def told(answer: httpx.Response) -> str:
    """What the page says of its refusal."""
    found = [one or other for one, other in _TOLD.findall(answer.text)]
    assert len(found) == 1, answer.text
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", found[0])).split())


def _words_of_tools() -> list[str]:
    """The names of tools, and those of their arguments that are no words of everybody's."""
    shown = tools_of(declared()[0], FULL)
    names = {name for tool in shown for name in (tool["name"], *tool["inputSchema"]["properties"])}
    return sorted(name for name in names if "_" in name)


_OF_TOOLS = _words_of_tools()


def of_tools(text: str) -> list[str]:
    """What a page says as tools do; not what it quotes."""
    text = re.sub(r"'[^']*'", "", text)
    return [one for one in _OF_TOOLS if re.search(rf"\b{one}\b", text)] + re.findall(
        r"\w=\[|\w=true|\w=false|[Cc]all again|\?project=|working directory|Act as|register|no tool", text
    )


@pytest.fixture
async def person(tmp_path: Path) -> AsyncIterator[Person]:
    async with before_the_pages(tmp_path) as person:
        yield person


async def _addresses(person: Person) -> tuple[str, list[str]]:
    slug = await person.slug(SHOP)
    wrong = [
        "/mail/none/agents", "/mail/none/message/1", "/mail/none/overseer/compose", "/mail/none/contacts",
        f"/mail/{slug}/agents/Nobody", f"/mail/{slug}/inbox/Nobody", f"/mail/{slug}/outbox/Nobody",
        f"/mail/{slug}/message/999", f"/mail/{slug}/message/x", f"/mail/{slug}/message/999/raw",
        f"/mail/{slug}/message/999/reply", f"/mail/{slug}/thread/none", f"/mail/{slug}/thread/%00",
        f"/mail/{slug}/thread/T?after=x", f"/mail/{slug}/file_reservations/99", f"/mail/{slug}/file_reservations/x",
        f"/mail/{slug}/attachments/{'0' * 64}", f"/mail/{slug}/attachments/x", f"/mail/{slug}/attachments?before=x",
        f"/mail/{slug}/inbox/BlueLake?after=999", f"/mail/{slug}/agents?shown=x",
        "/mail/nothing/here/at/all", "/mail?box=spam", "/mail?q=is:old", "/mail?q=project:none", "/mail?before=x",
        "/mail/search?q=a&page=99", "/mail/search?q=a+importance:loud", "/mail/archive/activity?project=none",
        f"/mail/archive/commit/{'0' * 40}?project={slug}", f"/mail/archive/commit/x?project={slug}",
        f"/mail/archive/browser?project={slug}&path=none", f"/mail/archive/browser?project={slug}&path=../x",
        f"/mail/archive/time-travel?project={slug}&agent=BlueLake&at=soon",
        f"/mail/archive/time-travel?project={slug}&agent=Nobody&at=2026-05-01",
    ]  # fmt: skip
    return slug, wrong


async def test_no_address_is_refused_in_the_words_of_tools(person: Person) -> None:
    _, wrong = await _addresses(person)
    seen = 0

    for signs_in in (False, True):
        if signs_in:
            await person.sign_in()
        for path in wrong:
            answer = await person.get(path)
            assert answer.status_code in (400, 403, 404, 405, 409, 503), (path, answer.status_code)
            text = told(answer)
            assert of_tools(text) == [], (path, text)
            seen += 1

    assert seen == 2 * len(wrong)


@dataclass
class Sent:
    """A form that is sent wrongly from the page at `page`."""

    page: str
    action: str
    fields: Mapping[str, str | list[str]]


async def test_no_form_is_refused_in_the_words_of_tools(person: Person) -> None:
    await person.sign_in()
    slug, number = await person.slug(SHOP), await person.write("BlueLake", "Human", ack_required=True)
    others = await person.write("BlueLake", "GreenHill")
    await person.app.call("set_contact_policy", project_key=SHOP, agent_name="GreenHill", policy="block_all")
    await person.app.call("register_agent", project_key=SHOP, program="t", model="m", name="RedStone")
    await person.app.call("deregister_agent", project_key=SHOP, agent_name="RedStone")
    compose, reply = f"/mail/{slug}/overseer/compose", f"/mail/{slug}/message/{number}/reply"
    whole = {"to": "BlueLake", "subject": "A", "body_md": "b", "act": "send"}
    wrong = [
        *(
            Sent(compose, compose, {**whole, **one})
            for one in (
                {"to": ""}, {"to": "Nobody"}, {"to": "BlueLaek"}, {"to": 'to=["GreenHill", "BlueLake"]'},
                {"to": "a b@c@d"},
                {"to": "@all"}, {"to": "everyone"}, {"to": "Name@none"}, {"to": "RedStone"}, {"to": "System"},
                {"to": "@thread:none"}, {"to": "@product:none"}, {"to": "@nothing"}, {"to": "@reservations, Nobody"},
                {"to": "BlueLake TealRiver"},
                {"to": ",".join(f"Name{one}" for one in range(200))}, {"broadcast": "on"},
                {"subject": ""}, {"subject": "x" * 600}, {"subject": "a\x00b"}, {"body_md": ""},
                {"body_md": "x" * 1_100_000},
                {"thread_id": "no thread!"}, {"thread_id": "999"}, {"importance": "loud"},
                {"idempotency_key": "x" * 500},
                {"to": "../etc/passwd"}, {"to": "a@b.example"}, {"to": "TealRiver"},
            )
        ),
        *(
            Sent(reply, reply, {"body_md": "b", "act": "send", **one})
            for one in ({"to": "Nobody"}, {"body_md": ""}, {"importance": "loud"}, {"to": "@nothing"})
        ),
        Sent("/mail", "/mail/marks", {"act": "read"}),
        Sent("/mail", "/mail/marks", {"act": "read", "message": "x"}),
        Sent("/mail", "/mail/marks", {"act": "read", "message": str(others)}),
    ]  # fmt: skip
    for one in wrong:
        page = await person.get(one.page)
        form = form_to(page, one.action)
        answer = await person.send(form.action, form.filled(**one.fields))
        assert answer.status_code in (400, 403, 404, 409), (one, answer.status_code)
        text = told(answer)
        assert of_tools(text) == [], (one, text)
        assert 'aria-label="Pages"' in answer.text, one


async def test_forms_without_their_page_are_refused_in_the_words_of_people(person: Person) -> None:
    await person.sign_in()
    slug = await person.slug(SHOP)
    page = await person.get(f"/mail/{slug}/contacts")
    token = forms_of(page)[0].value("csrf")

    for action in ("/mail/marks", f"/mail/{slug}/contacts", "/mail/projects", f"/mail/{slug}/overseer/compose"):
        text = told(await person.send(action, [("csrf", token)]))
        assert of_tools(text) == [], (action, text)


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (RateLimited("Too many.", hint="Call again in 0.301 s.", data={"retry_after_s": 0.301}), "Try again in 1 s."),
        (RateLimited("Too many.", data={"retry_after_s": 1423}), "Try again in 24 minutes."),
        (Busy("The store is busy.", retry_after_s=2, first="Wait."), "Try again in 2 s."),
        (
            InvalidInput("Held.", hint="Try again in 90 s.", data={"holder": "BlueLake", "retry_after_s": 90}),
            "Write to BlueLake, or try again in 90 s.",
        ),
        (UnknownAgent("No agent named X.", hint="register_agent adds one."),
         "The page Agents of the project lists all that there are."),
        (UnknownAgent("No agent named X.", hint="list_agents.", data={"nearest": ["BlueLake", "RedStone"]}),
         "Did you mean BlueLake or RedStone? The page Agents of the project lists all that there are."),
        (PermissionDenied("Only the operator may do this.", hint="Act as a registered agent."),
         AS_OPERATOR),
        (InvalidInput("Not so.", hint="Choose one of a, b. Or call send_message(to=[...])."), "Choose one of a, b."),
        (AgentMailError("It is so.", hint=""), "Begin at /mail."),
    ],
)  # fmt: skip
def test_the_next_step_is_one_that_a_person_can_take(error: AgentMailError, hint: str) -> None:
    assert for_people(error).hint == hint
    assert status_of(for_people(error)) == status_of(error)


def test_a_fact_says_what_the_page_calls_a_field() -> None:
    error = InvalidInput("subject has 600 characters; at most 512 are accepted.", data={"parameter": "subject"})

    assert for_people(error).message == "The subject has 600 characters; at most 512 are accepted."
    assert fields_of(error) == ["subject"]
    assert fields_of(InvalidInput("x", data={"parameter": "cc"})) == []


def test_a_wait_is_never_less_than_there_is_to_wait() -> None:
    assert [in_time(one) for one in (0, 0.301, 1.2, 119, 120, 121)] == [
        "1 s",
        "1 s",
        "2 s",
        "119 s",
        "2 minutes",
        "3 minutes",
    ]


@pytest.mark.parametrize(("retry_after_s", "told"), [(0, "1"), (0.2, "1"), (2.1, "3"), ("soon", None), (None, None)])
def test_who_is_to_come_again_is_never_told_to_come_at_once(retry_after_s: object, told: str | None) -> None:
    error = RateLimited("Too many.", data={} if retry_after_s is None else {"retry_after_s": retry_after_s})

    assert dict(retry_header(error)).get("retry-after") == told


def test_what_is_of_a_recipient_is_of_the_field_to() -> None:
    assert fields_of(InvalidInput("x", data={"recipient": "RedStone"})) == ["to"]
    assert fields_of(InvalidInput("x", data={"recipient": "RedStone", "parameter": "subject"})) == ["subject"]


@pytest.mark.parametrize(
    ("error", "fact"),
    [
        (InvalidInput("to is unfit.", data={"parameter": "to"}), "To is unfit."),
        (InvalidInput("to is unfit.", data={"parameter": "cc"}), "to is unfit."),
        (InvalidInput("subject matter is closed."), "subject matter is closed."),
    ],
)
def test_a_word_that_is_a_fields_name_too_is_left_where_the_refusal_is_about_another(
    error: AgentMailError, fact: str
) -> None:
    assert for_people(error).message == fact


def test_a_subject_that_is_too_long_is_to_be_shortened_and_another_to_be_seen() -> None:
    hints = []
    for text in ("x" * 600, " ", "a\x00b"):
        with pytest.raises(UnfitSubject) as refused:
            parse_subject(text)
        hints.append(for_people(refused.value).hint)

    assert hints == [
        "Shorten it: nothing is ever cut for you. The body takes the rest.",
        "Write a subject.",
        "Write one of signs that can be seen.",
    ]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"to": "Zzyx"}, "shop has no agent &#39;Zzyx&#39;."),
        ({"subject": ""}, "The subject is empty.</p><p>Write a subject. Nothing was sent."),
        ({"to": "@nothing"}, "is no group."),
        ({"broadcast": "on"}, "Both names and every active agent are chosen."),
        ({"thread_id": "no thread!"}, "Use a name like TKT-123"),
        ({"body_md": ""}, "Write it, and press Send again"),
    ],
)
async def test_a_refusal_says_what_is_wrong_in_words_of_the_page_and_that_nothing_was_sent(
    person: Person, wrong: dict[str, str], said: str
) -> None:
    await person.sign_in()
    action = f"/mail/{await person.slug(SHOP)}/overseer/compose"
    form = form_to(await person.get(action), action)
    whole = {"to": "BlueLake", "subject": "A", "body_md": "b", "act": "send"}

    answer = await person.send(form.action, form.filled(**{**whole, **wrong}))

    notice = answer.text.partition('id="refused">')[2].partition("</div>")[0]
    assert said in notice
    assert notice.lower().count("nothing was sent") == 1
    assert SHOP not in notice


async def test_a_project_that_several_are_called_is_asked_for_by_its_slug_and_keeps_the_text(person: Person) -> None:
    slugs = [await person.slug(project) for project in (BILLS, "/elsewhere/bills")]
    await person.sign_in()
    action = f"/mail/{await person.slug(SHOP)}/overseer/compose"
    form = form_to(await person.get(action), action)

    answer = await person.send(
        form.action, form.filled(to="TealRiver@bills", subject="Hello", body_md="There.", act="send")
    )

    assert answer.status_code == 409
    assert all(slug in answer.text for slug in ("2 projects are called bills.", *slugs))
    assert form_to(answer, form.action).value("to") == "TealRiver@bills"
    assert 'aria-describedby="refused to-hint" autofocus' in answer.text
