"""Receipts: the steps a recipient made true. Only `read` and `acknowledged` are kept in the archive."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, MessageId


class ReceiptStep(StrEnum):
    READ = "read"
    ACKNOWLEDGED = "acknowledged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """`agent` made `step` true for `message_id` at `at`; the first time stands for good.

    `is_blind`: for a blind copy. It is told where the copy lies, and nowhere else.
    """

    message_id: MessageId
    agent_id: AgentId
    agent: str
    step: ReceiptStep
    at: Micros
    is_blind: bool = False
