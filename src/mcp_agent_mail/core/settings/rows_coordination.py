"""The settings of leases (idle holders, the sweeper), of what makes directories one project, and of windows. Standard
library only.
"""

from __future__ import annotations

import re

from mcp_agent_mail.core.settings import kinds
from mcp_agent_mail.core.settings.kinds import Row

LEASE_ROWS = (
    Row(
        name="FILE_RESERVATION_INACTIVITY_SECONDS",
        kind=kinds.whole(60, 604_800),
        default="1800",
        does="How long the holder of a file reservation may make no call before it counts as idle.",
        group="Reservations",
    ),
    Row(
        name="FILE_RESERVATION_ACTIVITY_GRACE_SECONDS",
        kind=kinds.whole(0, 86_400),
        default="900",
        does="Mail, written files or commits within this time save an idle holder's reservation.",
        group="Reservations",
    ),
    Row(
        name="FILE_RESERVATIONS_CLEANUP_ENABLED",
        kind=kinds.BOOL,
        default="true",
        does="Release what idle holders left, and tell them. What expires ends at its instant either way.",
        group="Reservations",
    ),
    Row(
        name="FILE_RESERVATIONS_CLEANUP_INTERVAL_SECONDS",
        kind=kinds.whole(5, 3_600),
        default="60",
        does="How often idle holders are looked for, and expired reservations are moved in the archive.",
        group="Reservations",
    ),
    Row(
        name="FILE_RESERVATIONS_ENFORCEMENT_ENABLED",
        kind=kinds.BOOL,
        default="true",
        does="An exclusive reservation beginning with `.mcp-mail/` stops mail to the inboxes it covers; no other does.",
        group="Reservations",
    ),
)


def _remote(text: str, _: kinds.PathContext) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}", text):
        raise kinds.BadValue("Write it as `git remote` prints it.")
    return text


PROJECT_ROWS = (
    Row(
        name="PROJECT_IDENTITY_MODE",
        kind=kinds.one_of("dir", "git-remote", "git-toplevel", "git-common-dir"),
        default="dir",
        does="Which directories are one project: each its own, or all of one remote, one checkout, one clone with its "
        "work trees.",
        group="Projects",
    ),
    Row(
        name="PROJECT_IDENTITY_REMOTE",
        kind=kinds.SettingKind(label="name", expected="the name of a Git remote", parse=_remote),
        default="origin",
        does="The remote that `git-remote` goes by.",
        group="Projects",
    ),
)


WINDOW_ROWS = (
    Row(
        name="MCP_AGENT_MAIL_WINDOW_TTL_DAYS",
        kind=kinds.whole(1, 3_650),
        default="30",
        does="After so many days without a call from it, a window's name is forgotten.",
        group="Callers",
    ),
)

WINDOW_CLIENT_ROWS = (
    Row(
        name="MCP_AGENT_MAIL_WINDOW_ID",
        kind=kinds.UUID,
        default="",
        does="The terminal window, sent as `X-Agent-Window` by `am serve --stdio`: an agent that registers without a "
        "name comes back under the window's. A server's own is ignored.",
        group="Client side",
        client=True,
    ),
)
