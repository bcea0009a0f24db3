"""What a swap may move: the parts of one store, between the places that this program uses for them, and nothing else.

The journal of a swap lies in the store's folder, and a folder may be anybody's: unpacked from a mail, say. So what it
says is obeyed only where it has one of the shapes below, which are all that our own writers write.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.plain_files import UnfitFile, real_path
from mcp_agent_mail.core.store_owner import SWAP_FILE
from mcp_agent_mail.domain.own_files import DATABASE_FILE, RESTORING
from mcp_agent_mail.store.engine.sqlite.database_files import DATABASE_ENDS, KEPT_FOLDER, REBUILT_ENDING, UNDO_FOLDER

STORE_FOLDERS = ("projects", "adopted", "attachments", "moving")
"""Of a store, beside its database."""

_FOLDER = "|".join(STORE_FOLDERS)
_ONE = r"(?!\.{1,2}(?:[/\0]|\Z))[^/\0]+"
_END = f"(?:{'|'.join(map(re.escape, DATABASE_ENDS))})"
_MADE = re.escape(DATABASE_FILE)
_REBUILT = re.escape(REBUILT_ENDING)
_KEPT = f"{KEPT_FOLDER}/{_ONE}"
_UNDO = f"{UNDO_FOLDER}/{_ONE}"
_UNDO_ENDING = rf"\.{UNDO_FOLDER}-{_ONE}"
_ASIDE = f"{RESTORING}|{_UNDO}"
_SHOWN = 300


class SwapRefused(Unavailable):
    """What a swap's journal says is none of this program's: it is not obeyed, not in part either."""

    recoverable = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """`built` takes the place of what lies at `place`, which is kept at `kept`: files or folders, by absolute paths.

    Without `built` what lies there only leaves. What lies nowhere need not be moved; `kept` is free at the beginning.
    """

    place: Path
    built: Path | None
    kept: Path

    @property
    def paths(self) -> tuple[Path, ...]:
        return tuple(path for path in (self.place, self.built, self.kept) if path is not None)


@dataclass(frozen=True, kw_only=True)
class SwapPlaces:
    """Of the store in `storage_root` with its database at `database_path`, which may lie elsewhere."""

    storage_root: Path
    database_path: Path

    @property
    def journal(self) -> Path:
        return self.storage_root / SWAP_FILE

    def require_ours(self, moves: Sequence[Move], leftovers: Sequence[Path]) -> None:
        """Raise SwapRefused unless each move and each leftover is one that our own writers name, no link lies on the
        way to any of it, and what is put in place is a folder or a file itself. Looks at the disk, and changes nothing.
        """
        for move in moves:
            shape = next(filter(None, map(self._move.fullmatch, self._spelt_move(move))), None)
            if shape is None:
                why = f"{move.place}, {move.built} and {move.kept} are no such three places"
                raise self._refused(move.place, why, begun_in=self._begun_in(move))
            if move.built is not None:
                self._require_real(move.built, is_folder=shape["folder"] is not None)
        for path in leftovers:
            if not any(self._leftover.fullmatch(said) for said in self._spelt(path)):
                raise self._refused(path, f"{path} is nothing that a swap leaves over")
        for path in (*(path for move in moves for path in move.paths), *leftovers):
            self._require_no_link(path)

    def by_own_name(self, path: Path) -> Path:
        """The same place below the store's folder or the database's as it is called itself, where `path` has another
        name of that very folder: of a link that led there, say, when the swap began. Others stay as they are.
        """
        own = (*self._roots, *self._beside)
        if not path.is_absolute() or ".." in path.parts or any(path.is_relative_to(folder) for folder in own):
            return path
        for named in reversed(path.parents):
            for folder in own:
                with suppress(OSError, ValueError):
                    if named.samefile(folder):
                        return folder.resolve() / path.relative_to(named)
        return path

    def may_be_link(self, folder: Path) -> bool:
        """Is it the store's folder or the database's, by whatever name, so that its owner may have it be a link?"""
        return folder in self._roots or folder in self._beside

    @cached_property
    def _roots(self) -> frozenset[Path]:
        """As it is named, and where that leads: writers use both."""
        return frozenset({self.storage_root, self.storage_root.resolve()})

    @cached_property
    def _resolved(self) -> Path:
        return Path(real_path(str(self.database_path)))

    @cached_property
    def _beside(self) -> frozenset[Path]:
        """The folders that the database lies in, if that is not the store's own."""
        resolved = self._resolved
        found = {self.database_path.parent, self.database_path.parent.resolve(), resolved.parent}
        return frozenset(path for path in found if path.resolve() != self.storage_root.resolve())

    @cached_property
    def _name(self) -> str:
        names = {self.database_path.name, self._resolved.name}
        return f"(?:{'|'.join(map(re.escape, sorted(names)))})"

    @cached_property
    def _move(self) -> re.Pattern[str]:
        """Place, built and kept of one move, each on the way from `root/` or, elsewhere, `beside/` the database."""
        name, made = self._name, f"(?:{self._name}|{_MADE})"
        return re.compile(
            # A folder: by a restore of a backup, or of a saved file where nothing was.
            rf"root/(?P<folder>{_FOLDER})\0(?:root/(?:{_ASIDE})/(?P=folder))?\0"
            rf"root/(?:{_UNDO}/(?P=folder)|{RESTORING}/(?P=folder)\.before)"
            # An archive that a rebuild leaves out.
            rf"|root/projects/(?P<slug>{_ONE})\0\0root/{_KEPT}/projects/(?P=slug)"
            # The database in the store's folder: by either of them, or by a rebuild.
            rf"|root/{name}(?P<end>{_END})\0(?:root/(?:{_ASIDE})/{made}(?P=end)|root/{name}{_REBUILT})?\0"
            rf"root/(?:(?:{_UNDO}|{_KEPT})/{name}(?P=end)|{RESTORING}/{made}\.before)"
            # Likewise, elsewhere.
            rf"|beside/{name}(?P<other>{_END})\0"
            rf"(?:beside/(?:\.{name}\.{RESTORING}(?P=other)|{name}{_UNDO_ENDING}(?P=other)|{name}{_REBUILT}))?\0"
            rf"beside/(?:{name}{_UNDO_ENDING}(?P=other)|{_KEPT}/{name}(?P=other)|\.{name}\.{RESTORING}\.before)"
        )

    @cached_property
    def _leftover(self) -> re.Pattern[str]:
        return re.compile(f"root/(?:{_ASIDE})|root/{_UNDO}/{self._name}{_END}|beside/{self._name}{_UNDO_ENDING}{_END}")

    def _begun_in(self, move: Move) -> Path | None:
        """The STORAGE_ROOT of which all that would be a move, were the store there; None where there is no such."""
        for folder in move.place.parents:
            there = SwapPlaces(storage_root=folder, database_path=folder / self.database_path.name)
            with suppress(OSError, ValueError, RuntimeError, UnfitFile):  # It may be any text.
                if any(map(there._move.fullmatch, there._spelt_move(move))):
                    return folder
        return None

    def _spelt_move(self, move: Move) -> Iterator[str]:
        for place in self._spelt(move.place):
            for kept in self._spelt(move.kept):
                for built in ("",) if move.built is None else self._spelt(move.built):
                    yield f"{place}\0{built}\0{kept}"

    def _spelt(self, path: Path) -> Iterator[str]:
        """From each folder that it may be named from; nothing for what leads out of all of them."""
        try:
            os.fsencode(path)
        except UnicodeEncodeError:
            return
        for label, folders in (("root", self._roots), ("beside", self._beside)):
            for folder in folders:
                if path.is_relative_to(folder):
                    yield f"{label}/{path.relative_to(folder).as_posix()}"

    def _require_no_link(self, path: Path) -> None:
        """Below the store's folder and the database's, whose own ways are their owner's."""
        bases = [folder for folder in (*self._roots, *self._beside) if path.is_relative_to(folder)]
        for folder in path.parents:
            if folder in bases:
                return
            try:
                found = os.lstat(folder)
            except FileNotFoundError:
                continue
            if not stat.S_ISDIR(found.st_mode):
                raise self._refused(path, f"{folder}, on the way to {path}, is no folder")

    def _require_real(self, built: Path, *, is_folder: bool) -> None:
        """Of its kind, unless it was put in place already: a link would lead every writer of the store elsewhere."""
        try:
            mode = os.lstat(built).st_mode
        except FileNotFoundError:
            return
        if not (stat.S_ISDIR(mode) if is_folder else stat.S_ISREG(mode)):
            raise self._refused(built, f"{built}, which was built, is not a {'folder' if is_folder else 'file'} itself")

    def _refused(self, path: Path, why: str, *, begun_in: Path | None = None) -> SwapRefused:
        then = "" if begun_in is None else f" (STORAGE_ROOT was {ascii(str(begun_in))[1:-1]:.{_SHOWN}}, as it says)"
        return SwapRefused(
            f"{self.journal} says what is to be moved and removed, and not all of that is the store's own: "
            f"{ascii(why)[1:-1]:.{_SHOWN}}. Nothing was touched.",
            hint="If you have this folder from somebody else, use it for nothing: restore a backup of your own. If a "
            "restore or rebuild of yours was interrupted here, let STORAGE_ROOT and DATABASE_URL be what they were "
            f"then{then}, with real folders below them, and run the command again. A link of your own that a restore "
            "has put aside is not gone back to: put what it leads to in its place first.",
            data={"journal": str(self.journal), "path": ascii(str(path))[1:-1]},
        )
