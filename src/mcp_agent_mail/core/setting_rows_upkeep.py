"""The settings of what works beside the requests: signals. Standard library only."""

from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.core import setting_kinds as kinds
from mcp_agent_mail.core.setting_row import Row, Values


def _signals_folder(values: Values) -> Path:
    return Path(str(values["STORAGE_ROOT"])) / "signals"


UPKEEP_ROWS = (
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
