"""Files for agents in a folder (`AGENTS.md` and its like), changed without changing anything else about them.

A link stays a link, and what it leads to is changed; mode and owner stay; a write is a rename.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from mcp_agent_mail.clients.docs.block import insert, remove
from mcp_agent_mail.clients.setup.targets import look_at, replace
from mcp_agent_mail.core.errors import AgentMailError, InvalidInput
from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.core.plain_files import UnfitFile, read_plain, real_path

NAMES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
MAX_BYTES = 4 * 2**20
_TEXT = Path(__file__).with_name("usage.md")


class InsertOutcome(StrEnum):
    MADE = "made"
    INSERTED = "inserted"
    UPDATED = "brought up to date"
    UNCHANGED = "nothing to do"
    REMOVED = "removed"
    DELETED = "deleted: it was ours alone"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """What became of one file. `problem` says why it was left alone."""

    path: str
    outcome: InsertOutcome
    problem: AgentMailError | None = None


class UnfitDocument(InvalidInput):
    """The file is left alone: it is read-only, has several names, or has changed meanwhile."""


def usage_text() -> str:
    """What agents are told: the README shows the same, by a test."""
    return _TEXT.read_text(encoding="utf-8")


def default_files(folder: Path) -> list[Path]:
    """Those of NAMES that are there, else the first."""
    found = [folder / name for name in NAMES if os.path.lexists(folder / name)]
    return found or [folder / NAMES[0]]


def edit_all(paths: Sequence[Path], *, removes: bool) -> list[Edited]:
    """Each file once, be it named twice or linked. What is refused is told, and the others go on."""
    edited: list[Edited] = []
    seen: set[str] = set()
    for path in paths:
        try:
            target = real_path(str(path))
            if target in seen:
                continue
            seen.add(target)
            edited.append(Edited(path=str(path), outcome=_edit(target, removes=removes)))
        except AgentMailError as problem:
            edited.append(Edited(path=str(path), outcome=InsertOutcome.REFUSED, problem=problem))
        except OSError as failed:
            reason = UnfitFile(f"{failed.strerror or failed}.")
            edited.append(Edited(path=str(path), outcome=InsertOutcome.REFUSED, problem=reason))
    return edited


def _edit(target: str, *, removes: bool) -> InsertOutcome:
    content = read_plain(target, MAX_BYTES)
    if removes:
        return InsertOutcome.UNCHANGED if content is None else _remove(target, content)
    if content is None:
        _write(target, insert(b"", usage_text(), is_new=True), None)
        return InsertOutcome.MADE
    fresh = insert(content, usage_text())
    if fresh == content:
        return InsertOutcome.UNCHANGED
    _write(target, fresh, content)
    return InsertOutcome.INSERTED if remove(content) == content else InsertOutcome.UPDATED


def _remove(target: str, content: bytes) -> InsertOutcome:
    rest = remove(content)
    if rest == content:
        return InsertOutcome.UNCHANGED
    if rest is None:
        _require_fit(target, content)
        os.unlink(target)  # noqa: PTH108  # as everything here, by the text of the path
        return InsertOutcome.DELETED
    _write(target, rest, content)
    return InsertOutcome.REMOVED


def _require_fit(target: str, content: bytes) -> None:
    """Raises UnfitDocument unless what is known of the file just now is fit for a change."""
    found = os.lstat(target)
    if not found.st_mode & 0o222:
        raise UnfitDocument("It is read-only.", hint=f"Make it writable if you mean it: chmod u+w {target}")
    if found.st_nlink > 1:
        raise UnfitDocument("It has several names (hard links), which a write would part.", hint="Change it by hand.")
    if read_plain(target, MAX_BYTES) != content:
        raise _changed()


def _write(target: str, content: bytes, before: bytes | None) -> None:
    """As am setup writes: by rename, with the mode and the owner that it has. Raises UnfitDocument and OSError."""
    if before is not None:
        _require_fit(target, before)
    found = look_at(Path(target))
    if found.content != before:
        raise _changed()
    replace(found, content, no_fault)


def _changed() -> UnfitDocument:
    return UnfitDocument("It was changed meanwhile.", hint="Run the command again.")
