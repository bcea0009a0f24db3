"""Who lends what is not its own: by the name of its project, by a link for its archive, by the paths of an archive."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.server.whole_app import WholeApp, open_whole_app

AGENT: dict[str, Any] = {"program": "p", "model": "m"}
SECRET = b"SECRET of somebody"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    tmp_path = tmp_path.resolve()
    for name in ("ws", "other/deep", "lib"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "other" / "secret.txt").write_bytes(SECRET)
    (tmp_path / "ws" / "mine.txt").write_bytes(b"mine")
    return tmp_path


@pytest.fixture
async def app(base: Path) -> AsyncIterator[WholeApp]:
    async with open_whole_app(base, ARCHIVE_LOCATION="workspace") as opened:
        for folder, names in (("ws", ("BlueLake", "RedFox")), ("lib", ("GreenHill", "GoldPeak"))):
            await opened.call("ensure_project", human_key=str(base / folder))
            for name in names:
                await opened.call("register_agent", project_key=str(base / folder), name=name, **AGENT)
        yield opened


async def send(app: WholeApp, key: Path | str, path: str, sender: str = "BlueLake", **more: Any) -> Any:
    """The answer, refused or not."""
    arguments = {"project_key": str(key), "sender_name": sender, "to": [sender], "subject": "s", "body_md": "b"}
    answer = await app.client.post("/rpc/send_message", json={**arguments, "attachment_paths": [path], **more})
    return answer.json()


def is_stored(base: Path) -> bool:
    """Does the server keep the secret for anyone?"""
    digest = hashlib.sha256(SECRET).hexdigest()
    return (base / "store" / "attachments" / digest[:2] / digest).exists()


@pytest.mark.parametrize("key", ["ws/l/..", "ws/l/../../ws/l/..", "to-ws/l/.."])
async def test_dots_behind_a_link_in_the_name_of_a_project_lend_nothing(app: WholeApp, base: Path, key: str) -> None:
    (base / "ws" / "l").symlink_to(base / "other" / "deep")
    (base / "to-ws").symlink_to(base / "ws")

    for path in ("secret.txt", f"{base}/{key}/secret.txt", f"{base}/other/secret.txt"):
        assert "error" in await send(app, f"{base}/{key}", path)
    assert not is_stored(base)


async def test_a_directory_that_became_a_link_lends_nothing(app: WholeApp, base: Path) -> None:
    (base / "ws").rename(base / "aside")
    (base / "ws").symlink_to(base / "other")

    refusals = [await send(app, base / "ws", path) for path in ("secret.txt", f"{base}/ws/secret.txt")]

    assert [refused["error"]["type"] for refused in refusals] == ["INVALID_INPUT"] * 2
    assert "by links it leads to" in refusals[0]["error"]["message"]
    assert not is_stored(base)


async def test_a_name_that_is_exchanged_within_the_call_lends_nothing(app: WholeApp, base: Path) -> None:
    flip = base / "ws" / "flip"
    flip.symlink_to(base / "ws")
    is_over = threading.Event()

    def exchange() -> None:
        for number in range(1_000_000):
            if is_over.wait(0.000_5):
                return
            with suppress(OSError):
                os.symlink(base / ("ws", "other")[number % 2], f"{flip}.new")  # noqa: PTH211  # no Path made for each
                os.replace(f"{flip}.new", flip)  # noqa: PTH105  # likewise

    attacker = threading.Thread(target=exchange)
    attacker.start()
    try:
        answers = [await send(app, flip, "secret.txt") for _ in range(25)]
    finally:
        is_over.set()
        attacker.join()

    assert all("error" in answer for answer in answers)
    assert not is_stored(base)


@pytest.mark.parametrize("target", ["other", "store/attachments", "store", "/etc", "/proc/self", ".git"])
async def test_a_link_in_place_of_an_archive_lends_nothing(app: WholeApp, base: Path, target: str) -> None:
    (base / ".git").mkdir()
    for folder in (base / ".git", base / "store", base / "store" / "attachments"):
        folder.mkdir(exist_ok=True)
        (folder / "secret.txt").write_bytes(SECRET)
    (base / "ws" / ".mcp-mail").symlink_to(base / target)

    for path in ("secret.txt", ".mcp-mail/secret.txt", f"{base}/ws/.mcp-mail/secret.txt", "hostname", "environ"):
        assert "error" in await send(app, base / "ws", path)
        assert (await send(app, base / "ws", path, attachment_paths=[], body_md=f"![a]({path})"))["images_left"]
    assert not is_stored(base)


async def test_a_path_below_an_archive_is_decided_as_a_digest_is(app: WholeApp, base: Path) -> None:
    """A blind copy's content lies in the archive of its recipient's project, which all of its agents may name."""
    data = "data:text/plain,blind"
    digest, nowhere = hashlib.sha256(b"blind").hexdigest(), "ab" * 32
    await app.call("set_contact_policy", project_key=str(base / "ws"), agent_name="RedFox", policy="open")
    sent = await send(app, base / "lib", data, "GreenHill", to=["GoldPeak"], bcc=[f"RedFox@{base}/ws"])
    assert "error" not in sent
    archive = base / "ws" / ".mcp-mail"
    kept = f"attachments/{digest[:2]}/{digest}.txt"
    (archive / kept).parent.mkdir(parents=True)
    (archive / kept).write_bytes(b"blind")
    (base / "ws" / "link").symlink_to(archive / kept)

    by_digest = await send(app, base / "ws", f"sha256:{nowhere}")
    for path in (f"attachments/ab/{nowhere}.txt", f"{archive}/attachments/ab/{nowhere}.txt"):
        spelt = path if path.startswith("/") else f".mcp-mail/{path}"
        assert await send(app, base / "ws", spelt) == by_digest
    refused = await send(app, base / "ws", f"sha256:{digest}")
    for path in (f".mcp-mail/{kept}", f"{archive}/{kept}", "link"):
        assert await send(app, base / "ws", path) == refused
        shown = await send(app, base / "ws", path, attachment_paths=[], body_md=f"![a]({path})", convert_images=True)
        assert [left["reason"] for left in shown["images_left"]] == ["forbidden"]
    assert (await send(app, base / "ws", "link", "RedFox"))["attachments"][0]["sha256"] == digest
