"""Mail that carries files, through a real server: sent, read, downloaded, and kept by Git; and without a server too."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.served import Connection, Served


def _png(side: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    pixels = zlib.compress((b"\0" + b"\x20\x40\x80" * side) * side)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


@dataclass
class World:
    server: Served
    connection: Connection
    code: Path

    def send(self, **arguments: Any) -> Any:
        given = {"project_key": str(self.code), "sender_name": "BlueLake", "to": ["RedStone"], "subject": "Plan"}
        return self.connection.call("send_message", **{**given, "body_md": "see", **arguments})


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    code = tmp_path / "code"
    code.mkdir()
    with Served(tmp_path / "store", HOME=str(tmp_path / "home")) as server, server.connect() as connection:
        connection.call("ensure_project", human_key=str(code))
        for name in ("BlueLake", "RedStone"):
            connection.call("register_agent", project_key=str(code), name=name, program="tests", model="none")
        yield World(server, connection, code)


def test_a_picture_and_a_file_arrive_as_they_are_kept(world: World) -> None:
    (world.code / "shot.png").write_bytes(_png(8))
    (world.code / "notes.txt").write_text("notes")

    sent = world.send(
        attachment_paths=["shot.png", "notes.txt"], body_md="![the screen](shot.png)", convert_images=True
    )
    (got,) = world.connection.call(
        "fetch_inbox", project_key=str(world.code), agent_name="RedStone", include_bodies=True
    )

    picture, notes = got["attachments"]
    data = base64.b64decode(picture["data_base64"])
    assert [one["name"] for one in sent["attachments"]] == ["shot.png", "notes.txt"]
    assert (picture["media_type"], picture["width"], picture["height"]) == ("image/webp", 8, 8)
    assert (hashlib.sha256(data).hexdigest(), len(data)) == (picture["sha256"], picture["bytes"])
    assert got["body_md"] == f"![the screen](/attachments/{picture['sha256'][:2]}/{picture['sha256']}.webp)"
    assert (notes["type"], notes["bytes"]) == ("file", 5)


def test_a_content_is_served_to_whoever_sees_the_mail(world: World) -> None:
    (world.code / "notes.txt").write_text("notes")
    (sent,) = world.send(attachment_paths=["notes.txt"])["attachments"]
    slug = world.connection.call("ensure_project", human_key=str(world.code))["slug"]
    where = f"http://127.0.0.1:{world.server.port}/attachments/{slug}/{sent['sha256']}"

    whole = httpx.get(where)
    part = httpx.get(where, headers={"Range": "bytes=1-2"})
    known = httpx.get(where, headers={"If-None-Match": whole.headers["etag"]})
    head = httpx.head(where)
    blob = world.connection.mcp("resources/read", uri=f"resource://attachment/{sent['sha256']}")["result"]

    assert (whole.status_code, whole.text) == (200, "notes")
    assert whole.headers.get_list("cache-control") == known.headers.get_list("cache-control") == ["no-store"]
    assert (part.status_code, part.text) == (206, "ot")
    assert (known.status_code, head.status_code, head.headers["content-length"]) == (304, 200, "5")
    assert blob["contents"] == [
        {
            "uri": f"resource://attachment/{sent['sha256']}",
            "mimeType": "text/plain",
            "blob": base64.b64encode(b"notes").decode(),
        }
    ]


def _am(world: World, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    known = {**world.server.environment(), "AGENT_MAIL_PROJECT": str(world.code), **environment}
    command = [sys.executable, "-m", "mcp_agent_mail", *arguments]
    return subprocess.run(
        command, cwd=world.code.parent, env=known, capture_output=True, text=True, timeout=60, check=False
    )


def test_a_person_sends_any_file_and_saves_what_came_with_a_server_and_without(world: World) -> None:
    elsewhere = world.code.parent / "private.txt"
    elsewhere.write_text("notes")
    digest = hashlib.sha256(b"notes").hexdigest()

    sent = _am(world, "mail", "send", "--to", "RedStone", "--attach", "private.txt", "Look", "--json")
    saved = _am(world, "mail", "attachment", digest, "-o", "beside.txt", "--json")
    again = _am(world, "mail", "attachment", digest, "-o", "beside.txt")
    world.server.stop()
    alone = _am(world, "mail", "attachment", digest, "-o", "alone.txt")
    world.server.start()

    assert json.loads(sent.stdout)["attachments"][0]["name"] == "private.txt", sent.stderr
    assert json.loads(saved.stdout) == {
        "file": str(world.code.parent / "beside.txt"),
        "bytes": 5,
        "sha256": digest,
    }, saved.stderr
    assert (again.returncode, "--force" in again.stderr) == (1, True)
    assert alone.returncode == 0, alone.stderr
    for name in ("beside.txt", "alone.txt"):
        assert (world.code.parent / name).read_text() == "notes"


def test_an_agent_is_lent_nothing_outside(world: World) -> None:
    (world.code.parent / "private.txt").write_text("secret")

    for path in (world.code.parent / "private.txt", world.server.root / "operator.token", world.server.database):
        answer = world.connection.tool(
            "send_message",
            project_key=str(world.code),
            sender_name="BlueLake",
            to=["RedStone"],
            subject="Plan",
            body_md="see",
            attachment_paths=[str(path)],
        )
        assert answer["structuredContent"]["error"]["type"] == "INVALID_INPUT"


def test_a_caller_that_a_proxy_speaks_for_lends_no_path(world: World) -> None:
    (world.code / "notes.txt").write_text("notes")
    given = {"project_key": str(world.code), "sender_name": "BlueLake", "to": ["RedStone"], "subject": "Plan"}

    def post(path: str, **headers: str) -> httpx.Response:
        body = {**given, "body_md": "see", "attachment_paths": [path]}
        return httpx.post(f"http://127.0.0.1:{world.server.port}/rpc/send_message", json=body, headers=headers)

    forwarded = post("notes.txt", **{"X-Forwarded-For": "192.0.2.7"})
    data = post("data:text/plain,notes", **{"X-Real-IP": "192.0.2.7"})

    assert (forwarded.status_code, forwarded.json()["error"]["type"]) == (400, "INVALID_INPUT")
    assert data.status_code == 200
    assert post("notes.txt").status_code == 200
    assert json.loads(data.text)["attachments"][0]["bytes"] == 5


def test_what_was_being_written_when_a_server_was_killed_is_gone_once_the_next_one_serves(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir(mode=0o700)
    staged = tmp_path / "store" / "attachments" / "staged"
    staged.mkdir(parents=True)
    (staged / "half").write_bytes(b"half of it")
    (staged / "a persons folder").mkdir()

    with Served(tmp_path / "store", HOME=str(tmp_path / "home")):
        assert [path.name for path in staged.iterdir()] == ["a persons folder"]
