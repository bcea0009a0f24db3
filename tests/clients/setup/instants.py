"""The named instants of a setup: `test_kills` kills at each of them."""

from __future__ import annotations

from mcp_agent_mail.core.failpoints import FailPoint

OF_WRITES = (FailPoint.SETUP_NOTED, FailPoint.SETUP_STAGED, FailPoint.SETUP_WRITTEN)
"""Reached once for each file that is written."""

OF_THE_JOURNAL = ((FailPoint.SETUP_KEEPING, 1), (FailPoint.SETUP_HELD, 1), (FailPoint.SETUP_KEEPING, 2))
"""In the first write of all, which comes with the folders; before the first file is noted; while it is noted."""

OF_THE_WAY_BACK = (FailPoint.SETUP_TAKEN_BACK,)
KILLED_AT = {*OF_WRITES, *OF_THE_WAY_BACK, *(point for point, _ in OF_THE_JOURNAL)}
