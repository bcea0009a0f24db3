"""Files for agents in a folder (`AGENTS.md` and its like), changed without changing anything else about them.

A link stays a link, and what it leads to is changed; mode and owner stay; a write is a rename.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path

from mcp_agent_mail.clients.docs.block import between, insert, remove
from mcp_agent_mail.clients.setup import targets
from mcp_agent_mail.clients.setup.staged_file import FileNotWritable
from mcp_agent_mail.clients.setup.targets import Target, clear_left_name, look_at, missing_folders, require_writable
from mcp_agent_mail.core.errors import AgentMailError, InvalidInput
from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.plain_files import UnfitFile, real_path

NAMES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
_TEXT = Path(__file__).with_name("usage.md")
WRITTEN = ("79a7934288ee64363501a639dea348e64d8a9de2f0bac977883d6f0b25fd74fe",)
"""Digests of each text that we ever wrote between the marks, the present one last: only such a text is ours to take."""


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
    """What became of one file. `problem` says why it was left alone; `real` is where links of `path` lead."""

    path: str
    real: str
    outcome: InsertOutcome
    problem: AgentMailError | None = None


class UnfitDocument(InvalidInput):
    """The file is left alone: somebody's own text stands between the marks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edit:
    """What is to become of a file. `after` None: it goes, or none comes."""

    target: Target
    after: bytes | None
    outcome: InsertOutcome


def usage_text() -> str:
    """What agents are told: the README shows the same, by a test."""
    return _TEXT.read_text(encoding="utf-8")


def default_files(folder: Path) -> list[Path]:
    """Those of NAMES that are there, else the first."""
    found = [folder / name for name in NAMES if os.path.lexists(folder / name)]
    return found or [folder / NAMES[0]]


def digest_of(text: bytes) -> str:
    """Of what stands between the marks, the newlines around it aside."""
    return hashlib.sha256(text.strip(b"\n")).hexdigest()


def edit_all(paths: Sequence[Path], *, removes: bool, within: Path | None = None) -> list[Edited]:
    """Each file once, be it named twice or linked. What is refused is told, and the others go on.

    `within`: of files that nobody named, in a folder that a stranger may have laid out, no link leads out of it.
    """
    edited: list[Edited] = []
    seen: set[str] = set()
    for path in paths:
        real = str(path)
        problem: AgentMailError | None = None
        outcome = InsertOutcome.REFUSED
        try:
            real = real_path(str(path))
            if real in seen:
                continue
            seen.add(real)
            outcome = _edit(path, real, removes=removes, within=within)
        except AgentMailError as refused:
            problem = refused
        except OSError as failed:
            problem = UnfitFile(f"{failed.strerror or failed}.")
        edited.append(Edited(path=str(path), real=real, outcome=outcome, problem=problem))
    return edited


def _edit(path: Path, real: str, *, removes: bool, within: Path | None) -> InsertOutcome:
    try:
        edit = _plan(path, removes=removes, within=within)
    except FileNotWritable as refused:
        if within is None:
            raise
        raise refused.reworded(hint=refused.hint or _way(real, removes=removes), data=refused.data) from refused
    if edit.outcome is InsertOutcome.UNCHANGED:
        return edit.outcome
    if edit.after is None:
        targets.remove(edit.target)
    else:
        targets.replace(edit.target, edit.after, no_fault)
    return edit.outcome


def _way(real: str, *, removes: bool) -> str:
    """The command by which a file is changed that a link leads to, unless it is refused or changes nothing too."""
    try:
        edit = _plan(Path(real), removes=removes, within=None)
    except (AgentMailError, OSError):
        return ""
    if edit.outcome is InsertOutcome.UNCHANGED:
        return ""
    option = "--remove " if removes else ""
    return f"If you mean that file, name it: am docs insert {option}{shlex.quote(real)}"


def _plan(path: Path, *, removes: bool, within: Path | None) -> _Edit:
    """Changes nothing, but a name that a kill has left goes. Raises FileNotWritable, and UnfitDocument and its like
    for what the file holds.
    """
    target = look_at(path, within=within)
    edit = _edit_of(target, removes=removes)
    if edit.outcome is not InsertOutcome.UNCHANGED:
        clear_left_name(target)
        require_writable(target)
        if missing := missing_folders(target):
            hint = f"Make it first, if you mean it: mkdir -p {shlex.quote(str(missing[-1]))}"
            raise FileNotWritable(f"there is no folder {missing[0]}", hint=hint)
    return edit


def _edit_of(target: Target, *, removes: bool) -> _Edit:
    content = target.content
    unchanged = _Edit(target=target, after=content, outcome=InsertOutcome.UNCHANGED)
    if content is None:
        made = replace(unchanged, after=insert(b"", usage_text(), is_new=True), outcome=InsertOutcome.MADE)
        return unchanged if removes else made
    _require_ours(content)
    rest = remove(content)
    if removes:
        outcome = InsertOutcome.DELETED if rest is None else InsertOutcome.REMOVED
        return unchanged if rest == content else replace(unchanged, after=rest, outcome=outcome)
    fresh = insert(content, usage_text())
    outcome = InsertOutcome.INSERTED if rest == content else InsertOutcome.UPDATED
    return unchanged if fresh == content else replace(unchanged, after=fresh, outcome=outcome)


def _require_ours(content: bytes) -> None:
    """Raises UnfitDocument where somebody wrote between the marks: it would be lost."""
    found = between(content)
    if found is not None and found[1] and digest_of(found[1]) not in WRITTEN:
        raise UnfitDocument(
            f"From line {found[0]} on stands between the marks what am docs insert has not written.",
            hint="Move what is yours out of the marks, and empty what is between them; then run the command again.",
        )
