"""Beyond many files only some months lie in the work tree: the rest is in Git alone.

Git does it: a sparse checkout in cone mode with a sparse index, in which a folder of a month that is
put away is one entry. So `git status` stays clean and the index as small as what it shows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path

from mcp_agent_mail.archive.git_folder import read_note, switch_on
from mcp_agent_mail.archive.repository import BRANCH, ArchiveRepository
from mcp_agent_mail.core.clock import Micros, to_datetime
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook
from mcp_agent_mail.core.file_sync import sync_path
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.core.plain_files import UnfitFile
from mcp_agent_mail.domain.archive_format.layout import FOLDERS_BY_MONTH
from mcp_agent_mail.domain.archive_format.months import UnknownMonth, month_folders, month_of
from mcp_agent_mail.domain.archive_format.thread_pages import THREADS_FOLDER

EXTRA_MONTHS = 12
"""So many months that somebody brought back stay; a further one puts away the one brought back first."""

_NOTE = "months"
_MONTH = lazy_pattern(r"[0-9]{4}-[0-9]{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptMonths:
    """What the work tree shows of a thinned archive. `extra`: brought back by somebody, in that order.

    `cone` stands for the folders Git was given; it is empty until Git has carried it out. `unsynced`: months whose
    files Git has written, or is writing, and that may be in the kernel's memory alone.
    """

    months: tuple[str, ...]
    extra: tuple[str, ...] = ()
    cone: str = ""
    unsynced: tuple[str, ...] = ()

    def after(self, before: KeptMonths | None) -> KeptMonths:
        """These months, with those noted as `unsynced` whose files Git has to write because `before` does not show
        them; all of them when there is no `before`.
        """
        if before is None:
            return self
        shown = {*before.months, *before.extra} - {*before.unsynced}
        return replace(self, unsynced=tuple(sorted({*self.months, *self.extra} - shown)))

    def hold(self, path: str) -> bool:
        """Whether the work tree shows the file at `path`: one of no month, of a kept month, or newer than those, since
        mail that comes after a pause of months is not decided about yet.

        Git would take a file that was never written for one that somebody removed, and never write it.
        """
        month = month_of(path)
        return month is None or not self.months or month >= self.months[0] or month in self.extra

    def with_extra(self, month: str) -> KeptMonths:
        if month in self.months or month in self.extra:
            return self
        return replace(self, extra=(*self.extra, month)[-EXTRA_MONTHS:], cone="")


def months_around(now: Micros) -> tuple[str, str, str]:
    """The previous, this and the next month: what is new is always shown, also at the turn of a month."""
    today = to_datetime(now)
    count = today.year * 12 + today.month - 1
    return _month(count - 1), _month(count), _month(count + 1)


def _month(count: int) -> str:
    return f"{count // 12:04}-{count % 12 + 1:02}"


def months_in(text: str) -> KeptMonths:
    """What a note says. Of one that cannot be read (a loss of power may tear it) no month counts as kept, so that all
    of it is decided anew.
    """
    try:
        fields = json.loads(text)
        lists = {name: tuple(fields.get(name, ())) for name in ("months", "extra", "unsynced")}
        if not all(map(_MONTH.fullmatch, chain(*lists.values()))):
            return KeptMonths(months=())
        return KeptMonths(cone=str(fields["cone"]), **lists)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return KeptMonths(months=())


class MonthsNote:
    """Remembers in `.git/agent-mail/` what is kept, from before Git begins to put away."""

    def __init__(self, state: Path) -> None:
        self._path = state / _NOTE

    def read(self) -> KeptMonths | None:
        """What is kept, as noted; None without a note: then every file lies in the work tree."""
        try:
            said = read_note(self._path)
        except UnfitFile:
            return KeptMonths(months=())
        return None if said is None else months_in(said.decode(errors="replace"))

    def is_unfinished(self) -> bool:
        """Were months decided that Git has not put away yet? A stop may come between any two steps of it."""
        kept = self.read()
        return kept is not None and not kept.cone

    def write(self, kept: KeptMonths) -> None:
        """On disk when this returns: it tells what may have to be mended."""
        fresh = self._path.with_suffix(".new")
        fresh.write_text(json.dumps(asdict(kept)))
        sync_path(fresh)
        fresh.replace(self._path)
        sync_path(self._path.parent)


class Thinning:
    """Lets the work tree show `kept` and nothing else, beside further commits. The index must be at the branch."""

    what = "put months away"

    def __init__(
        self, repository: ArchiveRepository, note: MonthsNote, kept: KeptMonths, fault_hook: FaultHook
    ) -> None:
        self._path = repository.path
        self._note = note
        self._fault_hook = fault_hook
        folders = cone_folders(repository, kept)
        self._kept = replace(kept, cone=cone_name(folders))
        note.write(replace(kept, cone=""))
        switch_on(repository.path)
        fault_hook(FailPoint.THINNING)
        # Under the archive's lock, since it changes the work tree: after a kill the next archiver waits for its end.
        self._job = repository.start(
            *("sparse-checkout", "set", "--stdin"),
            stdin="".join(f"{folder}\n" for folder in folders).encode("utf-8", "surrogateescape"),
            config=("core.fsync=all",),
        )

    def is_running(self) -> bool:
        return self._job.is_running()

    def finish(self, timeout_s: float) -> None:
        """Wait so long for Git, then note that it is done. Raises GitFailed.

        What ends it before its time leaves the archive unfinished: it is mended, and this begun again.
        """
        self._job.wait(timeout_s)
        if self._job.is_running():
            self._job.kill()
            raise GitFailed(f"the months of {self._path} were not put away within {timeout_s:.0f} s")
        self._job.result()
        self._fault_hook(FailPoint.THINNED)
        self._note.write(self._kept)


def is_in_force(repository: ArchiveRepository, kept: KeptMonths) -> bool:
    """Whether Git was given exactly these months, with every folder that is there now."""
    return bool(kept.cone) and kept.cone == cone_name(cone_folders(repository, kept))


def cone_folders(repository: ArchiveRepository, kept: KeptMonths) -> list[str]:
    """The folders Git is to show with all they hold. A file right above one is shown too, as profiles are."""
    agents = [path.removeprefix("agents/") for path in _listed(repository, "agents/")]
    whole = [folder for folder in _listed(repository, "") if folder not in FOLDERS_BY_MONTH]
    ours = {folder for month in (*kept.months, *kept.extra) for folder in month_folders(month, agents)}
    return sorted({*whole, *ours, THREADS_FOLDER})


def cone_name(folders: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(folders).encode("utf-8", "surrogateescape")).hexdigest()


def _listed(repository: ArchiveRepository, folder: str) -> Iterator[str]:
    """The folders right inside `folder` of the branch."""
    where = ("--", folder) if folder else ()
    listing = ("ls-tree", "-z", "-d", "--name-only", BRANCH, *where)
    yield from repository.records(*listing)


def count_month(repository: ArchiveRepository, month: str, *, is_empty: bool) -> int:
    """How many files the branch has of a month, of which it has no commit if it `is_empty`. Raises UnknownMonth."""
    files = 0 if is_empty else files_of_month(repository, month)
    if not files:
        known = [] if is_empty else months_of_branch(repository)
        raise UnknownMonth(
            f"{repository.path} has no files of {month}.",
            hint=f"It has {', '.join(known[-EXTRA_MONTHS:])}." if known else "It has none of any month yet.",
            data={"month": month, "months": known[-EXTRA_MONTHS:]},
        )
    return files


def files_of_month(repository: ArchiveRepository, month: str) -> int:
    """How many files of a month the branch has."""
    return sum(month_of(path) == month for path in repository.records("ls-tree", "-r", "-z", "--name-only", BRANCH))


def months_of_branch(repository: ArchiveRepository) -> list[str]:
    """Every month the branch has files of, oldest first."""
    paths = repository.records("ls-tree", "-r", "-z", "-d", "--name-only", BRANCH)
    return sorted({month for path in paths if (month := month_of(f"{path}/")) is not None})
