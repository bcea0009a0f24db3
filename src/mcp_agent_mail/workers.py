"""Signals, webhooks, overdue acknowledgements, mail that nobody sees, retention, the look at the store's size, what
archives are told later, what feeds need, and the look for those who wait, which work beside the requests: made,
started, stopped and shown together.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict

from mcp_agent_mail.archive.attachments import AttachmentFiles
from mcp_agent_mail.core.clock import Clock, iso_or_none
from mcp_agent_mail.core.concurrency.keeper import STOP_WITHIN_S, Keeper
from mcp_agent_mail.core.concurrency.looks import Looks
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.domain.signals import NewDelivery, UnreadInbox
from mcp_agent_mail.domain.store_limits import StoreLimits
from mcp_agent_mail.features.archiving.backfill import BackfillWorker, LostArchives
from mcp_agent_mail.features.delivery.shared_look import SharedLook
from mcp_agent_mail.features.delivery.unseen_mail import UnseenRules, UnseenWorker
from mcp_agent_mail.features.delivery.waiters import Waiters
from mcp_agent_mail.features.delivery.worker import FeedWorker
from mcp_agent_mail.features.health.silence import SilenceWorker
from mcp_agent_mail.features.health.store_size import StoreSizeWorker
from mcp_agent_mail.features.messaging.overdue_acks import Escalation, EscalationLease, OverdueRules, OverdueWorker
from mcp_agent_mail.features.messaging.owed_acks import ReminderService
from mcp_agent_mail.features.projects.lookup import require_project
from mcp_agent_mail.features.retention.service import RetentionRules, RetentionService
from mcp_agent_mail.features.retention.worker import RetentionPace, RetentionWorker
from mcp_agent_mail.notify.bus import MailBus
from mcp_agent_mail.notify.signal_files import SignalFiles
from mcp_agent_mail.notify.signals import Mail, Signals
from mcp_agent_mail.notify.webhook_call import WebhookCaller, place_of
from mcp_agent_mail.notify.webhooks import DeliverySource, Webhooks
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import View


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """None is a worker that the settings leave out."""

    signals: Signals | None
    webhooks: Webhooks | None
    overdue: OverdueWorker | None
    reminders: ReminderService
    unseen: UnseenWorker | None
    retention: RetentionService
    retention_worker: RetentionWorker | None
    store_size: StoreSizeWorker
    backfill: BackfillWorker
    feed: FeedWorker
    shared_look: SharedLook
    silence: SilenceWorker

    def start(self) -> None:
        """Those that the settings want, each a task of the running loop."""
        for worker in (
            self.store_size,
            self.signals,
            self.webhooks,
            self.overdue,
            self.unseen,
            self.retention_worker,
            self.backfill,
            self.feed,
            self.shared_look,
            self.silence,
        ):
            if worker is not None:
                worker.start()

    async def stop(self, within_s: float = STOP_WITHIN_S) -> None:
        """Stop each worker, webhooks and signals last, since the others may still have sent mail. Each pass under way
        gets `within_s` seconds.
        """
        for worker in (
            self.silence,
            self.shared_look,
            self.feed,
            self.backfill,
            self.retention_worker,
            self.unseen,
            self.overdue,
            self.webhooks,
            self.signals,
            self.store_size,
        ):
            if worker is not None:
                await worker.stop(within_s)

    def keepers(self) -> list[Keeper]:
        """Those of the workers that the settings want."""
        kept = (
            *(self.signals, self.webhooks, self.overdue, self.unseen, self.retention_worker),
            *(self.store_size, self.backfill),
        )
        with_settings = (worker.keeper for worker in kept if worker is not None)
        return [*with_settings, *self.feed.keepers(), self.shared_look.keeper, self.silence.keeper]

    def looks(self) -> list[Looks]:
        """At the folder for signals, and at the store."""
        return [self.store_size.looks] if self.signals is None else [self.signals.looks, self.store_size.looks]

    def show(self) -> dict[str, Json]:
        """The figures of each worker by name, for health. The size of the store is told with the store."""
        return {
            "acknowledgements": _show(self.overdue),
            "retention": _show(self.retention_worker),
            "signals": _show(self.signals),
            "webhooks": _show(self.webhooks),
        }


def build_workers(
    settings: Settings,
    store: Store,
    bus: MailBus,
    waiters: Waiters,
    *,
    throttle: Callable[[], Awaitable[None]],
    contents: AttachmentFiles,
    clock: Clock,
) -> Workers:
    """What the settings switch on, not started. Retention and reminders are there in any case, since a call may purge
    or remind too; each purge awaits `throttle`, which holds it back while the archive is far behind.
    """
    retention = RetentionService(
        store,
        RetentionRules(
            max_age_days=settings.retention_max_age_days, ignored=settings.retention_ignore_project_patterns or ()
        ),
        find_project=require_project,
        throttle=throttle,
        contents=contents,
        clock=clock,
    )
    store_size = _store_size(settings, store)
    return Workers(
        signals=_signals(settings, store, bus, clock),
        webhooks=_webhooks(settings, store, bus, clock),
        overdue=_overdue(settings, store, clock),
        reminders=ReminderService(store, ttl_s=settings.ack_ttl_seconds, throttle=throttle),
        unseen=_unseen(settings, store),
        retention=retention,
        retention_worker=_retention_worker(settings, retention, clock),
        store_size=store_size,
        backfill=BackfillWorker(store, LostArchives(store, settings.storage_root, store_size.looks)),
        feed=FeedWorker(store, keep_days=settings.feed_keep_days),
        shared_look=SharedLook(store, waiters),
        silence=SilenceWorker(store),
    )


def _retention_worker(settings: Settings, retention: RetentionService, clock: Clock) -> RetentionWorker | None:
    if not (settings.retention_report_enabled or settings.retention_purge_enabled):
        return None
    pace = RetentionPace(
        interval_s=settings.retention_report_interval_seconds,
        reports=settings.retention_report_enabled,
        purges=settings.retention_purge_enabled,
    )
    return RetentionWorker(retention, pace, clock=clock)


def _store_size(settings: Settings, store: Store) -> StoreSizeWorker:
    limits = StoreLimits(max_used=settings.store_max_bytes, min_free=settings.store_min_free_bytes)
    return StoreSizeWorker(store, limits, settings.storage_root)


def _overdue(settings: Settings, store: Store, clock: Clock) -> OverdueWorker | None:
    if not settings.ack_ttl_enabled:
        return None
    rules = OverdueRules(
        ttl_s=settings.ack_ttl_seconds,
        interval_s=settings.ack_ttl_scan_interval_seconds,
        escalation=Escalation(settings.ack_escalation_mode) if settings.ack_escalation_enabled else None,
        claim=EscalationLease(
            holder=settings.ack_escalation_claim_holder_name,
            ttl_s=settings.ack_escalation_claim_ttl_seconds,
            exclusive=settings.ack_escalation_claim_exclusive,
        ),
    )
    return OverdueWorker(store, rules, clock=clock)


def _unseen(settings: Settings, store: Store) -> UnseenWorker | None:
    """At the pace of overdue acknowledgements, and off with them."""
    if not settings.ack_ttl_enabled:
        return None
    rules = UnseenRules(ttl_s=settings.ack_ttl_seconds, interval_s=settings.ack_ttl_scan_interval_seconds)
    return UnseenWorker(store, rules)


def _signals(settings: Settings, store: Store, bus: MailBus, clock: Clock) -> Signals | None:
    if not settings.notifications_enabled:
        return None

    async def settle() -> None:
        await store.write(lambda _: None)

    async def inboxes(agents: Sequence[AgentId]) -> list[UnreadInbox]:
        return await store.read(lambda view: view.unread.inboxes(agents))

    async def agents_after(last: int, limit: int) -> list[AgentId]:
        return await store.read(lambda view: view.unread.after(last, limit))

    mail = Mail(
        inboxes=inboxes,
        agents_after=agents_after,
        settle=settle,
    )
    files = SignalFiles(settings.notifications_signals_dir, with_metadata=settings.notifications_include_metadata)
    return Signals(mail, bus, files, debounce_s=settings.notifications_debounce_ms / 1000, clock=clock)


def _webhooks(settings: Settings, store: Store, bus: MailBus, clock: Clock) -> Webhooks | None:
    if not settings.webhook_urls:
        return None
    assert settings.webhook_secret is not None, "the settings see to it"
    return Webhooks(
        webhook_source(store),
        bus,
        WebhookCaller(settings.webhook_secret, allows_private=settings.webhook_allow_private),
        [place_of(url.reveal()) for url in settings.webhook_urls],
        floor=store.read_now(lambda view: view.feed.ends().tail),
        clock=clock,
    )


def webhook_source(store: Store) -> DeliverySource:
    """What webhooks ask of the store."""

    async def store_id() -> str:
        return await store.read(lambda view: view.meta.store_id())

    async def tail() -> int:
        return await store.write(lambda tx: tx.feed.ends().tail)

    async def after(places: Mapping[AgentId, int], limit: int) -> tuple[dict[AgentId, list[NewDelivery]], int]:
        def look(view: View) -> tuple[dict[AgentId, list[NewDelivery]], int]:
            found = {agent: view.deliveries.after(agent, seq, limit) for agent, seq in places.items()}
            return found, view.feed.ends().tail

        return await store.read(look)

    async def agents_after(last: int, limit: int) -> list[AgentId]:
        return await store.read(lambda view: view.unread.after(last, limit))

    return DeliverySource(store_id=store_id, tail=tail, after=after, agents_after=agents_after)


def _show(worker: OverdueWorker | RetentionWorker | Signals | Webhooks | None) -> Json:
    """A worker's figures as they are, its times as texts."""
    if worker is None:
        return {"enabled": False, "last_error": None}
    figures = asdict(worker.figures())
    return {
        "enabled": True,
        **{name: iso_or_none(value) if name.endswith("_at") else value for name, value in figures.items()},
    }
