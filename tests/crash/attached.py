"""What clients attach: text and images as `data:` URIs, files, and what came with mail before."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from pathlib import Path
from typing import Any

from PIL import Image

from tests.crash.actor import Actor
from tests.image_samples import encoded
from tests.served import Connection

SHARE = 0.3
"""Of all that is sent, so much carries something."""


def chosen(actor: Actor, connection: Connection) -> dict[str, list[str]]:
    """The argument that a send has more, if it carries anything."""
    if actor.chance.random() >= SHARE:
        return {}
    ways = (_text, _image, _file, _known)
    paths = [path for way in actor.chance.sample(ways, actor.chance.randint(1, 2)) for path in way(actor, connection)]
    return {"attachment_paths": paths} if paths else {}


def carried(payload: dict[str, Any]) -> tuple[str, ...]:
    """The digests of what a message carries, as an answer has them."""
    return tuple(one["sha256"] for one in payload["attachments"])


def faults_of_contents(root: Path, digests: set[str]) -> list[str]:
    """What of these is not beside the database, or not what its name says."""
    faults = []
    for sha256 in sorted(digests):
        place = root / "attachments" / sha256[:2] / sha256
        if not place.is_file():
            faults.append(f"content {sha256} is lost")
        elif hashlib.sha256(place.read_bytes()).hexdigest() != sha256:
            faults.append(f"content {sha256} holds something else")
    return faults


def _text(actor: Actor, _connection: Connection) -> list[str]:
    return [f"data:text/plain,{actor.unique()}"]


def _image(actor: Actor, _connection: Connection) -> list[str]:
    colour = tuple(actor.chance.randbytes(3))
    content = encoded(Image.new("RGB", (24, 16), colour), "PNG")
    return [f"data:image/png;base64,{b64encode(content).decode()}"]


def _file(actor: Actor, _connection: Connection) -> list[str]:
    path = actor.files / f"{actor.unique()}.txt"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(actor.chance.randbytes(actor.chance.randint(1, 20_000)))
    return [str(path)]


def _known(actor: Actor, connection: Connection) -> list[str]:
    inbox = actor.ask(connection, "fetch_inbox", agent_name=actor.me, limit=20) or []
    known = [sha256 for item in inbox for sha256 in carried(item)]
    return [f"sha256:{actor.chance.choice(known)}"] if known else []
