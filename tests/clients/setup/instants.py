"""The named instants of a setup: `test_kills` kills at each of them."""

from __future__ import annotations

from mcp_agent_mail.core.failpoints import FailPoint

OF_WRITES = (FailPoint.SETUP_NOTED, FailPoint.SETUP_STAGED, FailPoint.SETUP_NAMED, FailPoint.SETUP_WRITTEN)
"""Reached once for each file that is written."""

OF_THE_JOURNAL = ((FailPoint.SETUP_KEEPING, 1), (FailPoint.SETUP_HELD, 1), (FailPoint.SETUP_KEEPING, 2))
"""In the first write of all, which comes with the folders; before the first file is noted; while it is noted."""

OF_THE_WAY_BACK = (FailPoint.SETUP_TAKEN_BACK,)
OF_THE_END = ((FailPoint.SETUP_LEAVING, 1), (FailPoint.SETUP_LEAVING, 2))
"""When the last file is taken back: our folder is aside, with the journal in it; and those above it are gone."""

KILLED_AT = {*OF_WRITES, *OF_THE_WAY_BACK, *(point for point, _ in (*OF_THE_JOURNAL, *OF_THE_END))}
