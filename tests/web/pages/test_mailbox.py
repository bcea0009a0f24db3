"""An agent's inbox and outbox, and attachments, as pages."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.web.pages import mailbox
from tests.web.pages.archived_app import AS_OPERATOR, HTML, ArchivedApp, open_archived_app
from tests.web.visits import Visits, open_visits


@pytest.fixture
async def archived(tmp_path: Path) -> AsyncIterator[ArchivedApp]:
    async with open_archived_app(tmp_path) as opened:
        yield opened


async def test_the_operator_reads_an_inbox_and_nothing_becomes_read(archived: ArchivedApp) -> None:
    await archived.sign_in()

    page = await archived.get(f"/mail/{archived.slug}/inbox/RedStone")

    status = await archived.app.call(
        "message_status", AS_OPERATOR, message_id=archived.ids["blind"], project_key=archived.slug
    )
    states = [one["status"] for one in status["recipients"]]
    assert page.text.count('class="row unread"') == 2
    assert "<script>alert" not in page.text
    assert states == ["delivered"]


async def test_going_on_lists_from_the_oldest(archived: ArchivedApp) -> None:
    await archived.sign_in()

    page = await archived.get(f"/mail/{archived.slug}/inbox/RedStone?after={archived.ids['plan']}")

    assert f"/message/{archived.ids['blind']}" in page.text
    assert f"/message/{archived.ids['plan']}" not in page.text


async def test_an_outbox_tells_of_blind_copies_to_the_operator_alone(archived: ArchivedApp) -> None:
    path = f"/mail/{archived.slug}/outbox/BlueLake"
    as_reader = await archived.get(path)
    await archived.sign_in()

    as_operator = await archived.get(path)

    assert "GreenHill" not in as_reader.text
    assert "to RedStone, GreenHill" in as_operator.text


async def test_what_is_no_image_is_a_download_as_the_route_of_attachments_gives_it(archived: ArchivedApp) -> None:
    listed = await archived.get(f"/mail/{archived.slug}/attachments")
    found = re.search(rf"/mail/{archived.slug}/attachments/([0-9a-f]{{64}})", listed.text)
    assert found is not None

    page = await archived.get(found[0])
    plain = await archived.get(f"/attachments/{archived.slug}/{found[1]}")
    known = await archived.get(found[0], **{"if-none-match": page.headers["etag"]})

    assert page.content == plain.content == b"<script>1</script>"
    assert page.headers["content-disposition"].startswith("attachment;")
    assert page.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert page.headers["x-content-type-options"] == "nosniff"
    assert known.status_code == 304


@pytest.mark.parametrize("digest", ["0" * 64, "nonsense"])
async def test_an_unknown_attachment_is_a_page(archived: ArchivedApp, digest: str) -> None:
    answer = await archived.get(f"/mail/{archived.slug}/attachments/{digest}")

    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")


async def test_an_unknown_agent_is_a_page(archived: ArchivedApp) -> None:
    await archived.sign_in()

    assert (await archived.get(f"/mail/{archived.slug}/inbox/NoBody")).status_code == 404


async def test_each_list_leads_on_to_all_that_it_has_and_to_each_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mailbox.PAGE_SIZE == 50
    monkeypatch.setattr(mailbox, "PAGE_SIZE", 2)
    async with open_visits(tmp_path) as visits:
        sent = [await visits.send(attachment_paths=[HTML]) for _ in range(5)]

        pages = {
            path: await _pages_of(visits, f"/mail/code-app/{path}")
            for path in ("inbox/RedStone", "outbox/BlueLake", "attachments")
        }

    newest = sent[::-1]
    assert pages == {
        "inbox/RedStone": [newest[:2], sent[:2], sent[2:4], sent[4:]],
        "outbox/BlueLake": [newest[:2], newest[2:]],
        "attachments": [newest[:2], newest[2:4], newest[4:]],
    }


async def test_a_list_that_fits_leads_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailbox, "PAGE_SIZE", 2)
    async with open_visits(tmp_path) as visits:
        sent = [await visits.send(attachment_paths=[HTML]) for _ in range(2)]

        for path in ("inbox/RedStone", "outbox/BlueLake", "attachments"):
            assert await _pages_of(visits, f"/mail/code-app/{path}") == [sent[::-1]], path


async def _pages_of(visits: Visits, path: str) -> list[list[int]]:
    """The messages of each page, as far as its link to the next leads; each is linked once and more."""
    pages: list[list[int]] = []
    while path:
        page = await visits.get(path, visits.operator)
        assert page.status_code == 200, page.text
        assert len(pages) < 9
        pages.append([int(one) for one in dict.fromkeys(re.findall(r'href="[^"]*/message/(\d+)"', page.text))])
        path = visits.next_href(page) if 'rel="next"' in page.text else ""
    return pages
