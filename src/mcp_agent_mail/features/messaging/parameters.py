"""The parameters that messaging tools and resources share."""

from __future__ import annotations

from mcp_agent_mail.core.params import Choice, Matching, Text
from mcp_agent_mail.domain.messages import Importance
from mcp_agent_mail.domain.threads import parse_thread_id, parse_topic

BODY = Text(max_length=64 * 1024 * 1024, may_be_blank=True, raw=True)  # MESSAGE_BODY_MAX_BYTES decides
IMPORTANCE = Choice(tuple(one.value for one in Importance))
THREAD = Matching(parse_thread_id)
TOPIC = Matching(parse_topic)
