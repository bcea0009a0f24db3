"""Parameters that tools and resources of products share."""

from __future__ import annotations

from mcp_agent_mail.core.params import Text
from mcp_agent_mail.domain.products import MAX_NAME_LENGTH

PRODUCT_KEY = Text(max_length=MAX_NAME_LENGTH)
