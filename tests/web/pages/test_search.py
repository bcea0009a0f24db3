"""Search over HTTP: over all projects or one, by words and filters, with hostile text in what is found."""

from __future__ import annotations

from pathlib import Path

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
