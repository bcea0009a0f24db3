"""How leases end, for everything above the store that ends some: see `store/lease_events.py`."""

from __future__ import annotations

from mcp_agent_mail.store.lease_events import end_leases, sweep_expired, tell_archive

__all__ = ["end_leases", "sweep_expired", "tell_archive"]
