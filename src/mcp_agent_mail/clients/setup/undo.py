"""The way back: unchanged since, the original bytes; changed by others, only ours goes. Twice is harmless."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from dataclasses import replace as altered
from pathlib import Path

from mcp_agent_mail.clients.setup.edits.text import UnfitText
from mcp_agent_mail.clients.setup.file_edit import put_into, reworded, take_out
from mcp_agent_mail.clients.setup.journal import Journal, Record, digest
from mcp_agent_mail.clients.setup.places import is_known
from mcp_agent_mail.clients.setup.plan import FileChange, LeftAlone, Plan, each, follows_links, left_alone
from mcp_agent_mail.clients.setup.staged_file import FileNotWritable, remove_left
from mcp_agent_mail.clients.setup.targets import Target, clear_left_name, look_at, remove, replace, require_writable
from mcp_agent_mail.clients.setup.wishes import FileWish, Scope
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook, no_fault
from mcp_agent_mail.core.lazy.dataclass import dataclass


@dataclass(slots=True)
class UndoPlan(Plan):
    """`idle`: records whose files are as they were; only the journal, and folders of ours, have to go."""

    idle: list[FileChange] = field(default_factory=list)


def make_undo_plan(journal: Journal, *, clients: Sequence[str], project: Path | None) -> UndoPlan:
    """What to take back: of these clients (none named: all), of the user's files, or of a project's. Changes nothing.

    The journal is read.
    """
    plan = UndoPlan()
    for record in journal.records.values():
        going = [wish for wish in record.wishes if _is_meant(wish, clients, project)]
        if not going:
            continue
        try:
            _require_known(record, going, journal.home)
            target = look_at(record.path, within=project, follows=follows_links(going))
            change = FileChange(target=target, after=_before_us(record, target, going), wishes=going, mode=record.mode)
            if change.after != target.content:
                clear_left_name(target)
                require_writable(target)
            plan.left_alone += _left_in(change, record)
        except (UnfitText, FileNotWritable) as unfit:
            plan.left_alone.append(left_alone(record.path, list(dict.fromkeys(wish.client for wish in going)), unfit))
            continue
        (plan.idle if change.after == target.content else plan.changes).append(change)
    return plan


def _left_in(change: FileChange, record: Record) -> list[LeftAlone]:
    """What somebody made of a hook of ours, and stays, by the line where it will be. What was there before us is no
    matter of ours.
    """
    if change.after == record.original:
        return []
    return [
        LeftAlone(
            path=record.path,
            clients=change.clients,
            reason=f"it {one.what}, and stays",
            line=one.line,
            hint="Take that line out yourself.",
        )
        for one in reworded(change.after, change.wishes)
    ]


def take_back(plan: UndoPlan, journal: Journal, fault_hook: FaultHook = no_fault) -> None:
    """Carry the plan out. What cannot be changed is added to what is left alone. The journal is held."""
    each(plan, lambda change: _take_back(change, journal, fault_hook))
    idle = Plan(changes=plan.idle)
    each(idle, lambda change: _settle(change, journal))
    plan.left_alone += idle.left_alone


def _require_known(record: Record, going: Sequence[FileWish], home: Path) -> None:
    """Raises FileNotWritable for a file that we never set up, whatever the journal says."""
    for wish in going:
        if wish.path != record.path or not is_known(wish, home):
            raise FileNotWritable(f"it is none of the files of {wish.client} that am setup writes")


def _is_meant(wish: FileWish, clients: Sequence[str], project: Path | None) -> bool:
    if clients and wish.client not in clients:
        return False
    if project is None:
        return wish.scope is Scope.USER
    return wish.scope is Scope.PROJECT and wish.path.is_relative_to(project)


def _before_us(record: Record, target: Target, going: Sequence[FileWish]) -> bytes | None:
    """The file without what is going. Raises UnfitText."""
    if len(going) == len(record.wishes) and digest(target.content) in record.written:
        return record.original
    if target.content is None or target.content == record.original:
        return target.content
    staying = [wish for wish in record.wishes if wish not in going]
    left = take_out(target.content, [_unless_shared(wish, staying) for wish in going], record.original)
    # Of those that stay another may want a part of what goes.
    return put_into(left, staying) if staying else left


def _unless_shared(wish: FileWish, staying: Sequence[FileWish]) -> FileWish:
    """Without the entries that another client, which stays, has in the same file."""
    kept = {tuple(entry.path) for other in staying for entry in other.entries}
    return altered(wish, entries=[entry for entry in wish.entries if tuple(entry.path) not in kept])


def _take_back(change: FileChange, journal: Journal, fault_hook: FaultHook) -> None:
    if change.after is None:
        remove(change.target)
    else:
        replace(change.target, change.after, fault_hook, mode=change.mode)
    fault_hook(FailPoint.SETUP_TAKEN_BACK)
    _settle(change, journal)


def _settle(change: FileChange, journal: Journal) -> None:
    """The file is as it should be: what a kill left beside it goes, and the journal no longer speaks of it."""
    target = change.target
    record = journal.records[target.path.as_posix()]
    remove_left(target.real)
    staying = [wish for wish in record.wishes if wish not in change.wishes]
    if staying:
        written = digest(change.after)
        journal.keep(altered(record, wishes=staying, written=[] if written is None else [written]))
        return
    journal.forget(target.path)
