"""What the pages for people need of the settings."""

from __future__ import annotations

from mcp_agent_mail.bootstrap.services import PageServices
from mcp_agent_mail.core.clock import Clock
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.features.issued_tokens.book import IssuedTokenBook
from mcp_agent_mail.features.oversight.human_mail import HumanMailService
from mcp_agent_mail.features.oversight.people import PeopleService
from mcp_agent_mail.features.oversight.service import OversightService
from mcp_agent_mail.features.web_sessions.service import WebSessionService
from mcp_agent_mail.store.database import Store


def page_services(settings: Settings, store: Store, book: IssuedTokenBook, clock: Clock) -> PageServices:
    """Sessions that HTTP_BEARER_TOKEN opened end with it; an acknowledgement is late after ACK_TTL_SECONDS."""
    token = settings.http_bearer_token
    server_token = token.reveal() if token else None
    return PageServices(
        sessions=WebSessionService(store, is_live_token=book.is_live, server_token=server_token, clock=clock),
        human_mail=HumanMailService(store),
        oversight=OversightService(store, late_after_s=settings.ack_ttl_seconds),
        people=PeopleService(store),
    )
