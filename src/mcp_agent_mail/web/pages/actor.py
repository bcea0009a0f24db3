"""What every act of the person needs, and the pages to write on: a session of the operator's, who alone is `Human`."""

from __future__ import annotations

from mcp_agent_mail.core.errors import PermissionDenied
from mcp_agent_mail.web.context import PageContext
from mcp_agent_mail.web.refusals import AS_OPERATOR


class HumanRequired(PermissionDenied):
    """Whoever may read here does not write in the person's name by that."""


def require_human(page: PageContext) -> None:
    """Raise HumanRequired unless the page is asked for in a session of the operator."""
    if page.request.session is None or not page.caller.is_operator:
        raise HumanRequired(
            "Only the operator writes and marks mail as Human.",
            hint=AS_OPERATOR,
        )
