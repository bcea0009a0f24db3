"""How leases end, for everything above the store that ends some: see `store/ending.py`."""

from __future__ import annotations

from mcp_agent_mail.store.ending import end_leases, sweep_expired, tell_archive

__all__ = ["end_leases", "sweep_expired", "tell_archive"]
