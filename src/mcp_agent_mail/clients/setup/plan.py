"""What `am setup` is about to change, file by file, and what it leaves alone; then the change itself."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from dataclasses import replace as altered
from itertools import chain
from pathlib import Path

from mcp_agent_mail.clients.setup.edits.text import UnfitText
from mcp_agent_mail.clients.setup.file_edit import put_into, take_out
from mcp_agent_mail.clients.setup.journal import Journal, Record, digest, make_folders
from mcp_agent_mail.clients.setup.staged_file import FileNotWritable
from mcp_agent_mail.clients.setup.targets import (
    Target,
    clear_left_name,
    look_at,
    missing_folders,
    replace,
    require_unchanged,
    require_writable,
    runnable,
)
from mcp_agent_mail.clients.setup.wishes import FileFormat, FileWish, Scope
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook, no_fault
from mcp_agent_mail.core.lazy.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """`after` None: the file goes. `mode` None: it stays."""

    target: Target
    after: bytes | None
    wishes: Sequence[FileWish]
    mode: int | None = None

    @property
    def clients(self) -> list[str]:
        return list(dict.fromkeys(wish.client for wish in self.wishes))

    def diff(self) -> str:
        """A unified diff; a file that comes or goes is compared with `/dev/null`."""
        path = str(self.target.path)
        before = self.target.content
        lines = difflib.unified_diff(
            _lines(before),
            _lines(self.after),
            "/dev/null" if before is None else path,
            "/dev/null" if self.after is None else path,
        )
        if self.mode is not None and self.target.mode is not None:
            lines = chain([f"mode of {path}: {self.target.mode:04o} to {self.mode:04o}\n"], lines)
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftAlone:
    """A file that is not changed, and why; `line` where that can be said."""

    path: Path
    clients: Sequence[str]
    reason: str
    line: int | None = None
    hint: str = ""


@dataclass(slots=True)
class Plan:
    """`settled`: files that hold all that is wished already."""

    changes: list[FileChange] = field(default_factory=list)
    left_alone: list[LeftAlone] = field(default_factory=list)
    settled: list[Path] = field(default_factory=list)


def make_plan(wishes: Iterable[FileWish], *, project: Path | None) -> Plan:
    """What to do for the wishes, in their order. Changes nothing, but a name that a kill has left goes."""
    plan = Plan()
    for path, wanted in _by_path(wishes).items():
        clients = list(dict.fromkeys(wish.client for wish in wanted))
        try:
            target = look_at(path, within=project, follows=follows_links(wanted))
            after = put_into(target.content, wanted)
            mode = _wanted_mode(target, wanted)
            if after == target.content and mode is None:
                plan.settled.append(path)
                continue
            clear_left_name(target)
            require_writable(target)
        except (UnfitText, FileNotWritable) as unfit:
            plan.left_alone.append(left_alone(path, clients, unfit))
            continue
        plan.changes.append(FileChange(target=target, after=after, wishes=wanted, mode=mode))
    return plan


def follows_links(wanted: Sequence[FileWish]) -> bool:
    """In a project a program of ours is written where it should be, and not where a link makes it another one."""
    return not any(wish.file_format is FileFormat.FILE for wish in wanted)


def _wanted_mode(target: Target, wanted: Sequence[FileWish]) -> int | None:
    """A mode other than there is: a hook that is a program has to be one that may be run."""
    if not any(wish.is_executable for wish in wanted) or runnable(target.mode) == target.mode:
        return None
    return runnable(target.mode)


def left_alone(path: Path, clients: Sequence[str], unfit: UnfitText | FileNotWritable) -> LeftAlone:
    line = unfit.line if isinstance(unfit, UnfitText) else None
    return LeftAlone(path=path, clients=clients, reason=unfit.message, line=line, hint=unfit.hint)


def carry_out(plan: Plan, journal: Journal, fault_hook: FaultHook = no_fault) -> None:
    """Change each file, after the journal has been told. What cannot be is added to those left alone; the others go on.

    The journal is held.
    """
    each(plan, lambda change: _carry_out(change, journal, fault_hook))


def each(plan: Plan, carry: Callable[[FileChange], None]) -> None:
    """Carry each change out; those that fail move to what is left alone."""
    done: list[FileChange] = []
    for change in plan.changes:
        try:
            carry(change)
        except (UnfitText, FileNotWritable) as unfit:
            plan.left_alone.append(left_alone(change.target.path, change.clients, unfit))
        except OSError as failed:
            reason = f"it cannot be written: {failed.strerror or failed}"
            plan.left_alone.append(LeftAlone(path=change.target.path, clients=change.clients, reason=reason))
        else:
            done.append(change)
    plan.changes = done


def _carry_out(change: FileChange, journal: Journal, fault_hook: FaultHook) -> None:
    target = change.target
    assert change.after is not None
    require_unchanged(target)
    former = journal.records.get(target.path.as_posix())
    journal.keep(_record(change, former), missing_folders(target))
    fault_hook(FailPoint.SETUP_NOTED)
    try:
        make_folders(target.real.parent, 0o700 if change.wishes[0].scope is Scope.USER else 0o777)
        replace(target, change.after, fault_hook, mode=change.mode)
    except BaseException:
        # Ctrl-C comes at any instant: also when the new content has its name already.
        if not _is_written(change):
            _forget_change(target, journal, former)
        raise
    fault_hook(FailPoint.SETUP_WRITTEN)


def _forget_change(target: Target, journal: Journal, former: Record | None) -> None:
    if former is None:
        journal.forget(target.path)
    else:
        journal.keep(former)


def _is_written(change: FileChange) -> bool:
    """Does the file hold what we meant to write? Where nobody can tell, it may."""
    before = change.target
    try:
        now = look_at(before.path)
    except FileNotWritable:
        return True
    return digest(now.content) == digest(change.after) and (now.content, now.mode) != (before.content, before.mode)


def _record(change: FileChange, former: Record | None) -> Record:
    """What the way back needs: of a file that others changed since, the original is what is theirs now."""
    target, written = change.target, str(digest(change.after))
    record = Record(
        path=target.path,
        original=target.content,
        written=[written],
        wishes=change.wishes,
        mode=None if change.mode is None else target.mode,
    )
    if former is None:
        return record
    record = altered(record, wishes=_joined(former.wishes, change.wishes))
    now = digest(target.content)
    if now in former.written:
        return altered(record, original=former.original, mode=former.mode, written=[str(now), written])
    if target.content is None:
        return record
    return altered(record, original=take_out(target.content, former.wishes, former.original))


def _joined(former: Sequence[FileWish], wanted: Sequence[FileWish]) -> list[FileWish]:
    """The new wishes of a client's part take the place of those from before."""
    newer = {(wish.client, wish.part) for wish in wanted}
    return [*(wish for wish in former if (wish.client, wish.part) not in newer), *wanted]


def _by_path(wishes: Iterable[FileWish]) -> dict[Path, list[FileWish]]:
    found: dict[Path, list[FileWish]] = {}
    for wish in wishes:
        found.setdefault(wish.path, []).append(wish)
    return found


def _lines(content: bytes | None) -> list[str]:
    return (content or b"").decode("utf-8", "replace").splitlines(keepends=True)
