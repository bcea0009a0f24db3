from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_agent_mail.domain.archive_format.json_text import document
from mcp_agent_mail.domain.archive_format.redaction import HistoryVerdict, Redaction

_TAIL = "2026/11/0-499/2026-11-21T21-00-00Z__plan__{}.md"
_ATTACHMENT = f"attachments/aa/{'a' * 64}.png"


def _mail(to: list[str], *, bcc: tuple[str, ...] = (), **more: Any) -> bytes:  # a head's own values
    listed = [{"kind": "to", "name": name} for name in to] + [{"kind": "bcc", "name": name} for name in bcc]
    head = {"from": "Blue", "to": to, "cc": [], "bcc": list(bcc), "recipients": listed, "attachments": []}
    return b"---json\n" + document(head | more) + b"---\nbody\n"


def _learnt(**files: bytes) -> Redaction:
    """By the path's last part: box and number."""
    redaction = Redaction()
    for path in files:
        redaction.learn(path, path, files.__getitem__)
    return redaction


def _in(box: str, number: int) -> str:
    return f"{box}/{_TAIL.format(number)}"


OPEN, PRIVATE, BLIND, FROM_ELSEWHERE = 7, 8, 9, 10


@pytest.fixture
def redaction() -> Redaction:
    carried = [{"path": _ATTACHMENT}]
    return _learnt(
        **{
            _in("messages", OPEN): _mail(["Red"], attachments=carried),
            _in("messages", PRIVATE): _mail(["Ghost"], private=True, attachments=[{"path": _other()}]),
            _in("messages", BLIND): _mail(["Red"]),
            _in("agents/Blue/outbox", BLIND): _mail(["Red"], bcc=("Fox", "Owl@lib")),
            _in("agents/Fox/inbox", BLIND): _mail(["Red"]),
            _in("agents/Elk/inbox", FROM_ELSEWHERE): _mail(["Red@app"], attachments=[{"path": _third()}]),
        }
    )


def _third() -> str:
    return f"attachments/cc/{'c' * 64}.png"


def _other() -> str:
    return f"attachments/bb/{'b' * 64}.png"


@pytest.mark.parametrize(
    ("path", "verdict"),
    [
        (_in("messages", OPEN), HistoryVerdict.KEEP),
        (_in("agents/Red/inbox", OPEN), HistoryVerdict.KEEP),
        (_in("agents/Blue/outbox", OPEN), HistoryVerdict.KEEP),
        (_in("messages", PRIVATE), HistoryVerdict.DROP),
        (_in("agents/Ghost/inbox", PRIVATE), HistoryVerdict.DROP),
        (_in("agents/Blue/outbox", PRIVATE), HistoryVerdict.DROP),
        (_in("messages", BLIND), HistoryVerdict.KEEP),
        (_in("agents/Red/inbox", BLIND), HistoryVerdict.KEEP),
        (_in("agents/Fox/inbox", BLIND), HistoryVerdict.DROP),
        (_in("agents/Blue/outbox", BLIND), HistoryVerdict.REWRITE),
        (_in("agents/Elk/inbox", FROM_ELSEWHERE), HistoryVerdict.DROP),
        (_third(), HistoryVerdict.DROP),
        ("receipts/2026/11/21/5.jsonl", HistoryVerdict.REWRITE),
        ("agents/Fox/receipts/2026/11/21/5.jsonl", HistoryVerdict.DROP),
        (f"agents/Blue/overdue/2026/11/0-499/id-{OPEN}.json", HistoryVerdict.KEEP),
        (f"agents/Blue/overdue/2026/11/0-499/id-{PRIVATE}.json", HistoryVerdict.DROP),
        (f"agents/Blue/overdue/2026/11/0-499/id-{BLIND}.json", HistoryVerdict.DROP),
        ("contacts/Blue/Red.json", HistoryVerdict.KEEP),
        ("contacts/Blue/Ghost.json", HistoryVerdict.DROP),
        ("contacts/Owl@lib/Blue.json", HistoryVerdict.DROP),
        ("contacts/Fox/Red.json", HistoryVerdict.KEEP),
        (_ATTACHMENT, HistoryVerdict.KEEP),
        (_other(), HistoryVerdict.DROP),
        ("agents/Ghost/profile.json", HistoryVerdict.KEEP),
        ("archive.json", HistoryVerdict.KEEP),
        ("notes/mine.md", HistoryVerdict.KEEP),
    ],
)
def test_each_file_is_judged_by_what_all_files_tell(redaction: Redaction, path: str, verdict: HistoryVerdict) -> None:
    assert redaction.verdict(path) is verdict


def test_a_senders_copy_loses_its_blind_recipients_and_nothing_else(redaction: Redaction) -> None:
    path = _in("agents/Blue/outbox", BLIND)

    assert redaction.rewritten(path, _mail(["Red"], bcc=("Fox", "Owl@lib"))) == _mail(["Red"])


def test_lines_of_what_is_hidden_leave_the_receipts(redaction: Redaction) -> None:
    lines = [
        json.dumps({"agent": agent, "message_id": number}).encode() + b"\n"
        for agent, number in (("Red", BLIND), ("Fox", BLIND), ("Fox", OPEN), ("Ghost", PRIVATE))
    ]

    kept = redaction.rewritten("receipts/2026/11/21/5.jsonl", b"".join([*lines, b"torn\n"]))

    assert kept == lines[0] + lines[2]


@pytest.mark.parametrize("content", [b"", b"---json\n[]\n}\n---\n", b"---json\n{\n}\n---\n", b"no head"])
def test_mail_that_cannot_be_read_is_dropped_wherever_it_lies(content: bytes) -> None:
    redaction = _learnt(**{_in("messages", 1): content})

    assert redaction.verdict(_in("agents/Red/inbox", 1)) is HistoryVerdict.DROP


_TRAILERS = "\n\nAgent: {}\nOutbox-Seq: 5\n"


@pytest.mark.parametrize(
    ("told", "author", "shown", "keeps"),
    [
        (f"Red read {BLIND}" + _TRAILERS.format("Red"), "Red", f"Red read {BLIND}" + _TRAILERS.format("Red"), True),
        (f"Fox read {BLIND}" + _TRAILERS.format("Fox"), "Fox", "archive: records\n\nOutbox-Seq: 5\n", False),
        (
            f"mail: Fox -> Red | x (+1)\n\nmail: Fox -> Red | x\nFox read {BLIND}" + _TRAILERS.format("Fox"),
            "Fox",
            "mail: Fox -> Red | x\n\nmail: Fox -> Red | x" + _TRAILERS.format("Fox"),
            True,
        ),
        (
            f"Fox read {BLIND}\n\nAgent: Fox\nDid: Fox receipt\nOutbox-Seq: 5\n",
            "Fox",
            "archive: records\n\nOutbox-Seq: 5\n",
            False,
        ),
        (f"mail: Blue -> Red | Fox read {BLIND}", "Blue", f"mail: Blue -> Red | Fox read {BLIND}", True),
    ],
)
def test_a_commit_tells_of_no_receipt_that_is_hidden(
    redaction: Redaction, told: str, author: str, shown: str, keeps: bool
) -> None:
    assert redaction.shown_message(told, author) == (shown, keeps)
