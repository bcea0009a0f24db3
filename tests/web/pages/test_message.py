from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.features.identity.system_mail import SystemNotice, post_system_mail
from mcp_agent_mail.store.transaction import Tx
from mcp_agent_mail.web.pages.message import THREAD_PAGE, UnfitNumber, message_number
from tests.web.visits import APP, Visits, open_visits, shown_text


@pytest.fixture
async def visits(tmp_path: Path) -> AsyncIterator[Visits]:
    async with open_visits(tmp_path) as opened:
        yield opened


@pytest.mark.parametrize("text", ["", "-1", "1.0", " 1", "\u0661", "9" * 16, "abc"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(UnfitNumber):
        message_number(text)


async def test_a_message_is_shown_with_its_body_and_what_became_of_each_copy(visits: Visits) -> None:
    number = await visits.send(subject="Plan <b>", body_md="**now**", to=["RedStone", "GreenField"], importance="high")

    page = await visits.get(f"/mail/code-app/message/{number}")

    assert page.status_code == 200
    assert "<h1>Plan &lt;b&gt;</h1>" in page.text
    assert "<strong>now</strong>" in page.text
    assert re.findall(r'<th scope="row"[^>]*>.*?</span> (\w+)', page.text) == ["RedStone", "GreenField"]


async def test_a_long_body_is_folded_and_says_so(visits: Visits) -> None:
    number = await visits.send(body_md="x" * 300_000 + "BEHIND")

    page = await visits.get(f"/mail/code-app/message/{number}")

    assert "BEHIND" not in page.text
    assert f'/message/{number}/raw">All of it' in page.text
    assert "This is the beginning" in page.text


async def test_a_message_is_found_by_its_projects_slug_or_number(visits: Visits) -> None:
    number = await visits.send(subject="here")
    project = (await visits.app.call("ensure_project", human_key=APP))["id"]

    pages = [await visits.get(f"/mail/{key}/message/{number}") for key in ("code-app", str(project), "code-app/")]

    assert [page.status_code for page in pages] == [200, 200, 404]


async def test_what_is_not_there_is_a_page(visits: Visits) -> None:
    for path in ("/mail/code-app/message/99", "/mail/none/message/1", "/mail/%2e%2e/message/1", "/mail/none/thread/T"):
        page = await visits.get(path)
        assert page.status_code == 404, path
        assert "Nothing is here" in page.text


async def test_a_thread_is_read_from_its_beginning_page_by_page(visits: Visits) -> None:
    for number in range(THREAD_PAGE + 1):
        await visits.send(body_md=f"Letter {number:03}", thread_id="T-1")

    first = await visits.get("/mail/code-app/thread/T-1")
    later = await visits.get(visits.next_href(first))

    told = [re.findall(r"Letter \d+", shown_text(page)) for page in (first, later)]
    assert told == [[f"Letter {number:03}" for number in range(THREAD_PAGE)], [f"Letter {THREAD_PAGE:03}"]]


async def test_a_page_of_a_thread_says_where_it_stands_and_leads_to_the_others(visits: Visits) -> None:
    sent = [await visits.send(subject="Freeze", thread_id="T-1", to=["RedStone", "GreenField"]) for _ in range(61)]
    start = "/mail/code-app/thread/T-1"

    async def pages(label: str) -> list[str]:
        shown, path = [], start
        while path:
            page = await visits.get(path)
            said = re.search(r"(\d+ to \d+) of 61", shown_text(page))
            assert said is not None, path
            shown.append(said[1])
            found = re.search(rf'<a[^>]*?href="([^"]*)"[^>]*>{label}</a>', page.text)
            path = html.unescape(found[1]) if found else ""
            assert page.text.count("Freeze</h1>") == 1
            assert page.text.count("Freeze") == 2  # the other is the title
        return shown

    assert await pages("Later") == ["1 to 25", "26 to 50", "51 to 61"]
    assert await pages("Newest") == ["1 to 25", "37 to 61"]
    start = f"{start}?after={sent[49]}"
    assert await pages("Earlier") == ["51 to 61", "26 to 50", "1 to 25"]
    assert await pages("Oldest") == ["51 to 61", "1 to 25"]


async def test_a_thread_is_a_tree_of_answers_with_what_became_of_each(visits: Visits) -> None:
    root = await visits.send(subject="Freeze", thread_id="T-1", to=["RedStone", "GreenField"])
    await visits.app.call("mark_message_read", project_key=APP, agent_name="RedStone", message_id=root)
    await visits.app.call("reply_message", project_key=APP, sender_name="RedStone", message_id=root, body_md="Mine.")
    await visits.send(subject="Thaw", thread_id="T-1")

    anybodys = await visits.get("/mail/code-app/thread/T-1")
    operators = await visits.get("/mail/code-app/thread/T-1", visits.operator)

    assert re.findall(r'<li class="depth-(\d)">', anybodys.text) == ["0", "1", "0"]
    assert f'answers <a href="#m{root}">#{root}</a>' in anybodys.text
    assert "1 of 2 read" in shown_text(anybodys)
    assert re.findall(r'class="own-subject">(\w+)', anybodys.text) == ["Thaw"]
    assert "data-reply" not in anybodys.text
    assert operators.status_code == 200


async def test_a_message_says_when_it_was_sent_as_a_person_writes_it(visits: Visits) -> None:
    page = await visits.get(f"/mail/code-app/message/{await visits.send()}")

    assert re.search(r">\d{1,2} [A-Z][a-z]{2}(?: \d{4})? \d\d:\d\d UTC · \w+</time>", page.text)
    assert re.search(r'title="\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"', page.text)
    assert not re.search(r'title="[^"]*T\d\d:', page.text)


async def test_a_message_says_how_much_came_later_in_its_thread(visits: Visits) -> None:
    number = await visits.send(thread_id="T-1")
    await visits.send(thread_id="T-1")

    assert "1 newer in this thread" in shown_text(await visits.get(f"/mail/code-app/message/{number}"))


async def test_only_the_operator_sees_blind_held_and_withdrawn_copies(visits: Visits) -> None:
    blind = await visits.send(subject="S-blind", bcc=["GreenField"], thread_id="T")
    held = await visits.hold(subject="S-held", thread_id="T")
    withdrawn = await visits.send(subject="S-withdrawn", thread_id="T")
    await visits.app.call("withdraw_message", project_key=APP, message_id=withdrawn, sender_name="BlueLake")
    paths = [f"/mail/code-app/message/{number}" for number in (blind, held, withdrawn)]

    anybodys = [await visits.get(path) for path in (*paths, "/mail/code-app/thread/T", "/mail")]
    operators = [await visits.get(path, visits.operator) for path in paths]

    assert [page.status_code for page in anybodys] == [200, 404, 404, 200, 200]
    for page in anybodys:
        assert re.findall("GreenField|S-held|S-withdrawn", page.text) == []
    for page, word in zip(operators, ("GreenField", "S-held", "S-withdrawn"), strict=True):
        assert page.status_code == 200
        assert word in page.text


async def test_no_agent_is_asked_for_as_the_sender_whose_mail_it_reads(visits: Visits) -> None:
    number = await visits.send(bcc=["GreenField"])
    made = await visits.app.call(
        "create_issued_token", visits.operator, expires="1d", role="reader", agent_name="RedStone", project_key=APP
    )

    page = await visits.get(f"/mail/code-app/message/{number}", {"authorization": f"Bearer {made['token']}"})

    assert page.status_code == 200, shown_text(page)
    assert re.findall(r'<th scope="row"[^>]*>.*?</span> (\w+)', page.text) == ["RedStone"]


async def test_the_copies_of_a_message_that_are_held_are_the_operators_alone_and_its_sender_is_not_active_by_a_look(
    visits: Visits,
) -> None:
    await visits.app.call("set_contact_policy", project_key=APP, agent_name="QuietFox", policy="contacts_only")
    number = await visits.send(to=["RedStone", "QuietFox"])
    path = f"/mail/code-app/message/{number}"

    pages = [await visits.get(path), await visits.get(path, visits.operator)]

    assert [re.findall(r'<th scope="row"[^>]*>.*?</span> (\w+)', page.text) for page in pages] == [
        ["RedStone"],
        ["RedStone", "QuietFox"],
    ]


async def test_the_operator_reads_what_the_server_wrote_as_everybody_does(visits: Visits) -> None:
    def tell(tx: Tx) -> int:
        project = tx.projects.find_by_human_key(APP)
        assert project is not None
        to = tx.agents.find_by_name(project.id, "RedStone")
        assert to is not None
        return post_system_mail(tx, project, [to], SystemNotice(subject="Overdue", body_md="x")).id

    path = f"/mail/code-app/message/{await visits.app.store.write(tell)}"

    for headers in ({}, visits.operator):
        page = await visits.get(path, headers)
        assert page.status_code == 200, shown_text(page)
        assert "<h1>Overdue</h1>" in page.text
        assert re.findall(r'<th scope="row"[^>]*>.*?</span> (\w+)', page.text) == ["RedStone"]
