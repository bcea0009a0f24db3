"""What `am setup` has changed, written before each change: the original bytes, and what of ours went where.

One file that this user alone may read, since configuration holds secrets of others. A kill at any instant leaves it
whole, and enough in it for the way back.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import json
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from mcp_agent_mail.clients.setup.staged_file import staged_at
from mcp_agent_mail.clients.setup.targets import MAX_BYTES
from mcp_agent_mail.clients.setup.wishes import FileWish, Json
from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook, no_fault
from mcp_agent_mail.core.file_sync import sync_path
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.plain_files import UnfitFile, read_plain

FOLDER = ".config/mcp-agent-mail/setup"
_FILE = "journal.json"
_FILES = (_FILE, f"{Path(_FILE).stem}.new")
_VERSION = 1
_MAX_FILES = 1_000
_MAX_JOURNAL_BYTES = 64 * MAX_BYTES


class UnfitJournal(Conflict):
    """The journal cannot be read, so nothing is changed."""


class SetupRunning(Conflict):
    """Another `am setup` of this user is at work."""


def digest(content: bytes | None) -> str | None:
    """What tells whether a file still is as we left it; None for no file."""
    return None if content is None else hashlib.sha256(content).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One file. `original` None: there was none. `written`: digests of what we have put there, the last two.

    `mode` is that of the original, where we had to let a file be run.
    """

    path: Path
    original: bytes | None
    written: Sequence[str]
    wishes: Sequence[FileWish]
    mode: int | None = None

    def to_json(self) -> dict[str, Json]:
        """The original as Base64: it may be no text."""
        original = None if self.original is None else base64.b64encode(self.original).decode()
        return {
            "path": str(self.path),
            "original": original,
            "written": list(self.written),
            "mode": self.mode,
            "wishes": [wish.to_json() for wish in self.wishes],
        }

    @classmethod
    def from_json(cls, kept: dict[str, Json]) -> Record:
        """Raises KeyError, TypeError or ValueError for what no journal of ours holds."""
        original = kept["original"]
        return cls(
            path=Path(kept["path"]),
            original=None if original is None else base64.b64decode(original),
            written=list(kept["written"]),
            mode=None if kept["mode"] is None else int(kept["mode"]) & 0o777,
            wishes=[FileWish.from_json(wish) for wish in kept["wishes"]],
        )


class Journal:
    """The records by path. `keep` and `forget` are on disk when they return. `folder` is its own, in the home."""

    def __init__(self, home: Path, fault_hook: FaultHook = no_fault, *, folder: str = FOLDER) -> None:
        self._reach = fault_hook
        self._home = home
        self._own = [home / ".config", (home / folder).parent, home / folder]
        self._folder = home / folder
        self._path = self._folder / _FILE
        self._made: list[Path] = []
        self._is_read = False
        self.records: dict[str, Record] = {}

    @property
    def path(self) -> Path:
        return self._path

    @property
    def home(self) -> Path:
        return self._home

    def read(self) -> None:
        """Raises UnfitJournal."""
        self._is_read = False
        self._require_own()
        try:
            content = read_plain(str(self._path), _MAX_JOURNAL_BYTES, follow=False)
            kept: dict[str, Json] = (
                {"version": _VERSION, "folders": [], "files": []} if content is None else json.loads(content)
            )
            if kept["version"] != _VERSION:
                raise ValueError(f"it is of version {kept['version']}")
            self._made = [Path(folder) for folder in kept["folders"]]
            self.records = {record.path.as_posix(): record for record in map(Record.from_json, kept["files"])}
            self._is_read = True
        except (UnfitFile, LookupError, TypeError, ValueError, AttributeError, RecursionError) as unfit:
            raise UnfitJournal(
                f"The journal {self._path} cannot be read: {str(unfit)[:200]}.",
                hint="It holds what your configuration was. Mend it from a backup, or move it away to begin anew.",
                data={"path": str(self._path)},
            ) from unfit

    def _require_own(self) -> None:
        """Raises UnfitJournal where others could have written it: whatever it says would be put into any file."""
        for path in (self._folder, self._path):
            try:
                found = path.lstat() if path == self._path else path.stat()
            except (FileNotFoundError, NotADirectoryError):
                return
            except OSError as failed:
                raise UnfitJournal(f"{path} cannot be looked at: {failed.strerror}.") from failed
            if found.st_uid != os.geteuid():
                raise UnfitJournal(
                    f"{path} belongs to another user (id {found.st_uid}), so nothing that it says is done.",
                    hint="Run am setup as the user whose clients are meant, or look at it and move it away.",
                )
            if found.st_mode & 0o022 and not stat.S_ISLNK(found.st_mode):
                raise UnfitJournal(
                    f"{path} can be written by others, so nothing that it says is done.",
                    hint=f"Look whether it is as you left it, then close it: chmod go-w {path}",
                )

    def keep(self, record: Record, folders: Sequence[Path] = ()) -> None:
        """Note what is about to be done with a file, and which folders are about to be made for it."""
        if len(self.records) >= _MAX_FILES and str(record.path) not in self.records:
            raise UnfitJournal(
                f"{_MAX_FILES} files are set up already.", hint="am setup --undo --project DIR takes some back."
            )
        former = dict(self.records), list(self._made)
        self.records[record.path.as_posix()] = record
        self._made += [folder for folder in folders if folder not in self._made]
        try:
            self._write()
        except BaseException:
            # A later write may not say what was never done.
            self.records, self._made = former
            raise

    def forget(self, path: Path) -> None:
        """Folders of ours that hold nothing now go. With the last file the journal does too, at the end of `held`:
        until then it says who made its own folders.
        """
        self.records.pop(path.as_posix(), None)
        remove_folders([folder for folder in self._made if not self._folder.is_relative_to(folder)])
        if self.records:
            self._write()

    def has_traces(self) -> bool:
        """Whether anything of ours is there, be it what a kill has left: `held` takes it away."""
        beside = [trace for folder in self._own for trace in (staged_at(folder), _aside_of(folder))]
        return any(trace.exists() for trace in (self._folder, *beside))

    def _leave(self) -> None:
        """Our folder goes aside in one step, with the journal in it, which says who made those above: so a kill leaves
        what `held` takes away. Our own two go even if a kill came before it was noted who made them.
        """
        outermost = next((each for each in self._own if each in self._made), self._own[1])
        aside = _aside_of(outermost)
        try:
            if {path.name for path in self._folder.iterdir()} <= set(_FILES):
                self._folder.rename(aside)
        except OSError:
            # A link to another file system, or none: then a kill may leave a folder that is empty.
            pass
        self._reach(FailPoint.SETUP_LEAVING)
        _clear(self._folder)
        remove_folders([*self._made, *self._own[1:]])
        self._reach(FailPoint.SETUP_LEAVING)
        _clear(aside)

    def _finish_leaving(self) -> None:
        """After a kill. Of what such a journal names only our own folders are meant."""
        for aside in map(_aside_of, self._own):
            if aside.is_dir():
                made = _folders_made(aside / _FILE)
                remove_folders([each for each in self._own if each in made or each != self._own[0]])
                _clear(aside)

    def _write(self) -> None:
        self._write_into(self._folder, self._made, list(self.records.values()))

    def _write_into(self, folder: Path, made: Sequence[Path], records: Sequence[Record]) -> None:
        kept = {
            "version": _VERSION,
            "folders": [str(each) for each in made],
            "files": [record.to_json() for record in records],
        }
        path = folder / _FILE
        staged = path.with_suffix(".new")
        staged.unlink(missing_ok=True)
        try:
            descriptor = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(kept, file)
                file.flush()
                os.fsync(descriptor)
            self._reach(FailPoint.SETUP_KEEPING)
            staged.replace(path)
        except BaseException:
            staged.unlink(missing_ok=True)
            raise
        _sync(folder)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Alone at the journal, which is read; its folder is made, and goes again if nothing was kept."""
        self._make_own_folders()
        self._reach(FailPoint.SETUP_HELD)
        with _locked(self._folder):
            try:
                self.read()
                yield
            finally:
                if self._is_read and not self.records:
                    self._leave()

    def _make_own_folders(self) -> None:
        """Those that are missing, with a journal in them that says so, come in one step: at no instant are there
        folders of ours of which nobody knows who made them.
        """
        if self._folder.exists():
            return
        above = self._own[0].parent
        make_folders(above, 0o700)
        with _locked(above):
            for each in self._own:
                self._remove_staged(each)
            self._finish_leaving()
            missing = [each for each in self._own if not each.exists()]
            if not missing:
                return
            staged = staged_at(missing[0])
            try:
                folder = staged / self._folder.relative_to(missing[0])
                make_folders(folder, 0o700)
                self._write_into(folder, missing, [])
                staged.rename(missing[0])
            except BaseException:
                self._remove_staged(missing[0])
                raise
            _sync(missing[0].parent)

    def _remove_staged(self, of: Path) -> None:
        """What a kill, or a full disk, has left of making it: nothing of others' lies there."""
        staged = staged_at(of)
        below = [staged / each.relative_to(of) for each in self._own if each.is_relative_to(of)]
        _clear(below[-1])
        remove_folders(below)


def _aside_of(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.agent-mail-gone")


def _clear(folder: Path) -> None:
    """A folder of a journal goes with what is ours in it."""
    for name in _FILES:
        with suppress(OSError):
            (folder / name).unlink()
    remove_folders([folder])


def _folders_made(journal: Path) -> set[Path]:
    """Those that a journal says we made; none where it says nothing that can be read."""
    try:
        kept = json.loads(read_plain(str(journal), _MAX_JOURNAL_BYTES, follow=False) or b"{}")
        return {Path(folder) for folder in kept["folders"]}
    except (UnfitFile, LookupError, TypeError, ValueError, RecursionError):
        return set()


def _sync(folder: Path) -> None:
    """Where the disk does not take a folder, what was renamed in it has its name all the same."""
    with suppress(OSError):
        sync_path(folder)


def _running() -> SetupRunning:
    return SetupRunning("Another am setup of yours is at work.", hint="Run the same command again once it has ended.")


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Raises SetupRunning where another has it, or had it a moment ago and has taken it away."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError as gone:
        raise _running() from gone
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_there = os.path.samestat(os.fstat(descriptor), folder.stat())
        except (BlockingIOError, FileNotFoundError) as held:
            raise _running() from held
        if not is_there:
            raise _running()
        yield
    finally:
        os.close(descriptor)


def make_folders(folder: Path, mode: int = 0o777) -> list[Path]:
    """Make a folder and those above it that are missing; returns those, the outermost first."""
    missing: list[Path] = []
    while not folder.exists():
        missing.insert(0, folder)
        folder = folder.parent
    for each in missing:
        each.mkdir(mode=mode, exist_ok=True)
    return missing


def remove_folders(folders: Sequence[Path]) -> None:
    """Those that hold nothing, the innermost first."""
    for folder in sorted(folders, key=lambda each: len(each.parts), reverse=True):
        with suppress(OSError):
            folder.rmdir()
