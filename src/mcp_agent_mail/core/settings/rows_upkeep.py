"""The settings of limits, retention, acknowledgements and signals. Standard library only."""

from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.core.settings import kinds
from mcp_agent_mail.core.settings.kinds import Row, Values


def _signals_folder(values: Values) -> Path:
    return Path(str(values["STORAGE_ROOT"])) / "signals"


def _backup_folder(values: Values) -> Path:
    """Beside the store: a folder inside it would be replaced with it by a restore."""
    root = Path(str(values["STORAGE_ROOT"]))
    return root.parent / f"{root.name}-backups"


UPKEEP_ROWS = (
    Row(
        name="BACKUP_DIR",
        kind=kinds.FOLDER,
        default="STORAGE_ROOT-backups",
        computed=_backup_folder,
        does="Where `am doctor backup` puts backups; never inside the store. Only you may read them.",
        group="Limits and retention",
    ),
    Row(
        name="QUOTA_ENABLED",
        kind=kinds.BOOL,
        default="false",
        does="Hold inboxes to the limit below; beyond it a send is QUOTA_EXCEEDED.",
        group="Limits and retention",
    ),
    Row(
        name="QUOTA_INBOX_LIMIT_COUNT",
        kind=kinds.whole(0, 10_000_000),
        default="0",
        does="How many unread messages an agent may have and still be sent more; 0 is no limit.",
        group="Limits and retention",
    ),
    Row(
        name="QUOTA_ATTACHMENTS_LIMIT_BYTES",
        kind=kinds.size("0", "1024GiB"),
        default="0",
        does="With QUOTA_ENABLED: how many bytes of attachments a project's archive may keep, each content once; "
        "beyond it a send is QUOTA_EXCEEDED. 0 is no limit.",
        group="Limits and retention",
    ),
    Row(
        name="RETENTION_REPORT_ENABLED",
        kind=kinds.BOOL,
        default="false",
        does="Log how much mail of each project is old, and how much of it a purge would take.",
        group="Limits and retention",
    ),
    Row(
        name="RETENTION_REPORT_INTERVAL_SECONDS",
        kind=kinds.whole(60, 604_800),
        default="3600",
        does="How often that is looked at, and purged if it is to be.",
        group="Limits and retention",
    ),
    Row(
        name="RETENTION_PURGE_ENABLED",
        kind=kinds.BOOL,
        default="false",
        does="Replace old mail that everyone has read by tombstones. Git keeps the text.",
        group="Limits and retention",
    ),
    Row(
        name="RETENTION_MAX_AGE_DAYS",
        kind=kinds.whole(1, 36_500),
        default="180",
        does="Mail of so many days is old.",
        group="Limits and retention",
    ),
    Row(
        name="RETENTION_IGNORE_PROJECT_PATTERNS",
        kind=kinds.GLOBS,
        default="",
        does="Projects whose slug or path one of these globs matches are left out.",
        group="Limits and retention",
    ),
    Row(
        name="ACK_TTL_ENABLED",
        kind=kinds.BOOL,
        default="true",
        does="Tell senders, once each, of messages that were not acknowledged in time, and in their feed of those "
        "that nobody saw or whose readers are gone.",
        group="Acknowledgements",
    ),
    Row(
        name="ACK_TTL_SECONDS",
        kind=kinds.whole(60, 31_536_000),
        default="1800",
        does="How long after its delivery a missing acknowledgement is overdue, and such or urgent mail "
        "that nobody saw counts as unseen.",
        group="Acknowledgements",
    ),
    Row(
        name="ACK_TTL_SCAN_INTERVAL_SECONDS",
        kind=kinds.whole(5, 3_600),
        default="60",
        does="How often overdue acknowledgements are looked for.",
        group="Acknowledgements",
    ),
    Row(
        name="ACK_ESCALATION_ENABLED",
        kind=kinds.BOOL,
        default="false",
        does="Do what ACK_ESCALATION_MODE says besides telling the sender, once per message.",
        group="Acknowledgements",
    ),
    Row(
        name="ACK_ESCALATION_MODE",
        kind=kinds.one_of("log", "file_reservation", "mail"),
        default="log",
        does="`log` a warning; hold a `file_reservation` of `resource://ack-overdue/<id>`; `mail` to Human.",
        group="Acknowledgements",
    ),
    Row(
        name="ACK_ESCALATION_CLAIM_TTL_SECONDS",
        kind=kinds.whole(60, 2_592_000),
        default="3600",
        does="How long that reservation is held.",
        group="Acknowledgements",
    ),
    Row(
        name="ACK_ESCALATION_CLAIM_EXCLUSIVE",
        kind=kinds.BOOL,
        default="false",
        does="Whether that reservation is exclusive.",
        group="Acknowledgements",
    ),
    Row(
        name="ACK_ESCALATION_CLAIM_HOLDER_NAME",
        kind=kinds.AGENT_NAME,
        default="Human",
        does="Which agent of the sender's project holds that reservation.",
        group="Acknowledgements",
    ),
    Row(
        name="NOTIFICATIONS_ENABLED",
        kind=kinds.BOOL,
        default="false",
        does="Keep a signal file for every agent that has unread mail.",
        group="Signals",
    ),
    Row(
        name="NOTIFICATIONS_SIGNALS_DIR",
        kind=kinds.FOLDER,
        default="STORAGE_ROOT/signals",
        computed=_signals_folder,
        does="Where signal files lie: `projects/<slug>/agents/<Name>.signal` below it.",
        group="Signals",
    ),
    Row(
        name="NOTIFICATIONS_INCLUDE_METADATA",
        kind=kinds.BOOL,
        default="true",
        does="Say in a signal file which message is the newest: its id, sender, subject and importance.",
        group="Signals",
    ),
    Row(
        name="NOTIFICATIONS_DEBOUNCE_MS",
        kind=kinds.whole(0, 60_000),
        default="100",
        does="How long changes of mail are gathered before the files follow; the last one always lands.",
        group="Signals",
    ),
)
