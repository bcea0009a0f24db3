from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from tests.web.acting import BILLS, SHOP, Form, Person, before_the_pages, form_to

HOSTILE = '</textarea><script>alert(1)</script>\n\n\u202eback {{ 7*7 }} & "quotes"\ttab'


async def compose(person: Person, query: str = "", project: str = SHOP) -> Form:
    action = f"/mail/{await person.slug(project)}/overseer/compose"
    return form_to(await person.get(action + query), action)


async def test_the_person_writes_as_human_of_the_project(person: Person) -> None:
    form = await compose(person)
    fields = form.filled(
        to="GreenHill, BlueLake", subject="Lunch", body_md="At *noon*.\r\n\r\nBring it.", thread_id="FOOD-1",
        importance="high", ack_required="on", act="send",
    )  # fmt: skip

    answer = await person.send(form.action, fields)

    (mail,) = await person.inbox("GreenHill")
    assert (mail["from"], mail["subject"], mail["body_md"]) == ("Human", "Lunch", "At *noon*.\n\nBring it.")
    assert (mail["thread_id"], mail["importance"], mail["ack_required"]) == ("FOOD-1", "high", True)
    assert len(await person.inbox("BlueLake")) == 1
    assert answer.status_code == 303
    sent = f"/mail/{await person.slug(SHOP)}/message/{mail['id']}?sent={dict(fields)['idempotency_key']}"
    assert answer.headers["location"] == sent
    assert "Sent." in (await person.get(answer.headers["location"])).text


async def test_a_double_press_sends_once(person: Person) -> None:
    form = await compose(person)
    fields = form.filled(to="GreenHill", subject="Once", body_md="Only.", act="send")

    first, second = await asyncio.gather(*(person.send(form.action, fields) for _ in range(2)))

    assert first.headers["location"] == second.headers["location"]
    assert len(await person.inbox("GreenHill")) == 1


async def test_a_double_press_of_an_answer_sends_once(person: Person) -> None:
    number = await person.write("BlueLake", "Human", thread_id="PLAN-1")
    action = f"/mail/{await person.slug(SHOP)}/message/{number}/reply"
    fields = form_to(await person.get(action), action).filled(body_md="Yes.", act="send")

    first, second = await asyncio.gather(*(person.send(action, fields) for _ in range(2)))

    assert first.headers["location"] == second.headers["location"]
    assert [mail["body_md"] for mail in await person.inbox("BlueLake")] == ["Yes."]


async def test_a_form_that_was_sent_and_changed_is_asked_about_and_sent_by_the_next_press(person: Person) -> None:
    form = await compose(person)
    await person.send(form.action, form.filled(to="GreenHill", subject="One", body_md="1", act="send"))

    asked = await person.send(form.action, form.filled(to="GreenHill", subject="Two", body_md="2", act="send"))
    between = len(await person.inbox("GreenHill"))
    again = form_to(asked, form.action)
    sent = await person.send(form.action, again.filled(act="send"))

    assert (asked.status_code, between, sent.status_code) == (409, 1, 303)
    assert [mail["subject"] for mail in await person.inbox("GreenHill")] == ["Two", "One"]


@pytest.mark.parametrize("text", [HOSTILE, "\n\nbegins with empty lines", "x" * 70_000])
async def test_what_is_refused_keeps_every_character(person: Person, text: str) -> None:
    form = await compose(person)
    fields = form.filled(to="Nobody-There", subject="A <b> \u202e", body_md=text, thread_id="T-1", act="send")

    answer = await person.send(form.action, fields)

    kept = form_to(answer, form.action)
    assert answer.status_code == 400
    assert "Nobody-There" in answer.text
    assert (kept.value("to"), kept.value("subject"), kept.value("thread_id")) == (
        "Nobody-There",
        "A <b> \u202e",
        "T-1",
    )
    assert kept.value("body_md") == text
    assert kept.value("idempotency_key") == form.value("idempotency_key")
    assert "<script>alert" not in answer.text


async def test_a_preview_shows_the_markdown_and_sends_nothing(person: Person) -> None:
    form = await compose(person)

    answer = await person.send(form.action, form.filled(to="GreenHill", body_md="**so** <i>x</i>", act="preview"))

    assert answer.status_code == 200
    assert "<strong>so</strong> &lt;i&gt;x&lt;/i&gt;" in answer.text
    assert await person.inbox("GreenHill") == []


async def test_a_broadcast_is_counted_first_and_sent_by_the_second_press(person: Person) -> None:
    form = await compose(person)
    fields = form.filled(subject="All", body_md="Hear.", broadcast="on", act="send")

    counted = await person.send(form.action, fields)
    between = await person.inbox("GreenHill")
    asked = form_to(counted, form.action)
    sent = await person.send(form.action, asked.filled(act="send"))

    assert counted.status_code == 200
    assert "This goes to 2 agents" in counted.text
    assert (between, len(asked.value("confirmed"))) == ([], 64)
    assert sent.status_code == 303
    assert [len(await person.inbox(name)) for name in ("BlueLake", "GreenHill")] == [1, 1]


async def test_a_broadcast_that_reaches_others_by_now_is_asked_about_again(person: Person) -> None:
    form = await compose(person)
    counted = await person.send(form.action, form.filled(subject="A", body_md="b", broadcast="on", act="send"))
    more: dict[str, Any] = {"project_key": SHOP, "program": "tests", "model": "none", "name": "RedStone"}
    await person.app.call("register_agent", **more)

    answer = await person.send(form.action, form_to(counted, form.action).filled(act="send"))

    assert "This goes to 3 agents" in answer.text
    assert await person.inbox("GreenHill") == []


async def test_a_broadcast_that_reaches_as_many_others_is_asked_about_again(person: Person) -> None:
    form = await compose(person)
    counted = await person.send(form.action, form.filled(subject="A", body_md="b", broadcast="on", act="send"))
    more: dict[str, Any] = {"project_key": SHOP, "program": "tests", "model": "none", "name": "RedStone"}
    await person.app.call("register_agent", **more)
    await person.app.call("deregister_agent", project_key=SHOP, agent_name="BlueLake")

    answer = await person.send(form.action, form_to(counted, form.action).filled(act="send"))

    assert "This goes to 2 agents" in answer.text
    assert await person.inbox("GreenHill") == []


async def hold(person: Person, name: str, path: str) -> None:
    arguments: dict[str, Any] = {"project_key": SHOP, "agent_name": name, "paths": [path]}
    await person.app.call("file_reservation_paths", **arguments)


async def test_a_group_is_counted_first_and_sent_by_the_second_press(person: Person) -> None:
    await hold(person, "GreenHill", "a.py")
    form = await compose(person)
    fields = form.filled(to="@reservations", subject="Release, please", body_md="Soon.", act="send")

    counted = await person.send(form.action, fields)
    between = await person.inbox("GreenHill")
    sent = await person.send(form.action, form_to(counted, form.action).filled(act="send"))

    assert (counted.status_code, between, sent.status_code) == (200, [], 303)
    assert "This goes to 1 agent. Send it?" in counted.text
    assert "<p>GreenHill.</p>" in counted.text
    assert [len(await person.inbox(name)) for name in ("BlueLake", "GreenHill")] == [0, 1]


async def test_a_group_and_names_reach_each_agent_once(person: Person) -> None:
    await hold(person, "GreenHill", "a.py")
    form = await compose(person)
    fields = form.filled(to="BlueLake, @reservations, @program:Tests", subject="All", body_md="b", act="send")

    counted = await person.send(form.action, fields)
    await person.send(form.action, form_to(counted, form.action).filled(act="send"))

    assert "This goes to 2 agents" in counted.text
    assert [len(await person.inbox(name)) for name in ("BlueLake", "GreenHill")] == [1, 1]


async def test_a_group_that_others_are_in_by_now_is_asked_about_again(person: Person) -> None:
    await hold(person, "GreenHill", "a.py")
    form = await compose(person)
    counted = await person.send(form.action, form.filled(to="@reservations", subject="A", body_md="b", act="send"))
    await person.app.call("release_file_reservations", project_key=SHOP, agent_name="GreenHill")
    await hold(person, "BlueLake", "a.py")

    answer = await person.send(form.action, form_to(counted, form.action).filled(act="send"))

    assert "<p>BlueLake.</p>" in answer.text
    assert [await person.inbox(name) for name in ("BlueLake", "GreenHill")] == [[], []]


async def test_the_groups_of_the_project_are_offered_with_their_counts(person: Person) -> None:
    await hold(person, "GreenHill", "a.py")
    await person.write("BlueLake", "GreenHill", thread_id="PLAN-1")

    page = await person.get(f"/mail/{await person.slug(SHOP)}/overseer/compose?to=@thread&thread=PLAN-1")

    assert '<option value="@reservations">1 agent holding a reservation here</option>' in page.text
    assert "<code>@thread:PLAN-1</code> <span>2 agents in this thread</span>" in page.text
    assert "<code>@program:tests</code> <span>2 agents with the program tests</span>" in page.text
    assert form_to(page, f"/mail/{await person.slug(SHOP)}/overseer/compose").value("to") == "@thread"


@pytest.mark.parametrize(("to", "said"), [("@everyone", "is no group"), ("@reservations", "reaches nobody now")])
async def test_a_group_that_reaches_nobody_keeps_the_text(person: Person, to: str, said: str) -> None:
    form = await compose(person)

    answer = await person.send(form.action, form.filled(to=to, subject="A", body_md=HOSTILE, act="send"))

    assert answer.status_code in (400, 404)
    assert said in answer.text
    assert form_to(answer, form.action).value("body_md") == HOSTILE


async def test_an_answer_goes_to_everyone_in_its_thread(person: Person) -> None:
    number = await person.write("BlueLake", "Human", thread_id="PLAN-1")
    await person.write("GreenHill", "BlueLake", thread_id="PLAN-1")
    action = f"/mail/{await person.slug(SHOP)}/message/{number}/reply"
    form = form_to(await person.get(action), action)

    counted = await person.send(action, form.filled(to="@thread", body_md="Yes.", act="send"))
    await person.send(action, form_to(counted, action).filled(act="send"))

    assert "This goes to 2 agents" in counted.text
    assert [mail["subject"] for mail in await person.inbox("GreenHill")] == ["Re: Ready?"]


async def test_an_answer_to_what_a_thread_begins_with_goes_to_everyone_in_it(person: Person) -> None:
    number = await person.write("BlueLake", "Human")
    await person.write("GreenHill", "BlueLake", thread_id=str(number))
    action = f"/mail/{await person.slug(SHOP)}/message/{number}/reply"
    page = await person.get(action)

    counted = await person.send(action, form_to(page, action).filled(to="@thread", body_md="Yes.", act="send"))

    assert f"<code>@thread:{number}</code> <span>2 agents in this thread</span>" in page.text
    assert "This goes to 2 agents" in counted.text


async def test_a_broadcast_to_nobody_says_so(person: Person) -> None:
    await person.app.call("ensure_project", human_key="/code/empty")
    form = await compose(person, project="/code/empty")

    answer = await person.send(form.action, form.filled(subject="A", body_md="b", broadcast="on", act="send"))

    assert (answer.status_code, "reach nobody" in answer.text) == (400, True)


async def test_names_of_the_project_are_offered(person: Person) -> None:
    page = await person.get(f"/mail/{await person.slug(SHOP)}/overseer/compose?to=BlueLake&thread=T-9")

    form = form_to(page, f"/mail/{await person.slug(SHOP)}/overseer/compose")
    assert '<option value="BlueLake"></option><option value="GreenHill"></option>' in page.text
    assert (form.value("to"), form.value("thread_id")) == ("BlueLake", "T-9")


async def test_an_answer_goes_to_the_sender_in_the_thread_and_acknowledges(person: Person) -> None:
    number = await person.write("BlueLake", "Human", ack_required=True, thread_id="PLAN-1")
    action = f"/mail/{await person.slug(SHOP)}/message/{number}/reply"
    form = form_to(await person.get(action), action)

    answer = await person.send(action, form.filled(body_md="Yes.", act="send"))

    (mail,) = await person.inbox("BlueLake")
    assert answer.status_code == 303, answer.text
    assert (mail["from"], mail["subject"], mail["thread_id"]) == ("Human", "Re: Ready?", "PLAN-1")
    assert await person.status(number, "BlueLake") in ("answered", "acknowledged")
    assert form.value("acknowledge") == "on"


async def test_the_human_whom_the_mail_came_to_answers_it(person: Person) -> None:
    number = await person.write("TealRiver", f"Human@{await person.slug(SHOP)}", project=BILLS)
    action = f"/mail/{await person.slug(BILLS)}/message/{number}/reply"
    form = form_to(await person.get(action), action)

    answer = await person.send(action, form.filled(body_md="From the shop.", act="send"))

    (mail,) = await person.inbox("TealRiver", BILLS)
    assert mail["from"] == f"Human@{await person.slug(SHOP)}"
    assert answer.headers["location"].startswith(f"/mail/{await person.slug(SHOP)}/message/")


async def test_an_answer_to_ones_own_message_goes_to_whom_that_went_to(person: Person) -> None:
    form = await compose(person)
    sent = await person.send(form.action, form.filled(to="GreenHill", subject="Re: Plan", body_md="1", act="send"))
    action = sent.headers["location"].partition("?")[0] + "/reply"
    page = await person.get(action)

    await person.send(action, form_to(page, action).filled(body_md="2", act="send"))

    assert "Left empty it goes to those whom your message went to." in page.text
    assert [mail["subject"] for mail in await person.inbox("GreenHill")] == ["Re: Plan", "Re: Plan"]
    assert '<p class="still">Re: Plan</p>' in page.text


async def test_a_refused_answer_keeps_its_text(person: Person) -> None:
    number = await person.write("BlueLake", "Human")
    action = f"/mail/{await person.slug(SHOP)}/message/{number}/reply"
    form = form_to(await person.get(action), action)

    answer = await person.send(action, form.filled(to="Nobody-There", body_md=HOSTILE, act="send"))

    assert form_to(answer, action).value("body_md") == HOSTILE
    assert await person.inbox("BlueLake") == []


async def test_who_is_not_signed_in_gets_no_form_and_sends_nothing(tmp_path: Path) -> None:
    async with before_the_pages(tmp_path) as visitor:
        action = f"/mail/{await visitor.slug(SHOP)}/overseer/compose"

        page = await visitor.get(action)
        answer = await visitor.send(action, [("to", "GreenHill"), ("subject", "x"), ("body_md", "y"), ("act", "send")])

        assert (page.status_code, answer.status_code) == (403, 401)
        assert "am web" in page.text
        assert await visitor.inbox("GreenHill") == []


async def test_a_token_of_another_form_sends_nothing(person: Person) -> None:
    form, other = await compose(person), await compose(person, project=BILLS)
    fields = form.filled(to="GreenHill", subject="x", body_md="y", act="send", csrf=other.value("csrf"))

    answer = await person.send(form.action, fields)

    assert answer.status_code == 403
    assert await person.inbox("GreenHill") == []


@pytest.mark.parametrize("text", ["", "  \n\t", "\u200b\u2060"])
async def test_an_answer_without_text_is_not_sent_and_acknowledges_nothing(person: Person, text: str) -> None:
    number = await person.write("BlueLake", "Human", ack_required=True)
    action = f"/mail/{await person.slug(SHOP)}/message/{number}/reply"
    form = form_to(await person.get(action), action)

    answer = await person.send(action, form.filled(body_md=text, importance="high", act="send"))

    kept = form_to(answer, action)
    assert (answer.status_code, kept.value("importance"), kept.value("acknowledge")) == (400, "high", "on")
    assert re.search(
        r'<textarea id="body_md"[^>]* aria-invalid="true" aria-describedby="refused" autofocus', answer.text
    )
    assert await person.status(number, "BlueLake") not in ("acknowledged", "answered")
    assert await person.inbox("BlueLake") == []


async def test_the_field_that_is_refused_is_marked(person: Person) -> None:
    form = await compose(person)

    for field, given in (
        ("to", {"to": "Nobody-There", "subject": "A", "body_md": "b"}),
        ("to", {"subject": "A", "body_md": "b"}),
        ("subject", {"to": "GreenHill", "body_md": "b"}),
        ("body_md", {"to": "GreenHill", "subject": "A"}),
        ("thread_id", {"to": "GreenHill", "subject": "A", "body_md": "b", "thread_id": "no thread!"}),
    ):
        answer = await person.send(form.action, form.filled(**given, act="send"))
        marked = re.findall(
            r'<\w+ id="(\w+)"[^>]* aria-invalid="true" aria-describedby="refused[^>]* autofocus', answer.text
        )
        assert (answer.status_code, marked, answer.text.count(" autofocus")) == (400, [field], 1), field
    assert await person.inbox("GreenHill") == []


async def test_where_one_writes_is_where_the_newest_mail_is_from_unless_the_page_is_a_projects(person: Person) -> None:
    shop, bills = await person.slug(SHOP), await person.slug(BILLS)
    await person.app.call("ensure_project", human_key="/code/empty")

    for sender, project, slug in (("BlueLake", SHOP, shop), ("TealRiver", BILLS, bills)):
        await person.write(sender, "Human", project=project)
        assert f'href="/mail/{slug}/overseer/compose" data-compose' in (await person.get("/mail")).text
    assert f'href="/mail/{shop}/overseer/compose" data-compose' in (await person.get(f"/mail/{shop}/agents")).text


async def test_a_name_elsewhere_is_written_with_the_project_as_pages_call_it(person: Person) -> None:
    form = await compose(person)
    fields = form.filled(to="TealRiver@bills", subject="Hello", body_md="There.", act="send")

    answer = await person.send(form.action, fields)

    assert answer.status_code == 303, answer.text
    assert [mail["subject"] for mail in await person.inbox("TealRiver", BILLS)] == ["Hello"]


async def test_what_is_asked_about_is_sent_by_a_button_that_promises_no_number_and_can_be_left(person: Person) -> None:
    form = await compose(person)

    asked = await person.send(form.action, form.filled(broadcast="on", subject="A", body_md="b", act="send"))

    buttons = asked.text.partition("This goes to 2 agents. Send it?")[2].partition("</section>")[0]
    assert ">Send</button>" in buttons
    assert 'href="/mail">Cancel</a>' in buttons


async def test_who_chooses_another_project_is_told_where_the_text_stays(person: Person) -> None:
    page = await person.get((await compose(person)).action)

    assert "What you write here stays with shop." in page.text
