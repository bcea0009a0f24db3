from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.features.oversight import needs
from mcp_agent_mail.web.pages.inbox import PAGE_SIZE
from mcp_agent_mail.web.pages.search import PAGE_SIZE as SEARCH_SIZE
from tests.web.visits import APP, Visits, open_visits, shown_text


@pytest.fixture
async def visits(tmp_path: Path) -> AsyncIterator[Visits]:
    async with open_visits(tmp_path) as opened:
        yield opened


async def test_mail_is_there_newest_first_page_by_page(visits: Visits) -> None:
    for number in range(PAGE_SIZE + 2):
        await visits.send(subject=f"Letter {number:03}")

    first = await visits.get("/mail")
    older = await visits.get(visits.next_href(first))

    assert visits.subjects(first) == [f"Letter {number:03}" for number in range(PAGE_SIZE + 1, 1, -1)]
    assert visits.subjects(older) == ["Letter 001", "Letter 000"]
    assert 'rel="next"' not in older.text


async def test_each_term_of_the_filter_leaves_what_passes(visits: Visits) -> None:
    await visits.send(subject="one", importance="urgent", topic="release")
    await visits.send(subject="two", sender_name="RedStone", to=["BlueLake"])

    for asked, subjects in (
        ("from:redstone", ["two"]),
        ("importance:urgent", ["one"]),
        ("topic:Release", ["one"]),
        ("project:code-app", ["two", "one"]),
        ("from:Nobody", []),
        ("from:BlueLake topic:other", []),
    ):
        assert visits.subjects(await visits.get("/mail", q=asked)) == subjects, asked


async def test_words_are_searched_for_in_the_same_list(visits: Visits) -> None:
    for number in range(SEARCH_SIZE + 1):
        await visits.send(subject=f"Coupon {number:02}", body_md="The coupon is & ready.", to=["Human"])
    await visits.send(subject="Coupon of RedStone", sender_name="RedStone", to=["BlueLake"])

    first = await visits.get("/mail", visits.operator, q="from:BlueLake coupon")
    more = await visits.get(visits.next_href(first), visits.operator)

    found = [one for answer in (first, more) for one in visits.subjects(answer)]
    assert len(set(found)) == len(found) == SEARCH_SIZE + 1
    assert all(one.startswith("<mark>Coupon</mark>") for one in found)
    assert "RedStone" not in " ".join(found)
    assert "The <mark>coupon</mark> is &amp; ready." in first.text
    assert "data-reader" in first.text
    assert 'rel="next"' not in more.text


async def test_a_project_is_meant_by_whatever_it_is_called(visits: Visits) -> None:
    await visits.send(subject="for you", to=["Human"])
    await visits.app.call("ensure_project", human_key="/code/other")

    for called in ("code-app", "1", "/code/app", "app", "APP"):
        for more in ("", " is:unread", " you"):
            answer = await visits.get("/mail", visits.operator, q=f"project:{called}{more}")
            assert [re.sub("<.*?>", "", one) for one in visits.subjects(answer)] == ["for you"], (called, more)
            assert 'data-project="code-app-' in answer.text
        assert visits.subjects(await visits.get("/mail", visits.operator, q="project:other from:BlueLake")) == []


async def test_a_name_of_several_projects_is_asked_about(visits: Visits) -> None:
    await visits.app.call("ensure_project", human_key="/old/app")

    answer = await visits.get("/mail", q="project:app importance:high")

    assert answer.status_code == 409
    told = r"2 projects are called app\. Write which: project:old-app-\w+ or project:code-app-\w+\."
    assert re.search(told, shown_text(answer))
    assert 'value="project:app importance:high"' in answer.text


async def test_who_is_no_agent_is_said(visits: Visits) -> None:
    await visits.send(subject="plan")

    for asked in ("from:BlueLaek", "to:BlueLaek", "plan from:BlueLaek"):
        answer = await visits.get("/mail", q=asked)
        assert visits.subjects(answer) == [], asked
        assert "There is no agent BlueLaek." in shown_text(answer), asked
        assert "BlueLake" in shown_text(answer), asked
    assert "There is no agent" not in shown_text(await visits.get("/mail", q="from:RedStone"))


async def test_who_got_it_its_thread_and_its_time_are_filters_of_lists_and_searches(visits: Visits) -> None:
    await visits.send(subject="plan one", thread_id="T-1")
    await visits.send(subject="plan two", to=["Human"], sender_name="RedStone")
    await visits.send(subject="plan three", to=["GreenField"], bcc=["RedStone"])

    for asked, subjects in (
        ("to:RedStone", ["plan one"]),
        ("to:human", ["plan two"]),
        ("thread:T-1", ["plan one"]),
        ("after:1d to:RedStone", ["plan one"]),
        ("before:1d", []),
        ("after:2099-01-01", []),
    ):
        for words in ("", " plan"):
            answer = await visits.get("/mail", q=asked + words)
            assert [re.sub("<.*?>", "", one) for one in visits.subjects(answer)] == subjects, asked + words
    mine = await visits.get("/mail", visits.operator, q="is:unread to:Human after:1d")
    other = await visits.get("/mail", visits.operator, q="is:unread to:RedStone")
    blind = await visits.get("/mail", visits.operator, q="to:RedStone")
    assert [visits.subjects(one) for one in (mine, other, blind)] == [["plan two"], [], ["plan three", "plan one"]]


async def test_a_word_that_is_no_filter_is_said_and_looked_for(visits: Visits) -> None:
    await visits.send(subject="status foo:bar")

    answer = await visits.get("/mail", q="foo:bar")

    assert len(visits.subjects(answer)) == 1
    assert "foo: is no filter, and looked for as words. Filters are from:," in shown_text(answer)


@pytest.mark.parametrize("path", ["/mail", "/mail/search"])
async def test_what_does_not_count_as_it_is_written_is_said_beside_what_is_found(visits: Visits, path: str) -> None:
    await visits.send(subject="cart report")

    answer = await visits.get(path, q="from:RedStone cart -report from:BlueLake")

    shown = shown_text(answer)
    assert "- is no operator: write NOT report behind the words that you look for." in shown
    assert "Each filter counts once: of several the last does, from:BlueLake." in shown


async def test_of_filters_alone_that_are_given_twice_the_search_says_too_which_counts(visits: Visits) -> None:
    led = await visits.get("/mail/search", q="from:RedStone from:BlueLake")

    assert "of several the last does, from:BlueLake." in shown_text(await visits.get(led.headers["location"]))


async def test_a_filter_that_is_refused_keeps_the_page_and_what_was_written(visits: Visits) -> None:
    for asked, status in (
        ("is:old", 400), ("project:none", 404), ("before:soon", 400), ("is:unread coupon", 403), ("needs:ack", 403),
    ):  # fmt: skip
        for path in ("/mail", "/mail/search"):
            answer = await visits.get(path, q=asked + (" x" if path.endswith("search") else ""))
            assert answer.status_code == status, (path, asked)
            assert f'value="{asked}' in answer.text, (path, asked)
            assert 'aria-invalid="true" aria-describedby="refused"' in answer.text, (path, asked)
            assert 'aria-label="Pages"' in answer.text, (path, asked)


async def test_what_cannot_be_asked_is_a_page_with_the_next_step(visits: Visits) -> None:
    for query in ({"box": "spam"}, {"before": "-1"}, {"before": "9" * 20}):
        answer = await visits.get("/mail", **query)
        assert answer.status_code == 400, query
        assert 'class="hint"' in answer.text or 'id="refused"' in answer.text, query


async def test_what_the_person_has_read_is_the_operators_to_ask(visits: Visits) -> None:
    await visits.send(subject="for you", to=["Human"], ack_required=True)
    await visits.send(subject="for RedStone")

    for asked in ("is:unread", "needs:ack"):
        refused = await visits.get("/mail", q=asked)
        mine = await visits.get("/mail", visits.operator, q=asked)
        assert (refused.status_code, visits.subjects(mine)) == (403, ["for you"]), asked


async def test_filters_of_the_persons_mail_leave_what_passes(visits: Visits) -> None:
    await visits.send(subject="plain", to=["Human"])
    await visits.send(subject="loud", to=["Human"], importance="urgent", sender_name="RedStone", topic="release")

    for asked in ("importance:urgent", "from:RedStone", "topic:release"):
        assert visits.subjects(await visits.get("/mail", visits.operator, q=f"is:unread {asked}")) == ["loud"], asked


async def test_what_needs_a_person_is_the_operators_alone(visits: Visits) -> None:
    await visits.send(subject="please confirm", to=["Human"], ack_required=True)
    await visits.hold(subject="held for QuietFox")

    told = shown_text(await visits.get("/mail", visits.operator, box="needs"))
    others = shown_text(await visits.get("/mail", box="needs"))

    assert "please confirm" in told
    assert "held for QuietFox" in told
    assert "asks to write to" in told
    assert "please confirm" not in others
    assert "QuietFox" not in others
    assert "am web" in others


async def test_a_row_of_the_persons_mail_says_why_it_is_there(visits: Visits) -> None:
    await visits.send(subject="straight", to=["Human"], ack_required=True)
    await visits.send(subject="beside", to=["RedStone"], cc=["Human"], ack_required=True)

    for query in ({}, {"q": "needs:ack"}, {"box": "needs"}):
        shown = (await visits.get("/mail", visits.operator, **query)).text
        told = re.findall(r'<span class="reason">([^<]*)</span>', shown)
        assert sorted(told) == ["cc to you", "to you"], query
    assert 'class="reason"' not in (await visits.get("/mail")).text


async def test_what_is_to_acknowledge_says_so_once_urgent_first_and_leads_to_the_rest(
    visits: Visits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(needs, "SHOWN_NEEDS", 2)
    monkeypatch.setattr(needs, "MOST_NEEDS", 2)
    for subject, importance in (("one", "normal"), ("two", "high"), ("three", "urgent")):
        await visits.send(subject=subject, importance=importance, to=["Human"], ack_required=True)

    shown = await visits.get("/mail", visits.operator, box="needs")

    assert visits.subjects(shown) == ["three", "one"]
    assert shown.text.count('class="mark owes') == 2
    assert "asks you to acknowledge" not in shown.text
    assert 'Needs you</span><span class="count">2+</span>' in shown.text
    assert 'href="/mail?q=needs%3Aack"' in shown.text
    assert visits.subjects(await visits.get("/mail", visits.operator, q="needs:ack")) == ["three", "two", "one"]


async def test_requests_are_pages_that_lead_on(visits: Visits, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "SHOWN_NEEDS", 1)
    for sender in ("BlueLake", "RedStone"):
        await visits.hold(subject=f"of {sender}", sender_name=sender)

    first = await visits.get("/mail", visits.operator, box="needs")
    second = await visits.get(visits.next_href(first), visits.operator)

    assert ("of BlueLake" in first.text, "of RedStone" in first.text) == (True, False)
    assert ("of BlueLake" in second.text, "of RedStone" in second.text) == (False, True)
    assert 'rel="next"' not in second.text


async def test_the_log_is_what_the_server_told(visits: Visits) -> None:
    await visits.send(subject="of an agent")

    await visits.send(subject="for you", to=["Human"])

    for asked in (
        "",
        "body",
        "body from:BlueLake",
        "from:BlueLake",
        "is:unread",
        "is:unread from:BlueLake",
        "agent is:unread",
    ):
        assert visits.subjects(await visits.get("/mail", visits.operator, box="log", q=asked)) == [], asked


async def test_a_project_without_mail_says_what_would_be_here(visits: Visits) -> None:
    slug = (await visits.app.call("ensure_project", human_key="/code/empty"))["slug"]

    page = await visits.get("/mail", q=f"project:{slug}")

    assert "No mail passes" not in page.text
    assert "agents of empty send would be here" in shown_text(page)
    assert "am mail send" in page.text
    assert 'rel="next"' not in page.text


async def test_the_message_that_is_read_beside_the_list_stands_in_the_address(visits: Visits) -> None:
    number = await visits.send(subject="Plan", body_md="the body")
    slug = re.findall(r'href="/mail/([^/"]+)/message/', (await visits.get("/mail")).text)[0]

    closed = await visits.get("/mail", q="from:BlueLake")
    read = await visits.get("/mail", q="from:BlueLake", open=f"{slug}.{number}")

    assert "the body" not in closed.text
    assert visits.subjects(read) == ["Plan"]
    assert "the body" in shown_text(read)
    assert '<a class="shut" href="/mail?q=from%3ABlueLake" data-shut>' in read.text


@pytest.mark.parametrize(("written", "status"), [("1", 404), (".1", 404), ("none.1", 404), ("code-app.", 400)])
async def test_what_is_no_message_is_not_read_beside_the_list(visits: Visits, written: str, status: int) -> None:
    answer = await visits.get("/mail", open=written)

    assert answer.status_code == status, answer.text


async def test_mail_that_was_read_is_unread_no_more_and_may_owe_its_acknowledgement_still(visits: Visits) -> None:
    owed = await visits.send(subject="owed", to=["Human"], ack_required=True)
    done = await visits.send(subject="done", to=["Human"])
    await visits.send(subject="new", to=["Human"], ack_required=True)
    for number in (owed, done):
        await visits.app.call(
            "mark_message_read", visits.operator, project_key=APP, agent_name="Human", message_id=number
        )

    for asked, subjects in (
        ("is:unread", ["new"]),
        ("needs:ack", ["new", "owed"]),
        ("is:unread needs:ack", ["new"]),
        ("to:Human", ["new", "done", "owed"]),
    ):
        assert visits.subjects(await visits.get("/mail", visits.operator, q=asked)) == subjects, asked


@pytest.mark.parametrize(
    ("query", "parts"),
    [({}, {"owed", "requests", "late"}), ({"requests": "1"}, {"requests"}), ({"overdue": "1"}, {"late"})],
)
async def test_a_page_of_one_kind_that_needs_a_person_has_no_other(
    visits: Visits, query: dict[str, str], parts: set[str]
) -> None:
    page = await visits.get("/mail", visits.operator, box="needs", **query)

    assert set(re.findall('data-live="(owed|requests|late)"', page.text)) == parts
    assert ("All that needs you" in page.text) is bool(query)
