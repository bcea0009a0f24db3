"""A code repository as the guard's installation sees it: where Git looks for its hooks, and what is recorded in it.

The repository is somebody else's: it is read as data and no Git is run in it. The user's own configuration is Git's
to read, outside of it.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mcp_agent_mail.core.errors import Busy, InvalidInput
from mcp_agent_mail.core.git.config import UnfitConfig, parse_config
from mcp_agent_mail.core.git.foreign_repository import ForeignRepository, UnfitRepository, find_repository, read_again
from mcp_agent_mail.core.git.process import GitFailed, run_users_git
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.plain_files import UnfitFile, read_plain
from mcp_agent_mail.guard.hooks.folder import GitDirectory, open_git_directory
from mcp_agent_mail.guard.repository_config import NO_REPOSITORY, require_plain_config

GUARDED = ("pre-commit", "pre-push")

OUR_FOLDER = "agent-mail"
OUR_CONFIG = "hooks.config"
INCLUDED = f"{OUR_FOLDER}/{OUR_CONFIG}"
_INCLUDE_HERE = re.compile(r"includeif\.gitdir:(?P<place>(?s:.*))\.path")
_INCLUDES = ("include.", "includeif.")
_HOOKS_PATH = "core.hookspath"
_MAX_OUR_CONFIG_BYTES = 16 * 1024
_GIT_TIMEOUT_S = 10.0
_LOCK_TIMEOUT_S = 5.0
_LOOK_EVERY_S = 0.05
_NOTHING_FOUND = 1
"""The exit code of `git config` for a name without a value."""


class NoCodeRepository(InvalidInput):
    """No hook that guards commits can be put here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeRepository:
    """`top` is the work tree we came from; `common_dir` is the same for all work trees of the repository."""

    top: Path
    common_dir: Path
    found: ForeignRepository

    @property
    def plain_hooks(self) -> Path:
        """Where Git looks while core.hooksPath is not set."""
        return self.common_dir / "hooks"

    @property
    def front_hooks(self) -> Path:
        """The folder of our own, for repositories whose hooks folder is not ours to write into."""
        return self.common_dir / OUR_FOLDER / "hooks"

    def now(self) -> ForeignRepository:
        """The repository with its settings read again from disk."""
        return read_again(self.found)

    def hooks_paths(self) -> list[tuple[str, str]]:
        """Every value of core.hooksPath with its scope, the one that counts last. Of includes only ours is followed."""
        now = self.now()
        paths = _hooks_paths_of_user()
        for name, value in now.own:
            if name == _HOOKS_PATH and value:
                paths.append(("local", os.path.expanduser(value)))  # noqa: PTH111  # of `~` alone, as Git does
            elif value == INCLUDED and self._is_here(name):
                paths += [("local", path) for path in self._included()]
        return paths + [("worktree", value) for name, value in now.of_work_tree if name == _HOOKS_PATH and value]

    def includes_of_others(self) -> list[str]:
        """Names of the settings that include other files, which could set core.hooksPath and are not followed."""
        return [name for name, value in self.now().settings if name.startswith(_INCLUDES) and value != INCLUDED]

    def includes_of_ours(self) -> list[str]:
        """Names of the settings that include our file, also for places where the repository lay before it was moved."""
        return [name for name, value in self.now().own if name.startswith(_INCLUDES) and value == INCLUDED]

    def _is_here(self, name: str) -> bool:
        found = _INCLUDE_HERE.fullmatch(name)
        place = re.sub(r"\\(.)", r"\1", found["place"]) if found else ""
        return place.removesuffix("/") == str(self.common_dir)

    def _included(self) -> list[str]:
        try:
            content = read_plain(str(self.common_dir / INCLUDED), _MAX_OUR_CONFIG_BYTES, follow=False) or b""
            found = parse_config(os.fsdecode(content), re.compile(re.escape(_HOOKS_PATH)))
            return [value for _, value in found if value]
        except (UnfitFile, UnfitConfig):
            return []

    def config(self, name: str) -> str | None:
        """A value that the repository itself, not its user, has set."""
        values = [value for key, value in self.now().own if key == name.lower()]
        return values[-1] if values else None

    def user_config(self, name: str) -> str | None:
        """A value of the repository, the user or the system."""
        return self.now().value(name) or _of_user("config", "--null", "--get", name).removesuffix("\0") or None


def _hooks_paths_of_user() -> list[tuple[str, str]]:
    words = _of_user("config", "--null", "--show-scope", "--type=path", "--get-all", "core.hooksPath").split("\0")
    # "command" is what we say ourselves.
    return [(scope, path) for scope, path in zip(words[0::2], words[1::2], strict=False) if scope != "command"]


def _of_user(*arguments: str) -> str:
    """What Git reads of system and user, outside of any repository; empty for nothing."""
    try:
        return os.fsdecode(run_users_git(*NO_REPOSITORY.arguments(), *arguments, timeout_s=_GIT_TIMEOUT_S))
    except GitFailed as failed:
        if failed.data["code"] == _NOTHING_FOUND:
            return ""
        raise


class HooksNotWritable(InvalidInput):
    """The repository can be read, not written, by whoever runs this."""


class InstallationRunning(Busy):
    """Another process is at the hooks of this repository."""


@contextmanager
def only_one(repository: CodeRepository) -> Iterator[GitDirectory]:
    """One installation at a time in a repository: the kernel releases the lock with its holder.

    What is given stays the same directory. Raises NothingPlainThere where its configuration or our folder is none.
    """
    try:
        with open_git_directory(repository.common_dir) as git_dir:
            _lock(git_dir.root.opened, repository)
            require_plain_config(git_dir.root)
            git_dir.folder(OUR_FOLDER, "hooks")
            yield git_dir
    except PermissionError as refused:
        raise HooksNotWritable(
            f"{refused.filename or repository.common_dir} cannot be written by this process.",
            hint="Run `am guard install` there as the user who owns the repository.",
            data={"parameter": "code_repo_path", "path": str(repository.top)},
        ) from refused


def _lock(holder: int, repository: CodeRepository) -> None:
    import fcntl  # noqa: PLC0415  # not on Windows, where the rest of `am` should still start

    pause = threading.Event()
    give_up_at = time.monotonic() + _LOCK_TIMEOUT_S
    while True:
        try:
            fcntl.flock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as held:
            if time.monotonic() >= give_up_at:
                raise InstallationRunning(
                    f"Another process is installing or removing the guard in {repository.top}."
                ) from held
            pause.wait(_LOOK_EVERY_S)
        else:
            return


def find_code_repository(path: Path) -> CodeRepository:
    """The repository whose work tree `path` is, or lies in. Raises NoCodeRepository with the reason."""
    if not path.is_absolute():
        raise _no(path, "is a relative path", "Send the absolute path of the work tree.")
    if not path.is_dir():
        raise _no(path, "is no folder on this machine", "Send the path as it is on the machine of the server.")
    try:
        found = find_repository(str(path))
    except UnfitRepository as unfit:
        raise _no(
            path, f"cannot be worked with ({unfit.message})", "Repair the repository, or send another."
        ) from unfit
    if found is None:
        raise _no(path, "is in no Git repository", "Send the path of a work tree, or of a folder in one.")
    if found.top is None or not found.holds(str(path)):
        raise _no_work_tree(path, is_bare=found.is_set("core.bare"))
    top, git_dir = Path(found.top), Path(found.git_dir)
    _require_to_belong(top, git_dir, Path(found.common_dir), found)
    _require_owner((top, git_dir), path)
    return CodeRepository(top=top, common_dir=Path(found.common_dir), found=found)


def _require_to_belong(top: Path, git_dir: Path, common_dir: Path, found: ForeignRepository) -> None:
    """Whatever names a Git directory elsewhere must be named by it: else a planted file leads us into another's."""
    git = top / ".git"
    if git.is_symlink():
        raise _no(git, "is a symbolic link, and nothing is written through one", "Name the repository where it lies.")
    if found.is_linked and git_dir.parent != common_dir / "worktrees":
        raise _no(git, f"leads to {common_dir}, which does not hold {git_dir}", "Run git worktree repair there.")
    if found.names_work_tree():
        return
    raise _no(
        git,
        f"leads to {git_dir}, which does not name this work tree",
        f"If it is this one's: git -C {top} config core.worktree {top}",
    )


def _require_owner(places: Sequence[Path], path: Path) -> None:
    """As Git itself: what belongs to another user is only worked in where our user has named it."""
    ours = {os.geteuid(), *([int(os.environ.get("SUDO_UID") or 0)] if os.geteuid() == 0 else [])}
    if all(place.lstat().st_uid in ours for place in places):
        return
    safe = _of_user("config", "--null", "--type=path", "--get-all", "safe.directory").split("\0")
    if "*" not in safe and str(places[0]) not in safe:
        raise _no(
            path,
            "belongs to another user, so the guard has nothing to do with it",
            f"As the user who runs this: git config --global --add safe.directory {places[0]}",
        )


def _no_work_tree(path: Path, *, is_bare: bool) -> NoCodeRepository:
    if is_bare:
        return _no(path, "is a bare repository: nobody commits in it", "Send the path of a clone or of a work tree.")
    return _no(path, "is the inside of a repository, not its work tree", "Send the folder that holds the files.")


def _no(path: Path, fact: str, hint: str) -> NoCodeRepository:
    return NoCodeRepository(f"{path} {fact}.", hint=hint, data={"parameter": "code_repo_path", "path": str(path)})
