"""Parameters that contact tools share with the macro that asks for a contact."""

from __future__ import annotations

from mcp_agent_mail.core.params import Duration, Flag, Text
from mcp_agent_mail.domain.contacts import MAX_TTL_S, MIN_TTL_S

REASON = Text(max_length=1_000, may_be_blank=True)
REGISTER = Flag(left_out=True)
"""Left out, a name is registered unless it is like another's."""

TTL = Duration(MAX_TTL_S, floor=MIN_TTL_S)
