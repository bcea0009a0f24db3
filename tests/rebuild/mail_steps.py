"""Steps of mail: sent, answered, read, acknowledged, purged, told of when overdue; with all sorts of texts."""

from __future__ import annotations

import base64
from typing import Any

from PIL import Image

from mcp_agent_mail.core.clock import SECOND, Micros, iso
from tests.image_samples import encoded
from tests.rebuild.history import THREADS, TOPICS, History, Somebody, Step

SUBJECTS = (
    "Plan",
    "Re: Plan",
    "  Größe / *x* ",
    "計画について",
    "a" * 200,
    "-_-",
    "line\nbreak",
    "`code_name` and more",
)
BODIES = (
    "",
    "body",
    "two\n\nends\n\n",
    "---\n{\n}\n---\nno front matter",
    "windows\r\nlines\r\n",
    "next\x85line\u2028sep\x0bvt\x1ftab\t",
    "`store/engine/writer.py` calls write_soon() in Writer.write",
    "計画は明日です。 Größe ß İ",
    "TODO: write the tests\nDecision: use SQLite\nQuestion: why?",
    "😀 " * 40,
)
IMPORTANCES = ("low", "normal", "normal", "high", "urgent")
FILES = ("notes.txt", "table.csv", "deep/page.html")


def _letter(history: History) -> dict[str, Any]:
    chance = history.chance
    letter: dict[str, Any] = {
        "body_md": f"{chance.choice(BODIES)}{history.number() if history.luck(0.7) else ''}",
        "importance": chance.choice(IMPORTANCES),
        "ack_required": history.luck(0.4),
    }
    if history.luck(0.2):
        letter["attachment_paths"] = [_carried(history) for _ in range(chance.randint(1, 3))]
    if history.luck(0.15):
        letter["idempotency_key"] = f"key-{chance.randint(1, 6)}"
    return letter


def _carried(history: History) -> str:
    if history.luck(0.2):
        row = history.some("SELECT sha256 FROM content_messages ORDER BY sha256")
        if row is not None:
            return f"sha256:{row[0]}"
    if history.luck(0.5):
        return history.chance.choice(FILES)
    text = f"data {history.chance.randint(1, 4)}".encode()
    return f"data:text/plain;base64,{base64.b64encode(text).decode()}"


def _recipients(history: History, sender: Somebody) -> dict[str, list[str]]:
    def some(most: int) -> list[str]:
        return [history.neighbour(sender) for _ in range(history.chance.randint(1, most))]

    given = {"to": some(3)}
    if history.luck(0.2):
        given["cc"] = some(2)
    if history.luck(0.2):
        given["bcc"] = some(2)
    if history.luck(0.03):
        given["to"].append("Human")
    return given


async def send(history: History) -> None:
    sender = history.anybody()
    more: dict[str, Any] = {}
    if history.luck(0.5):
        more["thread_id"] = _thread(history)
    if history.luck(0.4):
        more["topic"] = history.chance.choice(TOPICS)
    if history.luck(0.1):
        more["auto_contact_if_blocked"] = history.luck(0.5)
    if history.luck(0.15):
        more["valid_until"] = iso(Micros(history.world.clock.now + history.chance.choice([1, 5, 60, 600]) * SECOND))
    if history.luck(0.15) and (earlier := _own_message(history, sender)) is not None:
        more["supersedes"] = earlier
    subject = history.chance.choice(SUBJECTS)
    who = {"project_key": sender.project, "sender_name": sender.name, "subject": subject}
    call = {**who, **_recipients(history, sender), **_letter(history), **more}
    await history.do("send_message", **call)
    if "idempotency_key" in call and history.luck(0.5):
        await history.do("send_message", **call)


def _own_message(history: History, sender: Somebody) -> int | None:
    """One of the last that the agent sent."""
    row = history.some(
        "SELECT m.id FROM messages m JOIN agents a ON a.id = m.sender_id JOIN projects p ON p.id = a.project_id "
        "WHERE a.name = ? AND p.human_key = ? ORDER BY m.id DESC LIMIT 6",
        sender.name,
        sender.project,
    )
    return None if row is None else int(row[0])


async def withdraw(history: History) -> None:
    sender = history.anybody()
    message_id = _own_message(history, sender)
    if message_id is None:
        return
    more = {"reason": history.chance.choice(SUBJECTS)} if history.luck(0.5) else {}
    who = {"project_key": sender.project, "sender_name": sender.name}
    await history.do("withdraw_message", **who, message_id=message_id, **more)


def _thread(history: History) -> str:
    row = history.some("SELECT id FROM messages ORDER BY id DESC LIMIT 20") if history.luck(0.4) else None
    return history.chance.choice(THREADS) if row is None else str(row[0])


async def broadcast(history: History) -> None:
    sender = history.anybody()
    who = {"project_key": sender.project, "sender_name": sender.name, "subject": "To all", "broadcast": True}
    await history.do("send_message", **who, **_letter(history))


async def send_image(history: History) -> None:
    """Converted by a child process, so it is rare: one that stands in the body, and one that is attached."""
    sender = history.anybody()
    image = Image.new("RGB", (8, 8), (history.chance.randint(0, 255), 0, 0))
    uri = f"data:image/png;base64,{base64.b64encode(encoded(image, 'PNG')).decode()}"
    await history.do(
        "send_message",
        project_key=sender.project,
        sender_name=sender.name,
        subject="Picture",
        body_md=f"![a picture]({uri}) and ![none](nothing.png)",
        to=[history.neighbour(sender)],
        attachment_paths=[uri],
    )


async def reply(history: History) -> None:
    row = history.some(
        "SELECT r.message_id, a.name, p.human_key, p.slug FROM recipients r JOIN agents a ON a.id = r.agent_id "
        "JOIN projects p ON p.id = a.project_id WHERE r.delivery_seq IS NOT NULL OR r.held_code IS NOT NULL "
        "ORDER BY r.message_id DESC LIMIT 60"
    )
    if row is None:
        return
    message_id, name, project, slug = row
    replier = Somebody(name=name, project=project, slug=slug)
    more: dict[str, Any] = {"acknowledge": True} if history.luck(0.4) else {}
    if history.luck(0.2):
        more |= _recipients(history, replier)
    await history.do(
        "reply_message",
        project_key=project,
        message_id=message_id,
        sender_name=name,
        **_letter(history),
        **more,
    )


async def mark(history: History) -> None:
    await _mark(history, "mark_message_read")


async def acknowledge(history: History) -> None:
    await _mark(history, "acknowledge_message")


async def _mark(history: History, tool: str) -> None:
    reader = history.anybody(retired=history.luck(0.1))
    rows = history.world.rows(
        "SELECT r.message_id FROM recipients r JOIN agents a ON a.id = r.agent_id "
        "JOIN projects p ON p.id = a.project_id WHERE p.human_key = ? AND a.name = ? ORDER BY r.message_id",
        reader.project,
        reader.name,
    )
    ids = [row[0] for row in rows]
    if not ids:
        return
    who = {"project_key": reader.project, "agent_name": reader.name}
    if history.luck(0.3):
        await history.do(tool, **who, message_ids=history.chance.sample(ids, min(len(ids), 4)))
    else:
        await history.do(tool, **who, message_id=history.chance.choice(ids))


async def look_and_mark(history: History) -> None:
    reader = history.anybody()
    who = {"project_key": reader.project, "agent_name": reader.name}
    await history.do("fetch_inbox", **who, limit=3, unread_only=True, mark_read=True)


async def purge(history: History) -> None:
    days = history.chance.choice([1, 1, 2, 10])
    await history.do_as_operator(
        "purge_old_messages", project_key=history.project(), max_age_days=days, dry_run=history.luck(0.1)
    )


async def tell_overdue(history: History) -> None:
    worker = history.world.services.workers.overdue
    assert worker is not None
    await history.act("overdue", worker.look())


STEPS = (
    Step(("send_message",), 30, send),
    Step(("send_message",), 3, broadcast),
    Step(("send_message",), 0.15, send_image),
    Step(("reply_message",), 14, reply),
    Step(("mark_message_read",), 10, mark),
    Step(("acknowledge_message",), 10, acknowledge),
    Step(("fetch_inbox",), 3, look_and_mark),
    Step(("withdraw_message",), 5, withdraw),
    Step(("purge_old_messages",), 2, purge),
    Step(("overdue",), 2, tell_overdue),
)
