"""`receipts/…/<seq>.jsonl`: who has read and acknowledged what, those of one commit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from mcp_agent_mail.core.ids import MOST_NUMBER, AgentId, MessageId
from mcp_agent_mail.domain.archive_format.artifacts import ArchivedReceipt, ArchivedReceipts
from mcp_agent_mail.domain.archive_format.json_text import compact
from mcp_agent_mail.domain.archive_format.layout import receipt_line
from mcp_agent_mail.domain.archive_format.names import safe_name
from mcp_agent_mail.domain.archive_format.parse.fields import Unfit, read_object, require_same
from mcp_agent_mail.domain.messages import ReceiptStep

_PLACE = re.compile(r"(?:agents/([^/]+)/)?receipts/([0-9]{4})/([0-9]{2})/([0-9]{2})/(0|[1-9][0-9]{0,17})\.jsonl")
_END = b"\n"


def parse_receipts(path: str, content: bytes) -> ArchivedReceipts:
    """Raises ValueError."""
    place = _PLACE.fullmatch(path)
    if place is None:
        raise Unfit("it does not lie where receipts belong")
    if int(place[5]) > MOST_NUMBER:
        raise Unfit(f"{place[5]} is too large a number")
    date(int(place[2]), int(place[3]), int(place[4]))
    if not content.endswith(_END):
        raise Unfit("its last newline is missing")
    lines = content[: -len(_END)].split(_END)
    receipts = tuple(_receipt(line, is_blind=place[1] is not None) for line in lines)
    if place[1] is not None and {one.agent for one in receipts} != {safe_name(place[1])}:
        raise Unfit("a receipt is not of the agent in whose folder it lies")
    return ArchivedReceipts(first_seq=int(place[5]), receipts=receipts)


def _receipt(line: bytes, *, is_blind: bool) -> ArchivedReceipt:
    fields = read_object(line)
    receipt = ArchivedReceipt(
        message_id=MessageId(fields.number("message_id")),
        agent_id=AgentId(fields.number("agent_id")),
        agent=safe_name(fields.text("agent")),
        step=fields.choice("step", ReceiptStep),
        at=fields.time("ts"),
        is_blind=is_blind,
    )
    require_same(line, fields, _line(receipt)[: -len(_END)], _written)
    return receipt


def render_receipts(receipts: Iterable[ArchivedReceipt]) -> bytes:
    """What rendering makes of the same values."""
    return b"".join(map(_line, receipts))


def _line(receipt: ArchivedReceipt) -> bytes:
    return receipt_line(
        {
            "message_id": receipt.message_id,
            "agent_id": receipt.agent_id,
            "agent": receipt.agent,
            "step": receipt.step.value,
            "ts": receipt.at,
        }
    )


def _written(values: Mapping[str, Any]) -> bytes:
    return compact(values).encode()
