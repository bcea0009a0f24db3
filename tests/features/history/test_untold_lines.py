from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.archive.history import HistoryEntry
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.features.history.untold_lines import Untold, entry_without, find_untold
from mcp_agent_mail.store import outbox
from tests.seeded_store import SeededStore, open_seeded_store
from tests.server.pages.browsers import ServedPages, serve_pages

KEY = "/code/app"
SLUG = "code-app"
ACTIVITY = f"/mail/archive/activity?project={SLUG}"
READER = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)
LONG = "The plan for " + "the next " * 20 + "weeks"


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[ServedPages]:
    async with serve_pages(tmp_path, HTTP_RATE_LIMIT_ENABLED="false") as opened:
        await opened.call("ensure_project", human_key=KEY)
        for name in ("BlueLake", "GreenHill"):
            await opened.call("register_agent", project_key=KEY, program="a", model="b", name=name)
        await opened.archive()
        yield opened


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def send(served: ServedPages, subject: str) -> int:
    sent = await served.call(
        "send_message", project_key=KEY, sender_name="BlueLake", to=["GreenHill"], subject=subject, body_md="x"
    )
    return int(sent["deliveries"][0]["payload"]["id"])


async def withdraw(served: ServedPages, number: int) -> None:
    await served.call("withdraw_message", project_key=KEY, sender_name="BlueLake", message_id=number)
    await served.archive()


async def pages_of(served: ServedPages, *, is_operator: bool) -> str:
    """All that History says of the project's commits."""
    browser = served.browser()
    if is_operator:
        await browser.sign_in()
    activity = (await browser.get(ACTIVITY)).text
    commits = dict.fromkeys(re.findall(r"/mail/archive/commit/[0-9a-f]{40}\?project=[\w-]+", activity))
    assert commits
    return activity + "".join([(await browser.get(one)).text for one in commits])


@pytest.mark.parametrize("subject", ["secretword", "a | secretword (+3)", f"secretword {LONG}"])
async def test_mail_withdrawn_unread_is_told_of_by_its_sender_alone(served: ServedPages, subject: str) -> None:
    number = await send(served, subject)
    await served.archive()
    before = await pages_of(served, is_operator=False)
    await withdraw(served, number)

    as_reader = await pages_of(served, is_operator=False)

    assert "secretword" in before
    assert "secretword" not in as_reader
    assert "BlueLake -&gt; GreenHill" not in as_reader
    assert "mail: BlueLake" in as_reader
    assert "secretword" in await pages_of(served, is_operator=True)


async def test_of_several_in_one_commit_the_others_are_told(served: ServedPages) -> None:
    number = await send(served, "secretword")
    await send(served, "openword")
    await served.archive()
    await withdraw(served, number)

    as_reader = await pages_of(served, is_operator=False)

    assert "secretword" not in as_reader
    assert "mail: BlueLake -&gt; GreenHill | openword" in as_reader
    assert "mail: BlueLake (+1)" in as_reader


async def test_of_a_commit_that_the_store_does_not_know_no_mail_is_told(seeded: SeededStore) -> None:
    untold = await seeded.store.read(lambda view: find_untold(view, READER, seeded.app, ["b" * 40]))

    assert untold == {"b" * 40: None}


def test_where_nobody_knows_what_a_commit_holds_its_mail_is_not_told() -> None:
    def told(summary: str, untold: Untold) -> str:
        entry = HistoryEntry(
            hexsha="a" * 40, authored_ts=Micros(1), author="BlueLake", summary=summary, agents=(), last_seq=None
        )
        return entry_without(entry, untold).summary

    unknown: Untold = {"a" * 40: None}
    assert told("mail: BlueLake -> GreenHill | word (+2)", unknown) == "mail: BlueLake (+2)"
    assert told("mail: BlueLake -> GreenHill, and so on…", unknown) == "mail: BlueLake"
    assert told("BlueLake joined", unknown) == "BlueLake joined"
    known: Untold = {"a" * 40: ["word"]}
    assert told("mail: BlueLake -> GreenHill | other", known) == "mail: BlueLake -> GreenHill | other"
    assert told("mail: BlueLake -> GreenHill, and so on…", known) == "mail: BlueLake"
    assert told("mail: BlueLake -> GreenHill | word", {}) == "mail: BlueLake -> GreenHill | word"


async def test_of_a_commit_with_more_of_it_than_is_looked_at_no_mail_is_told(
    served: ServedPages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "MOST_UNOPENED", 1)
    numbers = [await send(served, f"secretword {number}") for number in range(2)]
    await send(served, "openword")
    await served.archive()
    for number in numbers:
        await withdraw(served, number)

    as_reader = await pages_of(served, is_operator=False)

    assert "secretword" not in as_reader
    assert "openword" not in as_reader
