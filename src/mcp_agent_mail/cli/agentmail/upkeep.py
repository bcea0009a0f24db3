"""`agentmail cleanup`: mailboxes of windows that are gone retire, and what was read long ago is counted. No mail goes:
it is in the archive, and nothing that is unread is touched.
"""

from __future__ import annotations

import os

from mcp_agent_mail.cli.agentmail.arguments import parse
from mcp_agent_mail.cli.agentmail.commands import print_out
from mcp_agent_mail.cli.agentmail.door import DoorClient
from mcp_agent_mail.cli.agentmail.environment import DoorSettings
from mcp_agent_mail.cli.agentmail.place import WindowPlace, find_place
from mcp_agent_mail.cli.agentmail.refusals import NO_GIT, Failure
from mcp_agent_mail.cli.agentmail.state_files import ProjectFiles
from mcp_agent_mail.clients.hook.descriptors import write_words
from mcp_agent_mail.core import running_server as wire
from mcp_agent_mail.core.git.worktree import find_work_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

OUTSIDE_WARNING = "Warning: not running in tmux session, skipping offline recipient check\n"
STALE_HOURS, DELIVERED_HOURS, MAX_HOURS = 48, 2, 1_000_000
_FLAGS = {"stale-hours": "stale-hours", "delivered-hours": "delivered-hours"}
_STDERR = 2
_NOBODY = "cleanup"


def clean_up(arguments: Sequence[str]) -> int:
    """`agentmail cleanup`."""
    given = parse(arguments, _FLAGS, ["dry-run"])
    stale = _hours(given.values.get("stale-hours"), STALE_HOURS, "stale-hours")
    delivered = _hours(given.values.get("delivered-hours"), DELIVERED_HOURS, "delivered-hours")
    is_dry = "dry-run" in given.flags
    settings, root = DoorSettings(os.environ), find_work_tree(os.getcwd())
    if root is None:
        raise Failure(NO_GIT)
    place = _place(settings)
    files = ProjectFiles(os.environ, root)
    windows = None if place is None or place.windows is None else place.windows.names
    value = {
        "project": root,
        "name": _NOBODY if place is None else place.name,
        "windows": windows,
        "stale_hours": stale,
        "delivered_hours": delivered,
        "counted_to": files.counted_to(),
        "dry_run": is_dry,
    }
    try:
        done = DoorClient(settings, starts=True).ask("cleanup", value, answers="counted_to")
    except wire.NoAnswer as silent:
        raise Failure(f"no answer from the agent-mail server: {silent}") from None
    if windows is None:
        write_words(_STDERR, OUTSIDE_WARNING)
    if not is_dry:
        files.note_counted(max(int(done["counted_to"]), files.counted_to()))
    begun, removed = ("Cleanup preview (dry-run):", "to remove") if is_dry else ("Cleanup complete:", "removed")
    offline, silent_long = int(done["offline"]), int(done["stale"])
    print_out(
        f"{begun}\n"
        f"  Recipients {removed}: {offline + silent_long} ({offline} offline, {silent_long} stale)\n"
        f"  Messages {removed}: {done['messages']}\n"
        f"  Mailboxes {removed}: {done['mailboxes']}\n"
    )
    return 0


def _place(settings: DoorSettings) -> WindowPlace | None:
    """None outside tmux."""
    try:
        return find_place(settings, os.environ)
    except Failure:
        return None


def _hours(text: str | None, default: int, name: str) -> int:
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 9 and int(text) <= MAX_HOURS):
        raise Failure(f'invalid value "{text:.40}" for flag -{name}')
    return int(text)
