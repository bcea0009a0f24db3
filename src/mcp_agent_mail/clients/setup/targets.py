"""One file that we may write: what it is now, and how it is replaced. A link stays a link; mode and owner stay."""

from __future__ import annotations

import os
import shlex
import stat
from contextlib import suppress
from pathlib import Path

from mcp_agent_mail.clients.setup.staged_file import PATIENCE_S, FileNotWritable, staged_alone, staged_at
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook
from mcp_agent_mail.core.file_sync import sync_path
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.plain_files import UnfitFile, git_directory_above, read_plain, real_path

MAX_BYTES = 16 * 1024 * 1024
MAX_PROJECT_BYTES = 1024 * 1024
"""Of a file that a stranger may have laid out."""

_NEW_FILE = 0o644
_NEW_PROGRAM = 0o755


class FileChanged(FileNotWritable):
    """Somebody else was faster: what was made of the file's former content would undo that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """`path` as the client knows it, `real` where the bytes are. `content` None: there is no file."""

    path: Path
    real: Path
    content: bytes | None
    mode: int | None
    owner: tuple[int, int] | None


def look_at(path: Path, *, within: Path | None = None, follows: bool = True) -> Target:
    """Raises FileNotWritable, with the reason. With `within`, which a stranger may have laid out, no link leads out,
    or to what is not there; unless `follows`, no link is followed in it at all. Nothing lies in a Git directory.
    """
    try:
        real = Path(real_path(str(path)))
    except UnfitFile as unfit:
        raise FileNotWritable(unfit.message) from unfit
    _require_fit(path, real, within, follows=follows)
    try:
        found = real.stat()
    except (FileNotFoundError, NotADirectoryError):
        return _absent(path, real)
    except OSError as failed:
        raise FileNotWritable(f"it cannot be looked at: {failed.strerror}") from failed
    if not stat.S_ISREG(found.st_mode):
        raise FileNotWritable("it is no plain file")
    try:
        content = read_plain(str(real), MAX_BYTES if within is None else MAX_PROJECT_BYTES)
    except UnfitFile as unfit:
        raise FileNotWritable(unfit.message) from unfit
    mode = stat.S_IMODE(found.st_mode)
    return Target(path=path, real=real, content=content, mode=mode, owner=(found.st_uid, found.st_gid))


def _require_fit(path: Path, real: Path, within: Path | None, *, follows: bool) -> None:
    if within is not None and not real.is_relative_to(top := within.resolve()):
        raise FileNotWritable(f"it is a link that leads out of {within}, to {real}")
    if (folder := git_directory_above(real)) is not None:
        raise FileNotWritable(f"it leads to {real}, in the Git directory {folder}, whose programs Git runs")
    if within is None or real == top / path.relative_to(within):
        return
    if not follows:
        raise FileNotWritable(f"it leads through a link to {real}, and no program is written through one in a project")
    if not os.path.lexists(real):
        raise FileNotWritable(f"it is a link to {real}, where nothing is")


def clear_left_name(target: Target) -> None:
    """The second name that a new file has while it is being made goes, where a kill has left it; one that is being made
    is waited for, as `replace` waits. Before `require_writable`, which counts names. Raises FileNotWritable (FileBusy)
    and OSError.
    """
    with suppress(FileNotFoundError):
        if target.real.stat().st_nlink > 1 and staged_at(target.real).samefile(target.real):
            with staged_alone(target.real):
                pass


def require_writable(target: Target) -> None:
    """Raises FileNotWritable for a file that is read-only, has several names, or lies where nothing can be written.
    Changes nothing.
    """
    if target.mode is not None and not (target.mode & 0o222 and os.access(target.real, os.W_OK)):
        is_closed = not target.mode & 0o222 and os.geteuid() in (0, target.real.stat().st_uid)
        hint = f"Make it writable if you mean it: chmod u+w {shlex.quote(str(target.real))}" if is_closed else ""
        raise FileNotWritable("it is read-only", hint=hint)
    if target.mode is not None and target.real.stat().st_nlink > 1:
        raise FileNotWritable("it has several names (hard links), which a write would part")
    folder = target.real.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir() or not folder.stat().st_mode & 0o222 or not os.access(folder, os.W_OK | os.X_OK):
        raise FileNotWritable(f"nothing can be written in {folder}")


def _absent(path: Path, real: Path) -> Target:
    if path.is_symlink() and not real.parent.is_dir():
        raise FileNotWritable(f"it is a link to {real}, where no folder is")
    return Target(path=path, real=real, content=None, mode=None, owner=None)


def missing_folders(target: Target) -> list[Path]:
    """Those that have to be made, the outermost first."""
    found: list[Path] = []
    folder = target.real.parent
    while not folder.exists():
        found.insert(0, folder)
        folder = folder.parent
    return found


def runnable(mode: int | None) -> int:
    """The mode with which whoever may read a file may run it too; that of a new program for no file."""
    return _NEW_PROGRAM if mode is None else mode | (mode & 0o444) >> 2


def replace(
    target: Target, content: bytes, fault_hook: FaultHook, *, mode: int | None = None, patience_s: float = PATIENCE_S
) -> None:
    """Put `content` there in one step, if there still is what `target` says. Its mode stays, unless one is given.
    Another writer of ours is waited for, `patience_s` at most.

    Raises FileNotWritable (FileChanged, FileBusy) and OSError, before the file has changed: a folder that the disk does
    not take is no failure of the write.
    """
    if mode is None:
        mode = target.mode
    elif target.mode is None:
        mode &= ~_umask()
    with staged_alone(target.real, patience_s=patience_s) as descriptor:
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(content)
        if target.owner is not None and target.owner != (os.geteuid(), os.getegid()):
            os.fchown(descriptor, *target.owner)
        os.fchmod(descriptor, _NEW_FILE & ~_umask() if mode is None else mode)
        os.fsync(descriptor)
        fault_hook(FailPoint.SETUP_STAGED)
        require_unchanged(target)
        staged_at(target.real).replace(target.real)
    with suppress(OSError):
        fault_hook(FailPoint.SETUP_NAMED)
        sync_path(target.real.parent)


def remove(target: Target) -> None:
    """The file goes, if there still is what `target` says; a link to it stays where it was."""
    require_unchanged(target)
    with suppress(FileNotFoundError):
        target.real.unlink()
    with suppress(OSError):
        sync_path(target.real.parent)


def require_unchanged(target: Target) -> None:
    now = look_at(target.path)
    if (now.real, now.content, now.mode) != (target.real, target.content, target.mode):
        raise FileChanged("it was changed by somebody else just now; run the same command again")


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
