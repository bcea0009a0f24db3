"""Pages that look back, over HTTP: what they show, to whom, and that nothing of peers is obeyed."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mcp_agent_mail.archive.reading import browser as archive_browser
from mcp_agent_mail.bootstrap.wiring import archiver_settings
from mcp_agent_mail.features.archiving.offline_drain import drain_in_process
from mcp_agent_mail.features.history import service as history_service
from mcp_agent_mail.web.pages import history
from tests.server.whole_app import settings_of
from tests.sick_git import put_git
from tests.web.pages.archived_app import ArchivedApp, open_archived_app
from tests.web.visits import shown_text

PAGES = ("guide", "activity", "timeline", "browser", "network", "time-travel")


@pytest.fixture
async def archived(tmp_path: Path) -> AsyncIterator[ArchivedApp]:
    async with open_archived_app(tmp_path) as opened:
        yield opened


async def newest_commit(archived: ArchivedApp) -> str:
    listed = await archived.get(f"/mail/archive/activity?project={archived.slug}")
    found = re.search(r"/mail/archive/commit/([0-9a-f]{40})\?project=", listed.text)
    assert found is not None, listed.text
    return f"/mail/archive/commit/{found[1]}?project={archived.slug}"


async def test_every_page_is_there_and_asks_which_project_where_there_are_several(archived: ArchivedApp) -> None:
    await archived.sign_in()

    for name in PAGES:
        shown = await archived.get(f"/mail/archive/{name}?project={archived.slug}")
        only = await archived.get(f"/mail/archive/{name}")

        assert (shown.status_code, only.status_code) == (200, 200), name
        assert "<script>alert" not in shown.text, name
        assert "Of which project?" not in only.text, name
        # Every other page of history is about the same project.
        others = set(re.findall(r'href="/mail/archive/([a-z-]+)\?project=([^"]+)"', shown.text))
        assert {(one, archived.slug) for one in PAGES} <= others, name

    await archived.app.call("ensure_project", human_key="/code/other")
    for name in set(PAGES) - {"guide"}:
        asked = await archived.get(f"/mail/archive/{name}")

        assert "Of which project?" in asked.text, name
        assert f'href="/mail/archive/{name}?project={archived.slug}"' in asked.text, name


async def test_a_commit_shows_its_changes_to_the_operator_alone(archived: ArchivedApp) -> None:
    path = await newest_commit(archived)
    as_reader = await archived.get(path)
    await archived.sign_in()

    as_operator = await archived.get(path)

    assert "line-added" not in as_reader.text
    assert "GreenHill/inbox" not in as_reader.text
    assert 'class="line-added"' in as_operator.text
    assert "GreenHill/inbox" in as_operator.text
    assert '<details class="change"><summary><code>' in as_operator.text
    assert "diff --git" not in as_operator.text
    assert "BlueLake wrote to RedStone" in shown_text(as_operator)
    assert '<span class="plus">+' in as_operator.text
    assert "<script>alert" not in as_operator.text


async def test_files_are_the_operators(archived: ArchivedApp) -> None:
    path = f"/mail/archive/browser?project={archived.slug}"
    as_reader = await archived.get(path)
    await archived.sign_in()

    root = await archived.get(path)
    file = await archived.get(f"{path}&path=archive.json")
    outside = await archived.get(f"{path}&path=../../operator.token")

    assert as_reader.status_code == 403
    assert "messages/" in root.text
    assert "store_id" in file.text
    assert (outside.status_code, "no path in an archive" in outside.text) == (400, True)


async def test_a_folder_of_many_leads_on_to_the_rest(archived: ArchivedApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_browser, "MOST_LISTED", 2)
    await archived.sign_in()
    path, names = f"/mail/archive/browser?project={archived.slug}", []

    while path:
        page = (await archived.get(path)).text
        names += re.findall(r"<code>([^<]+)</code>", page.partition('<ul class="paths"')[2].partition("</ul>")[0])
        found = re.search(r'rel="next" href="([^"]+)"', page)
        path = html.unescape(found[1]) if found else ""
    unfit = await archived.get(f"/mail/archive/browser?project={archived.slug}&skip=-1")

    assert {"messages/", "agents/", "archive.json"} <= set(names)
    assert len(names) == len(set(names)) > 2
    assert unfit.status_code == 400


async def test_an_unknown_commit_or_project_is_a_page(archived: ArchivedApp) -> None:
    commit = await archived.get(f"/mail/archive/commit/{'0' * 40}?project={archived.slug}")
    project = await archived.get("/mail/archive/activity?project=nobody")

    assert (commit.status_code, project.status_code) == (404, 404)


async def test_an_inbox_at_a_past_time_is_what_was_there(archived: ArchivedApp) -> None:
    await archived.sign_in()
    path = f"/mail/archive/time-travel?project={archived.slug}&agent=RedStone&at="

    before = await archived.get(f"{path}2020-01-01")
    after = await archived.get(f"{path}2090-01-01")
    hour_ago = re.search(r'<a href="([^"]+)">1 h ago</a>', after.text)
    unfit = [
        await archived.get(path + at) for at in ("soon", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00%2B23:59")
    ]

    assert 'type="datetime-local" step="1" value="2090-01-01T00:00:00"' in after.text
    assert hour_ago is not None
    assert "Nothing had been delivered" in (await archived.get(html.unescape(hour_ago[1]))).text
    assert re.search(r"\d\d:\d\d UTC</time>", after.text)
    assert "Nothing had been delivered" in before.text
    assert "2 messages in the inbox of RedStone" in after.text
    assert [one.status_code for one in unfit] == [400, 400, 400]
    assert all("is no time" in one.text for one in unfit)


async def test_the_raw_file_is_plain_text_in_a_sandbox(archived: ArchivedApp) -> None:
    answer = await archived.get(f"/mail/{archived.slug}/message/{archived.ids['plan']}/raw")
    blind = await archived.get(f"/mail/{archived.slug}/message/{archived.ids['blind']}/raw")
    unknown = await archived.get(f"/mail/{archived.slug}/message/999/raw")

    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["content-security-policy"] == "sandbox"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.text.startswith("---json\n")
    assert "GreenHill" not in blind.text
    assert unknown.status_code == 404


async def test_a_git_that_hangs_is_not_just_now_and_keeps_nobody_waiting_behind_it(
    archived: ArchivedApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_browser, "_TIMEOUT_S", 0.2)
    put_git(tmp_path / "bin", f"echo >> {tmp_path / 'asked'}; exec sleep 300", monkeypatch)
    activity = f"/mail/archive/activity?project={archived.slug}"
    travel = f"/mail/archive/time-travel?project={archived.slug}&agent=RedStone&at=9998-01-01"
    raw = f"/mail/{archived.slug}/message/{archived.ids['plan']}/raw"

    together = await asyncio.gather(*(archived.get(activity) for _ in range(6)))
    late = [await archived.get(path) for path in (activity, f"/mail/archive/browser?project={archived.slug}", raw)]
    await archived.sign_in()
    signed = await archived.get(f"/mail/archive/browser?project={archived.slug}")
    past = await archived.get(travel)

    assert [one.status_code for one in (*together, late[0], late[2], signed)] == [503] * 9
    assert "Git did not answer within 0.2 s" in together[0].text
    assert all(1 <= int(one.headers["retry-after"]) <= 10 for one in (*together, signed))
    assert (tmp_path / "asked").read_text().count("\n") == 1
    assert (past.status_code, "Ours" in past.text) == (200, True)


SLOW = '/bin/sleep 1; PATH=/usr/bin:/bin exec git "$@"'


async def test_a_page_has_one_time_for_all_its_runs_of_git_and_a_slow_one_is_no_silent_one(
    archived: ArchivedApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await archived.sign_in()
    activity = f"/mail/archive/activity?project={archived.slug}"
    commit = await newest_commit(archived)
    monkeypatch.setattr(history_service, "GIT_S", 3.0)
    put_git(tmp_path / "bin", SLOW, monkeypatch)

    slow = await archived.get(commit)
    monkeypatch.setattr(history_service, "GIT_S", 60.0)
    after = await archived.get(activity)

    assert (slow.status_code, slow.headers.get("retry-after")) == (503, "10")
    assert "was not done within 3 s" in slow.text
    assert "See how long" in slow.text
    assert after.status_code == 200


async def test_who_waits_for_others_at_a_slow_archive_waits_within_the_same_time(
    archived: ArchivedApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    activity = f"/mail/archive/activity?project={archived.slug}"
    monkeypatch.setattr(history_service, "GIT_S", 3.0)
    put_git(tmp_path / "bin", SLOW, monkeypatch)

    together = await asyncio.gather(*(archived.get(activity) for _ in range(8)))

    told = [one.text for one in together if one.status_code == 503]
    assert {one.status_code for one in together} <= {200, 503}
    # One run at a time, and each is a second at least.
    assert len(told) >= 5
    assert [one for one in told if "Git is slow" not in one] == []


async def test_the_newest_commits_lead_on_while_there_are_more(
    archived: ArchivedApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/mail/archive/activity?project={archived.slug}"
    await archived.app.call("register_agent", project_key=archived.slug, name="TealRiver", program="x", model="y")
    assert await drain_in_process(archived.app.store, archiver_settings(settings_of(tmp_path)), timeout_s=60) == []
    known = _commits_in((await archived.get(path)).text)
    assert (history.COMMITS_A_PAGE, history.SHOWN_TEXT) == (50, 4_000)
    assert len(known) > 1

    pages = []
    for count in (len(known), len(known) - 1):
        monkeypatch.setattr(history, "COMMITS_A_PAGE", count)
        pages.append((await archived.get(path)).text)

    assert [_commits_in(page) for page in pages] == [known, known[:-1]]
    assert ['rel="next"' in page for page in pages] == [False, True]
    found = re.search(r'rel="next" href="([^"]+)"', pages[1])
    assert found is not None
    assert _commits_in((await archived.get(html.unescape(found[1]))).text) == known[-1:]


def _commits_in(page: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"/mail/archive/commit/([0-9a-f]{40})\?project=", page)))


def test_of_a_text_that_was_purged_since_the_beginning_is_shown() -> None:
    # Of a past inbox nothing else is asked here.
    past: Any = SimpleNamespace(
        bodies={1: "x" * 4_000 + "y", 2: "live", 3: "short"}, purged={1: None, 3: None, 4: None}
    )

    assert history._texts(past) == {1: "x" * 4_000, 3: "short"}


@pytest.mark.parametrize("script", ["exit 1", "echo garbage"])
async def test_a_git_that_fails_is_not_just_now_and_what_is_not_there_is_not_found(
    archived: ArchivedApp, script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = await archived.get(f"/mail/archive/commit/{'0' * 40}?project={archived.slug}")
    put_git(tmp_path / "bin", script, monkeypatch)

    failed = await archived.get(f"/mail/archive/activity?project={archived.slug}")
    raw = await archived.get(f"/mail/{archived.slug}/message/{archived.ids['plan']}/raw")

    assert (unknown.status_code, failed.status_code, raw.status_code) == (404, 503, 503)
    assert failed.headers["retry-after"] == "60"
    assert "Not just now" in failed.text
