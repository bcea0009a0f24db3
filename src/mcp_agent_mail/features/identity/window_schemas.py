"""What callers get to see of windows. Keys are a wire contract."""

from __future__ import annotations

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.domain.identity.windows import DAY
from mcp_agent_mail.features.identity.windows import Expired, Renamed, WindowListing


def show_windows(listing: WindowListing) -> JsonObject:
    """The answer of `list_window_identities`. A window's id proves who sits there, so it is null but for its owner and
    the operator; ages are whole days.
    """
    identities = [
        {
            "id": window.id,
            "window_uuid": window.uuid if window.uuid in listing.own else None,
            "display_name": window.display_name,
            "created_ts": iso(window.created_ts),
            "last_active_ts": iso(window.last_active_ts),
            "expires_ts": iso(window.ends(listing.ttl)),
            "age_days": max(0, listing.at - window.created_ts) // DAY,
        }
        for window in listing.windows
    ]
    return {"identities": identities, "count": len(identities)}


def show_renamed(renamed: Renamed) -> JsonObject:
    """The answer of `rename_window`, with the name that it had before. Who knew the window's id may see it."""
    window = renamed.window
    return {
        "id": window.id,
        "window_uuid": window.uuid,
        "display_name": window.display_name,
        "old_display_name": renamed.old_name,
        "last_active_ts": iso(window.last_active_ts),
    }


def show_expired(expired: Expired) -> JsonObject:
    """The answer of `expire_window`. `expired_at` is the first end, by a call or by itself: a repeat gives the same."""
    return {
        "window_uuid": expired.window.uuid,
        "display_name": expired.window.display_name,
        "expired": True,
        "expired_at": iso(expired.at),
    }
