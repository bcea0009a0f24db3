"""The parameters that messaging tools and resources share."""

from __future__ import annotations

from mcp_agent_mail.core.params import Choice, Count, Matching, Text
from mcp_agent_mail.domain.messages import Importance
from mcp_agent_mail.domain.threads import parse_thread_id, parse_topic

PROJECT = Text(max_length=1_100)
NAME = Text(max_length=1_100)
BODY = Text(max_length=64 * 1024 * 1024, may_be_blank=True, raw=True)  # MESSAGE_BODY_MAX_BYTES decides
IMPORTANCE = Choice(tuple(one.value for one in Importance))
LIMIT = Count(1, 1_000)
KEY = Text(max_length=200)
THREAD = Matching(parse_thread_id)
TOPIC = Matching(parse_topic)
