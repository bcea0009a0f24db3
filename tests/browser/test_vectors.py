"""Hostile mail in the browser: in every field that peers fill, on every page, with our policy and without it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.browser.chromium import Watched, open_chromium, sign_in_by, watched_page
from tests.browser.places import places
from tests.browser.vectors import VECTORS
from tests.server.pages.browsers import ServedPages, serve_pages
from tests.server.whole_app import OPERATOR

pytestmark = [pytest.mark.browser, pytest.mark.timeout(3_600)]

LEAST = 300
PROJECTS = 24
UNSENT: list[str] = []
"""Bodies that no peer can send."""
AGENTS = ("BlueLake", "RedStone", "QuietFox")
_FOREIGN = """() => [...document.querySelectorAll("main *")].filter((one) =>
  [...one.attributes].some((named) => named.name.startsWith("on") || named.name === "style" || named.name === "srcdoc")
  || ["SCRIPT", "IFRAME", "OBJECT", "EMBED", "STYLE", "BASE", "META", "LINK", "MATH", "TEMPLATE"]
    .includes(one.tagName)
  || (one.closest(".body") && ["IMG", "FORM", "BUTTON", "SVG", "svg"].includes(one.tagName))
  || (one.tagName === "A" && one.closest(".body") && one.href && !/^(https?|mailto):/.test(one.href))
).map((one) => one.outerHTML.slice(0, 200))"""


class Peers:
    """Calls that may be refused: what no field takes, no page shows."""

    def __init__(self, client: httpx.AsyncClient, project: str) -> None:
        self._client = client
        self._project = project

    async def call(self, tool: str, /, **arguments: Any) -> Any:
        answer = await self._client.post(f"/rpc/{tool}", json={"project_key": self._project, **arguments})
        assert answer.status_code < 500, (tool, arguments, answer.text)
        return answer.json() if answer.status_code == 200 else None

    async def send(self, **arguments: Any) -> int | None:
        given = {"sender_name": "BlueLake", "to": ["RedStone"], "subject": "plain", "body_md": "b", **arguments}
        sent = await self.call("send_message", **given)
        return None if sent is None or not sent["deliveries"] else sent["deliveries"][0]["payload"]["id"]


async def _send_each(peers: Peers, vectors: Sequence[str], taken: dict[str, list[Any]]) -> None:
    """Where a subject is refused the body comes with a plain one."""
    for number, vector in enumerate(vectors):
        given = {
            "body_md": vector,
            "thread_id": "T",
            "to": ["RedStone", "Human"] if number % 8 == 0 else ["RedStone"],
            "ack_required": number % 16 == 0,
        }
        taken["mail"].append(await peers.send(subject=vector[:200], **given) or await peers.send(**given))
        for field, name in (("thread", "thread_id"), ("topic", "topic")):
            taken[field] += [vector] if await peers.send(**{name: vector}) else []
        made = await peers.call("register_agent", name=vector, program=vector[:100], model=vector[:100])
        if made and await peers.send(sender_name=made["name"]):
            taken["name"].append(made["name"])


async def _introduce(peers: Peers, some: Sequence[str], taken: dict[str, list[Any]]) -> None:
    """An agent that is at work on them, and asks another for contact because of them."""
    made = await peers.call("register_agent", program="t", model="m", task_description="\n".join(some)[:4_000])
    if made:
        taken["task"] += some
        asked = {"from_agent": made["name"], "to_agent": "QuietFox", "reason": "\n".join(some)[:1_000]}
        taken["reason"] += some if await peers.call("request_contact", **asked) else []


def _file_of(folder: Path, vector: str) -> str | None:
    """One that is called so, as far as a file system has it."""
    name = vector.replace("/", "\u2215")[:80]
    try:
        (folder / name).write_bytes(b"<script>alert(1)</script>")
    except (OSError, ValueError):
        return None
    return name


async def _fill(peers: Peers, folder: Path, vectors: Sequence[str]) -> dict[str, list[Any]]:
    """What came in, by its field."""
    fields = ("mail", "thread", "topic", "task", "attachment", "reason", "name")
    taken: dict[str, list[Any]] = {name: [] for name in fields}
    await _send_each(peers, vectors, taken)
    for number in range(0, len(vectors), 12):
        await _introduce(peers, vectors[number : number + 12], taken)
    for vector in vectors:
        file = _file_of(folder, vector)
        if file and await peers.send(subject="carries", attachment_paths=[file], thread_id="T"):
            taken["attachment"].append(file)
    return taken


@pytest.fixture
async def filled(tmp_path: Path) -> AsyncIterator[tuple[ServedPages, Mapping[str, list[Any]], str]]:
    folder = tmp_path / "work"
    folder.mkdir()
    async with serve_pages(tmp_path, HTTP_RATE_LIMIT_ENABLED="false") as served:
        slug = (await served.call("ensure_project", human_key=str(folder)))["slug"]
        headers = {"authorization": f"Bearer {OPERATOR}"}
        async with httpx.AsyncClient(base_url=served.url, headers=headers, timeout=120) as client:
            peers = Peers(client, str(folder))
            for name in AGENTS:
                await served.call("register_agent", project_key=str(folder), name=name, program="t", model="m")
            await served.call(
                "set_contact_policy", project_key=str(folder), agent_name="QuietFox", policy="contacts_only"
            )
            taken = await _fill(peers, folder, VECTORS)
            taken["project"] = []
            for vector in VECTORS[:: len(VECTORS) // PROJECTS]:
                path = f"/code/{vector[:80]}"
                made = await client.post("/rpc/ensure_project", json={"human_key": path})
                assert made.status_code < 500, (path, made.text)
                taken["project"] += [path] if made.status_code == 200 else []
        yield served, taken, slug


async def _faults(watched: Watched, path: str) -> list[str]:
    watched.errors.clear()
    status = await watched.open(path)
    for at in range(3):
        await watched.page.mouse.move(200 + at * 200, 300)
    foreign = await watched.page.evaluate(_FOREIGN)
    await watched.note_violations()
    return [
        *watched.errors,
        *(f"foreign: {one}" for one in foreign),
        *([f"status {status}"] if status >= 500 else []),
    ]


def test_there_are_many_of_them() -> None:
    assert len(VECTORS) >= LEAST
    assert len(set(VECTORS)) == len(VECTORS)


@pytest.mark.parametrize("without_policy", [False, True])
async def test_nothing_that_peers_write_runs(
    filled: tuple[ServedPages, Mapping[str, list[Any]], str], without_policy: bool
) -> None:
    """`without_policy`: what slips past the sanitiser would really run."""
    served, taken, slug = filled
    assert [vector for vector, number in zip(VECTORS, taken["mail"], strict=True) if number is None] == UNSENT
    assert all(taken[field] for field in ("topic", "task", "attachment", "reason", "project")), {
        one: len(those) for one, those in taken.items()
    }
    keys = {"project": slug, "thread": "T", "message": str(taken["mail"][0]), "agent": "RedStone", "name": "RedStone"}
    faults: dict[str, list[str]] = {}
    async with open_chromium() as browser:
        context = await browser.new_context(viewport={"width": 1440, "height": 900}, bypass_csp=without_policy)
        watched = await watched_page(context, served.url)
        await sign_in_by(watched, (await served.call("create_sign_in_link"))["path"])
        lists = [*places(keys), "/mail?q=is:unread"]
        messages = [f"/mail/{slug}/message/{number}" for number in taken["mail"]]
        for path in (*lists, *messages):
            if found := await _faults(watched, path):
                faults[path] = found
        for first in ("/mail", f"/mail/{slug}/thread/T"):
            await _walk(watched, first, faults)

    assert faults == {}


async def _walk(watched: Watched, path: str, faults: dict[str, list[str]]) -> None:
    """From page to page of a list, to its end."""
    seen = set()
    while path not in seen:
        seen.add(path)
        if found := await _faults(watched, path):
            faults[path] = found
        following = await watched.page.query_selector("a[rel=next]")
        path = path if following is None else (await following.get_attribute("href") or path)
    assert len(seen) > 1
