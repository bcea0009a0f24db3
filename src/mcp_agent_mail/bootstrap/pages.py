"""What the pages for people need of the settings."""

from __future__ import annotations

import secrets

from mcp_agent_mail.bootstrap.services import PageServices
from mcp_agent_mail.core.clock import Clock
from mcp_agent_mail.core.ids import token_hash
from mcp_agent_mail.core.roles import ROLES_BY_WORD
from mcp_agent_mail.core.settings.kinds import shown
from mcp_agent_mail.core.settings.rows import ROWS
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.features.history.past_inboxes import StorePlaces
from mcp_agent_mail.features.history.service import HistoryService
from mcp_agent_mail.features.introspection.usage import Usage
from mcp_agent_mail.features.issued_tokens.book import IssuedTokenBook
from mcp_agent_mail.features.oversight.activity import OversightActivity
from mcp_agent_mail.features.oversight.events import OversightEvents
from mcp_agent_mail.features.oversight.human_mail import HumanMailService
from mcp_agent_mail.features.oversight.mail_search import OversightSearch
from mcp_agent_mail.features.oversight.people import PeopleService
from mcp_agent_mail.features.oversight.recipient_groups import GroupService
from mcp_agent_mail.features.oversight.server_history import FigureHistory
from mcp_agent_mail.features.oversight.service import OversightService
from mcp_agent_mail.features.oversight.siblings import SiblingService
from mcp_agent_mail.features.projects.identities import Identities
from mcp_agent_mail.features.web_sessions.service import WebSessionService
from mcp_agent_mail.features.web_sessions.token_roles import TokenRoles
from mcp_agent_mail.notify.bus import CopyBus, OversightBus
from mcp_agent_mail.store.database import Store

_RUN_BYTES = 6


def page_services(
    settings: Settings, store: Store, identities: Identities, book: IssuedTokenBook, usage: Usage, clock: Clock
) -> PageServices:
    """An acknowledgement is late after ACK_TTL_SECONDS."""
    return PageServices(
        sessions=WebSessionService(store, tokens=_tokens(settings, book), clock=clock),
        human_mail=HumanMailService(store),
        oversight=OversightService(store, late_after_s=settings.ack_ttl_seconds),
        people=PeopleService(store),
        siblings=SiblingService(store, identities),
        groups=GroupService(store),
        history=HistoryService(store, places=StorePlaces(storage_root=settings.storage_root), clock=clock),
        events=_events(store),
        activity=OversightActivity(store, usage),
        search=OversightSearch(store),
        figures=FigureHistory(store, usage, _shown_settings(settings), clock=clock),
    )


def _tokens(settings: Settings, book: IssuedTokenBook) -> TokenRoles:
    token = settings.http_bearer_token
    return TokenRoles(
        find_issued=book.find_live,
        server_token_hash=token_hash(token.reveal()) if token else None,
        server_role=ROLES_BY_WORD[settings.http_bearer_role],
        has_roles=settings.http_rbac_enabled,
    )


def _events(store: Store) -> OversightEvents:
    async def settle() -> None:
        await store.write(lambda _: None)

    copies, oversight = CopyBus(store.on_copy_change), OversightBus(store.on_oversight_change)
    return OversightEvents(copies, oversight, settle, run=secrets.token_hex(_RUN_BYTES))


def _shown_settings(settings: Settings) -> list[tuple[str, str]]:
    """As `am config show` has them: secrets masked."""
    return [(row.name, shown(getattr(settings, row.attribute))) for row in ROWS]
