"""Hooks of ours that somebody has worded otherwise: shown by a setup, and neither doubled nor run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mcp_agent_mail.clients.setup.edits.text import UnfitText
from mcp_agent_mail.clients.setup.file_edit import reworded
from mcp_agent_mail.clients.setup.plan import LeftAlone, follows_links
from mcp_agent_mail.clients.setup.staged_file import FileNotWritable
from mcp_agent_mail.clients.setup.targets import look_at
from mcp_agent_mail.clients.setup.wishes import FileWish


def reworded_hooks(wishes: Iterable[FileWish], *, project: Path | None) -> list[LeftAlone]:
    """Each with its line in the file as it is now. Of a file that cannot be read the plan has said so."""
    found: list[LeftAlone] = []
    for wish in wishes:
        try:
            content = look_at(wish.path, within=project, follows=follows_links([wish])).content
            differing = reworded(content, [wish])
        except (UnfitText, FileNotWritable):
            continue
        found += [
            LeftAlone(
                path=wish.path,
                clients=[wish.client],
                reason=f"it {one.what}, and ours is not put beside that",
                line=one.line,
                hint="Mend that line or take it out, and run am setup again.",
            )
            for one in differing
        ]
    return found
