"""Search over HTTP: over all projects or one, by words and filters, with hostile text in what is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.web.pages import inbox, search
from tests.server.whole_app import WholeApp, open_whole_app
from tests.web.pages.peopled import AS_OPERATOR, people


async def _found(app: WholeApp, query: str, path: str = "/mail/search") -> list[str]:
    answer = await app.client.get(path, params={"q": query}, headers=AS_OPERATOR)
    assert answer.status_code == 200, answer.text
    assert "<img src=x" not in answer.text
    words = ("one", "two", "three", "four")
    return sorted(word for word in words if f"<mark>Coupon</mark> {word}" in answer.text)


async def test_search_finds_over_all_projects_by_words_and_filters(tmp_path: Path) -> None:
    async with open_whole_app(tmp_path) as app:
        await people(app, tmp_path)
        projects = (await app.client.get("/mail/search", params={"q": "coupon"})).text

        assert await _found(app, "coupon") == ["four", "one", "three", "two"]
        assert await _found(app, "coupon from:BlueLake") == ["four", "one"]
        assert await _found(app, "coupon importance:urgent") == ["one"]
        assert await _found(app, "coupon topic:Cart") == ["one", "three"]
        assert await _found(app, "coupon topic:cart from:TealRiver") == ["three"]
        assert await _found(app, "coupon is:unread") == ["four"]
        assert await _found(app, "coupon needs:ack") == []
        assert await _found(app, "coupon from:Nobody") == []
        assert "In 2 projects." in projects


async def test_search_in_one_project_keeps_to_it(tmp_path: Path) -> None:
    async with open_whole_app(tmp_path) as app:
        shop = await people(app, tmp_path)
        slug = (await app.call("ensure_project", human_key=shop))["slug"]

        assert await _found(app, "coupon", f"/mail/{slug}/search") == ["one", "two"]
        assert await _found(app, "coupon from:BlueLake", f"/mail/{slug}/search") == ["one"]


async def test_what_asks_for_nothing_is_the_page_itself_and_filters_alone_keep_to_the_project(tmp_path: Path) -> None:
    async with open_whole_app(tmp_path) as app:
        slug = (await app.call("ensure_project", human_key=await people(app, tmp_path)))["slug"]
        own = f"/mail/{slug}/search"
        nothing = [
            await app.client.get(path, params=query) for path in ("/mail/search", own) for query in ({}, {"q": " "})
        ]
        alone = await app.client.get(own, params={"q": "from:BlueLake"})

    assert [one.status_code for one in nothing] == [200] * 4
    assert all("Mail that holds your words is here" in one.text for one in nothing)
    assert alone.headers["location"] == f"/mail?q=from%3ABlueLake+project%3A{slug}"


@pytest.mark.parametrize("path", ["/mail/search", "/mail"])
async def test_a_search_leads_on_for_so_many_pages_and_says_where_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    assert (search.PAGE_SIZE, search.MOST_PAGES) == (25, 8)
    monkeypatch.setattr(search, "PAGE_SIZE", 1)
    for module in (search, inbox):
        monkeypatch.setattr(module, "MOST_PAGES", 2)
    async with open_whole_app(tmp_path) as app:
        await people(app, tmp_path)
        pages = [
            await app.client.get(path, params={"q": words, "page": page}, headers=AS_OPERATOR)
            for words, page in (("coupon", ""), ("coupon", "2"), ("coupon from:BlueLake", "2"))
        ]
        beyond = [
            await app.client.get(path, params={"q": "coupon", "page": page}, headers=AS_OPERATOR)
            for page in ("0", "3", "x", "-1", "1.0")
        ]

    assert [one.status_code for one in pages] == [200] * 3
    assert ['rel="next"' in one.text for one in pages] == [True, False, False]
    assert ["There is more. Say it with more words" in one.text for one in pages] == [False, True, False]
    assert [one.status_code for one in beyond] == [400] * 5


async def test_filters_alone_lead_to_the_mail_and_a_wrong_one_says_so(tmp_path: Path) -> None:
    async with open_whole_app(tmp_path) as app:
        alone = await app.client.get("/mail/search", params={"q": "from:BlueLake"})
        wrong = await app.client.get("/mail/search", params={"q": "x importance:loud"})
        beyond = await app.client.get("/mail/search", params={"q": "x", "page": "9"})
        told = [
            await app.client.get(path, params={"q": "zebra", "page": number})
            for path in ("/mail/search", "/mail")
            for number in ("99", "0", "-1", "one")
        ]

    assert (alone.status_code, alone.headers["location"]) == (303, "/mail?q=from%3ABlueLake")
    assert (wrong.status_code, "is no importance" in wrong.text) == (400, True)
    assert beyond.status_code == 400
    for answer in told:
        assert (answer.status_code, "is no page of a search" in answer.text) == (400, True)
        assert 'name="q" type="search" value="zebra"' in answer.text
