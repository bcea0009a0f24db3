"""All services of a server together: started, woken and closed as one."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import field

from mcp_agent_mail.bootstrap.attachments import AttachmentParts
from mcp_agent_mail.bootstrap.custom_tools import CustomTools
from mcp_agent_mail.core.concurrency.keeper import STOP_WITHIN_S, Keeper
from mcp_agent_mail.core.concurrency.looks import Looks
from mcp_agent_mail.core.errors import listed
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.tools import ToolTable
from mcp_agent_mail.features.archiving.service import ArchivingService
from mcp_agent_mail.features.build_slots.service import BuildSlotService
from mcp_agent_mail.features.completion.service import SuggestionService
from mcp_agent_mail.features.contacts.service import ContactService
from mcp_agent_mail.features.delivery.marks import DeliveryMarks
from mcp_agent_mail.features.delivery.service import DeliveryService
from mcp_agent_mail.features.delivery.subscriptions import Subscriptions
from mcp_agent_mail.features.doors.mailbox_service import MailboxService
from mcp_agent_mail.features.doors.service import DoorService
from mcp_agent_mail.features.doors.window_service import WindowMailboxService
from mcp_agent_mail.features.guarding.install import GuardInstallation
from mcp_agent_mail.features.guarding.service import GuardingService
from mcp_agent_mail.features.guarding.spool import SpoolDrain
from mcp_agent_mail.features.health.service import HealthService
from mcp_agent_mail.features.history.service import HistoryService
from mcp_agent_mail.features.identity.activity import Activity
from mcp_agent_mail.features.identity.join_codes import JoinCodeService
from mcp_agent_mail.features.identity.service import IdentityService
from mcp_agent_mail.features.identity.windows import WindowService
from mcp_agent_mail.features.importing.service import ImportService
from mcp_agent_mail.features.introspection.recording import Recording
from mcp_agent_mail.features.issued_tokens.book import IssuedTokenBook
from mcp_agent_mail.features.issued_tokens.service import IssuedTokenService
from mcp_agent_mail.features.macros.service import MacroService
from mcp_agent_mail.features.messaging.service import MessagingService
from mcp_agent_mail.features.oversight.activity import OversightActivity
from mcp_agent_mail.features.oversight.events import OversightEvents
from mcp_agent_mail.features.oversight.human_mail import HumanMailService
from mcp_agent_mail.features.oversight.mail_search import OversightSearch
from mcp_agent_mail.features.oversight.people import PeopleService
from mcp_agent_mail.features.oversight.recipient_groups import GroupService
from mcp_agent_mail.features.oversight.server_history import FigureHistory
from mcp_agent_mail.features.oversight.service import OversightService
from mcp_agent_mail.features.oversight.siblings import SiblingService
from mcp_agent_mail.features.products.service import ProductService
from mcp_agent_mail.features.projects.path_resolution import PathResolver
from mcp_agent_mail.features.projects.service import ProjectService
from mcp_agent_mail.features.reservations.force_release import ForceService
from mcp_agent_mail.features.reservations.service import ReservationService
from mcp_agent_mail.features.reservations.staleness import Staleness
from mcp_agent_mail.features.reservations.sweeper import Sweeper
from mcp_agent_mail.features.search.service import SearchService
from mcp_agent_mail.features.summaries.service import SummaryService
from mcp_agent_mail.features.web_sessions.service import WebSessionService
from mcp_agent_mail.workers import Workers
from mcp_agent_mail.workspace.facts import Workspaces

_log = logging.getLogger("mcp_agent_mail.server")
_SHARES = 4
"""Of a stop's time one part goes to passes that are under way; the archive gets what is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseServices:
    """What file reservations and build slots share, and what works with both."""

    workspaces: Workspaces
    staleness: Staleness
    reservations: ReservationService
    sweeper: Sweeper
    force: ForceService
    build_slots: BuildSlotService


@dataclass(frozen=True, slots=True, kw_only=True)
class PageServices:
    """What the pages for people have alone: who is signed in, and what is seen over all projects, and looking back."""

    sessions: WebSessionService
    oversight: OversightService
    human_mail: HumanMailService
    people: PeopleService
    siblings: SiblingService
    groups: GroupService
    history: HistoryService
    events: OversightEvents
    activity: OversightActivity
    search: OversightSearch
    figures: FigureHistory


@dataclass(slots=True, kw_only=True)
class Services:
    """Everything a server, or a command in its place, works with. `close` comes before the store's.

    The tables come last: they are made of the services.
    """

    projects: ProjectService
    identity: IdentityService
    windows: WindowService
    join_codes: JoinCodeService
    issued_tokens: IssuedTokenService
    token_book: IssuedTokenBook
    pages: PageServices
    guard_installation: GuardInstallation
    guarding: GuardingService
    guard_spool: SpoolDrain
    contacts: ContactService
    attachments: AttachmentParts
    messaging: MessagingService
    delivery: DeliveryService
    delivery_marks: DeliveryMarks
    doors: DoorService
    importing: ImportService
    window_mailboxes: WindowMailboxService
    mailboxes: MailboxService
    subscriptions: Subscriptions
    search: SearchService
    summaries: SummaryService
    products: ProductService
    archiving: ArchivingService
    health: HealthService
    activity: Activity
    recording: Recording
    leases: LeaseServices
    workers: Workers
    looks: Looks
    custom: CustomTools = field(default_factory=CustomTools)
    """What other packages hand in."""
    also_kept: list[Keeper] = field(default_factory=list)
    """What keeps the server's own tasks at work."""
    macros: MacroService = field(init=False)
    suggestions: SuggestionService = field(init=False)
    resolver: PathResolver = field(init=False)
    tools: ToolTable = field(init=False)
    streams: ToolTable = field(init=False)
    """What opens streams of events."""
    resources: ResourceTable = field(init=False)

    def start(self) -> None:
        """Start all that works beside the requests. Commands without a server leave it out."""
        self.archiving.start()
        self.guard_spool.start()
        self.leases.sweeper.start()
        self.workers.start()
        self.recording.start()
        self.pages.figures.keeper.start()

    def wake(self) -> None:
        """A stop begins: whoever waits is told, so that the last answers can go out."""
        self.leases.reservations.wake()
        self.delivery.waiters.close()
        self.pages.events.close()

    def keepers(self) -> list[Keeper]:
        """The keeper of every task that works beside the requests."""
        own = (
            self.archiving.keeper,
            self.archiving.waker,
            self.guard_spool.keeper,
            self.leases.sweeper.keeper,
            self.activity.keeper,
            self.token_book.keeper,
            self.delivery_marks.keeper,
            self.pages.figures.keeper,
        )
        return [*own, *self.workers.keepers(), *self.recording.keepers(), *self.also_kept]

    def all_looks(self) -> list[Looks]:
        """Of projects' directories, of repositories with a guard, of archives, of those that workers look at."""
        return [self.looks, self.guard_installation.looks, *self.pages.history.all_looks(), *self.workers.looks()]

    async def close(self, *, timeout_s: float) -> None:
        """Write what is only in memory, then let the archiver commit what is pending, all in `timeout_s`.

        No look at a directory is waited for: it may hang.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        self.looks.close()
        self.guard_installation.looks.close()
        self.wake()
        self.doors.close()
        patience_s = min(STOP_WITHIN_S, timeout_s / _SHARES)
        await asyncio.gather(
            self.leases.sweeper.stop(patience_s),
            self.workers.stop(patience_s),
            self.guard_spool.close(patience_s),
            self.recording.stop(),
            self.pages.figures.keeper.stop(patience_s),
            self.attachments.close(),
            self._leave_calls(patience_s),
        )
        await self.activity.close()
        await self.token_book.close()
        await self.delivery_marks.close()
        await self.archiving.stop(max(0.0, deadline - loop.time()))

    async def _leave_calls(self, patience_s: float) -> None:
        if names := await self.custom.left.settle(patience_s):
            _log.error(
                "%s of CUSTOM_TOOLS did not end when the server stopped. What of it goes on finds the store closed.",
                listed(names, "and"),
            )
