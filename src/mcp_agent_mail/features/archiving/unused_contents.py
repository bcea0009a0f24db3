"""Contents beside the database that no mail carries: what a refused send left, or a purge of what had been
sent again lately. After a day they go.

That is safe beside a server: who keeps a content touches it, and what was touched lately is left alone.
"""

from __future__ import annotations

from collections.abc import Callable

from mcp_agent_mail.archive.attachments import UNTOUCHED_S, AttachmentFiles
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook, no_fault
from mcp_agent_mail.core.lazy.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftContents:
    """How many there were, and their bytes together."""

    contents: int
    bytes: int


def remove_unused(
    files: AttachmentFiles, is_carried: Callable[[str], bool], *, dry_run: bool, fault_hook: FaultHook = no_fault
) -> LeftContents:
    """Remove them, or with `dry_run` count them. `is_carried` looks at the store as it is when asked."""
    count = size = 0
    for content in files.each():
        if content.untouched_s < UNTOUCHED_S or is_carried(content.sha256):
            continue
        if dry_run or files.remove(content.sha256, untouched_s=UNTOUCHED_S):
            count += 1
            size += content.bytes
            fault_hook(FailPoint.UNUSED_REMOVED)
    return LeftContents(contents=count, bytes=size)
