from __future__ import annotations

import pytest

from mcp_agent_mail.domain.archive_format.parse.receipts import parse_receipts

LINE = (
    b'{"agent": "RedStone", "agent_id": 12, "message_id": 7, "step": "read", '
    b'"ts": "2026-11-21T21:00:00.123460+00:00"}\n'
)


def test_a_receipt_for_a_blind_copy_lies_with_its_agent() -> None:
    (receipt,) = parse_receipts("agents/RedStone/receipts/2026/11/21/4.jsonl", LINE).receipts

    assert (receipt.agent, receipt.is_blind) == ("RedStone", True)


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("agents/BlueLake/receipts/2026/11/21/4.jsonl", LINE),
        ("receipts/2026/02/30/4.jsonl", LINE),
        (f"receipts/2026/11/21/{(1 << 53) + 1}.jsonl", LINE),
        ("receipts/2026/11/21/04.jsonl", LINE),
        ("receipts/2026/11/21/4.jsonl", LINE + b"\n"),
        ("receipts/2026/11/21/4.jsonl", LINE[:-1]),
        ("receipts/2026/11/21/4.jsonl", b"\n"),
        ("receipts/2026/11/21/4.jsonl", b""),
        ("receipts/2026/11/21/4.jsonl", LINE.replace(b": 12", b":  12")),
        ("receipts/2026/11/21/4.jsonl", LINE.replace(b"RedStone", b"Red/Stone")),
    ],
)
def test_other_lines_or_another_place_are_not_read(path: str, content: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_receipts(path, content)
