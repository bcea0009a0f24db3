from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import Message

from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.features.messaging.contents import CHUNK_BYTES
from mcp_agent_mail.server.attachments import AttachmentEndpoint
from mcp_agent_mail.server.dispatch import RequestFacts
from tests.features.messaging.carrying import PNG, AttachmentParts, digest_of, open_carrying
from tests.features.messaging.harness import LIB
from tests.seeded_store import token_of
from tests.server.whole_app import asking, open_whole_app

FACTS = RequestFacts(credentials=Credentials(via="rpc"), request_id="req-1", opener=None)
TEXT = b"<script>alert(1)</script>"
WHERE = f"/attachments/code-app/{digest_of(TEXT)}"
PICTURE = f"/attachments/code-app/{digest_of(PNG)}"


class Door:
    def __init__(self, carrying: AttachmentParts) -> None:
        self.carrying = carrying
        self.endpoint = AttachmentEndpoint(carrying.messaging.service, carrying.messaging.identities.caller)

    async def ask(self, where: str, method: str = "GET", *, token: str | None = None, **headers: str) -> httpx.Response:
        facts = replace(FACTS, credentials=Credentials(via="rpc", agent_token=token))
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        async with asking(self.endpoint.answer, facts) as client:
            return await client.request(method, where, headers=given)


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    """BlueLake has sent RedStone a page and a picture."""
    async with open_carrying(tmp_path) as carrying:
        await carrying.send(carrying.path("p\u00e4ge.html", TEXT), carrying.path('a"b.png', PNG))
        yield Door(carrying)


async def test_what_is_no_picture_is_kept_as_a_file_whatever_it_says_it_is(door: Door) -> None:
    answer = await door.ask(WHERE)

    assert (answer.status_code, answer.content) == (200, TEXT)
    assert dict(answer.headers) == {
        "etag": f'"{digest_of(TEXT)}"',
        "x-content-type-options": "nosniff",
        "content-security-policy": "default-src 'none'; sandbox",
        "cross-origin-resource-policy": "same-origin",
        "referrer-policy": "no-referrer",
        "cache-control": "no-store",
        "accept-ranges": "bytes",
        "content-type": "application/octet-stream",
        "content-disposition": "attachment; filename=\"p_ge.html\"; filename*=UTF-8''p%C3%A4ge.html",
        "content-length": str(len(TEXT)),
    }


async def test_a_picture_is_shown_by_its_first_bytes(door: Door) -> None:
    answer = await door.ask(PICTURE)

    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["content-disposition"] == "inline; filename=\"a_b.png\"; filename*=UTF-8''a%22b.png"


async def test_a_picture_by_name_alone_is_none(door: Door) -> None:
    svg = b"<svg onload='x'/>"
    await door.carrying.send(door.carrying.path("evil.svg", svg), door.carrying.path("evil.png", b"<html>"))

    for data in (svg, b"<html>"):
        answer = await door.ask(f"/attachments/code-app/{digest_of(data)}")
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-disposition"].startswith("attachment;")


async def test_a_head_says_the_same_and_sends_nothing(door: Door) -> None:
    head, get = await door.ask(WHERE, "HEAD"), await door.ask(WHERE)

    assert (head.status_code, head.content, head.headers) == (200, b"", get.headers)


@pytest.mark.parametrize("place", [f"{digest_of(PNG)[:2]}/{digest_of(PNG)}.png", digest_of(PNG)])
async def test_an_address_without_a_project_is_of_the_one_that_a_token_says(door: Door, place: str) -> None:
    where, token = f"/attachments/{place}", token_of("RedStone", door.carrying.messaging.seeded.app)

    mine, whose = await door.ask(where, token=token), await door.ask(where)

    assert (mine.status_code, mine.content) == (200, PNG)
    assert whose.status_code == 404
    assert whose.json()["error"]["hint"] == f"Ask for /attachments/<project slug>/{digest_of(PNG)}"


async def test_who_has_it_already_is_told_so(door: Door) -> None:
    again = await door.ask(WHERE, if_none_match=f'W/"{digest_of(TEXT)}"', range="bytes=0-1")
    other = await door.ask(WHERE, if_none_match='"other"')

    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", f'"{digest_of(TEXT)}"')
    assert (other.status_code, other.content) == (200, TEXT)


async def test_a_part_is_sent_where_one_is_asked_for(door: Door) -> None:
    part = await door.ask(WHERE, range="bytes=1-6")
    tail = await door.ask(WHERE, range="bytes=-9", if_range=f'"{digest_of(TEXT)}"')

    assert (part.status_code, part.content) == (206, b"script")
    assert (part.headers["content-range"], part.headers["content-length"]) == (f"bytes 1-6/{len(TEXT)}", "6")
    assert (tail.status_code, tail.content) == (206, b"</script>")


@pytest.mark.parametrize(
    "headers", [{"range": "bytes=0-1,3-4"}, {"range": "lines=1-2"}, {"range": "bytes=0-1", "if_range": '"other"'}]
)
async def test_what_asks_for_no_part_of_this_content_gets_all_of_it(door: Door, headers: dict[str, str]) -> None:
    answer = await door.ask(WHERE, **headers)

    assert (answer.status_code, answer.content) == (200, TEXT)


async def test_a_part_behind_the_end_is_refused_with_where_that_is(door: Door) -> None:
    answer = await door.ask(WHERE, range="bytes=99-")

    assert (answer.status_code, answer.content) == (416, b"")
    assert answer.headers["content-range"] == f"bytes */{len(TEXT)}"


@pytest.mark.parametrize(
    "where",
    [
        f"/attachments/code-app/{'0' * 64}",
        f"/attachments/code-lib/{digest_of(TEXT)}",
        f"/attachments/nowhere/{digest_of(TEXT)}",
        f"/attachments//{digest_of(TEXT)}",
        f"{WHERE}/",
        f"{WHERE}.html",
        "/attachments/code-app/../../mail.sqlite3",
        "/attachments/code-app/..%2F..%2Fmail.sqlite3",
        "/attachments/",
    ],
)
async def test_what_is_not_seen_there_is_unknown(door: Door, where: str) -> None:
    answer = await door.ask(where)

    error = answer.json()["error"]
    assert (answer.status_code, error["type"]) == (404, "NOT_FOUND")
    assert error["message"].startswith("No attachment ")
    assert error["hint"] == "Copy the sha256 of an attachment of a message that you can read."


async def test_a_proven_agent_of_another_project_sees_nothing_and_a_wrong_token_is_refused(door: Door) -> None:
    seeded = door.carrying.messaging.seeded

    foreign = await door.ask(WHERE, token=token_of("QuietFox", seeded.lib))
    own = await door.ask(WHERE, token=token_of("GreenField", seeded.app))
    wrong = await door.ask(WHERE, token="amt_wrong")

    assert (foreign.status_code, own.status_code, wrong.status_code) == (404, 200, 403)


async def test_a_blind_copy_is_its_recipients(door: Door) -> None:
    secret = b"for your eyes"
    await door.carrying.send(
        door.carrying.path("s", secret),
        project_key=LIB,
        sender_name="QuietFox",
        to=["BlueLake"],
        bcc=["RedStone@code-app"],
    )
    seeded, where = door.carrying.messaging.seeded, f"/attachments/code-app/{digest_of(secret)}"

    answers = [
        (await door.ask(where, token=token_of(name, seeded.app))).status_code for name in ("RedStone", "GreenField")
    ]

    assert answers == [200, 404]


async def test_whoever_leaves_is_sent_no_more(door: Door) -> None:
    data = b"x" * (CHUNK_BYTES * 8)
    await door.carrying.send(door.carrying.path("large", data))
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope: Any = {"method": "GET", "path": f"/attachments/code-app/{digest_of(data)}", "headers": []}
    await door.endpoint.answer(scope, FACTS, receive, send)

    assert sent[0]["status"] == 200
    assert sum(len(message.get("body", b"")) for message in sent) < len(data)


async def test_the_application_serves_it_behind_the_same_gate_as_rpc(tmp_path: Path) -> None:
    async with open_whole_app(tmp_path, HTTP_BEARER_TOKEN="server-token") as whole:
        bare = await whole.client.get(WHERE)
        shown = await whole.client.get(WHERE, headers={"Authorization": "Bearer server-token"})
        of_a_page = await whole.client.get(WHERE, headers={"Origin": "https://elsewhere.example"})

    assert (bare.status_code, shown.status_code, of_a_page.status_code) == (401, 404, 403)
    assert shown.json()["error"]["message"].startswith("No attachment ")


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_what_is_seen_there_and_gone_from_the_disk_is_told_as_lost(door: Door, method: str) -> None:
    (door.carrying.sources.shelf.folder / digest_of(TEXT)).unlink()

    answer = await door.ask(WHERE, method)
    elsewhere = await door.ask(f"/attachments/code-lib/{digest_of(TEXT)}")

    assert (answer.status_code, elsewhere.status_code) == (503, 404)
    if method == "GET":
        error = answer.json()["error"]
        assert (error["type"], "am doctor verify" in error["hint"]) == ("UNAVAILABLE", True)
