"""The settings of reservations: who counts as idle, and the sweeper. Standard library only."""

from __future__ import annotations

from mcp_agent_mail.core.setting_row import Row
from mcp_agent_mail.core.settings import kinds

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
