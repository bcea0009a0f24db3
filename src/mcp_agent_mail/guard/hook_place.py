"""A code repository as the guard's installation sees it: where Git looks for its hooks, and what is recorded in it.

The repository is somebody else's: only `rev-parse` and `config` are run in it, which run nothing that it configures.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mcp_agent_mail.core.errors import InvalidInput, Unavailable
from mcp_agent_mail.core.git import GitFailed, run_users_git

GUARDED = ("pre-commit", "pre-push")

PROJECT_KEY = "agent-mail.project"
OUR_FOLDER = "agent-mail"
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

    @property
    def plain_hooks(self) -> Path:
        """Where Git looks while core.hooksPath is not set."""
        return self.common_dir / "hooks"

    @property
    def front_hooks(self) -> Path:
        """The folder of our own, for repositories whose hooks folder is not ours to write into."""
        return self.common_dir / OUR_FOLDER / "hooks"

    def hooks_paths(self) -> list[tuple[str, str]]:
        """Every value of core.hooksPath with its scope, the one that counts last."""
        answer = self._ask("config", "--null", "--show-scope", "--type=path", "--get-all", "core.hooksPath")
        words = answer.split("\0")
        pairs = zip(words[0::2], words[1::2], strict=False)
        # "command" is what we say ourselves.
        return [(scope, path) for scope, path in pairs if scope != "command"]

    def config(self, name: str) -> str | None:
        """A value that the repository itself, not its user, has set."""
        found = self._ask("config", "--local", "--null", "--get", name)
        return found.removesuffix("\0") if found else None

    def user_config(self, name: str) -> str | None:
        """A value of the repository, the user or the system."""
        found = self._ask("config", "--null", "--get", name)
        return found.removesuffix("\0") if found else None

    def config_like(self, pattern: str) -> list[tuple[str, str]]:
        """Names, which match the expression, and values that the repository itself has set."""
        found = self._ask("config", "--local", "--null", "--get-regexp", pattern)
        return [(name, value) for name, _, value in (entry.partition("\n") for entry in found.split("\0")[:-1])]

    def set_config(self, name: str, value: str, *, file: Path | None = None) -> None:
        where = ["--local"] if file is None else ["--file", str(file)]
        self._git("config", *where, name, value)

    def unset_config(self, name: str) -> None:
        """Whether or not it is set."""
        self._ask("config", "--local", "--unset-all", name)

    def _ask(self, *arguments: str) -> str:
        try:
            return self._git(*arguments)
        except GitFailed as failed:
            # 5: nothing to unset.
            if failed.data["code"] in (_NOTHING_FOUND, 5):
                return ""
            raise

    def _git(self, *arguments: str) -> str:
        return _git(self.top, *arguments)


class HooksNotWritable(InvalidInput):
    """The repository can be read, not written, by whoever runs this."""


class InstallationRunning(Unavailable):
    """Another process is at the hooks of this repository."""


@contextmanager
def only_one(repository: CodeRepository) -> Iterator[None]:
    """One installation at a time in a repository: the kernel releases the lock with its holder."""
    holder = os.open(repository.common_dir, os.O_RDONLY)
    try:
        _lock(holder, repository)
        yield
    except PermissionError as refused:
        raise HooksNotWritable(
            f"{refused.filename or repository.common_dir} cannot be written by this process.",
            hint="Run `am guard install` there as the user who owns the repository.",
            data={"parameter": "code_repo_path", "path": str(repository.top)},
        ) from refused
    finally:
        os.close(holder)


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
                    f"Another process is installing or removing the guard in {repository.top}.",
                    hint="Try again in a moment.",
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
        kind = _git(path, "rev-parse", "--is-bare-repository", "--is-inside-work-tree").split()
        if kind != ["false", "true"]:
            raise _no_work_tree(path, is_bare=kind[0] == "true")
        top = _git(path, "rev-parse", "--show-toplevel")
        common_dir = _git(path, "rev-parse", "--path-format=absolute", "--git-common-dir")
    except GitFailed as failed:
        raise _why(path, failed) from failed
    return CodeRepository(top=Path(top.removesuffix("\n")), common_dir=Path(common_dir.removesuffix("\n")))


def _git(folder: Path, *arguments: str) -> str:
    return os.fsdecode(run_users_git("-C", str(folder), *arguments, timeout_s=_GIT_TIMEOUT_S))


def _why(path: Path, failed: GitFailed) -> NoCodeRepository | GitFailed:
    if "not a git repository" in failed.message:
        return _no(path, "is in no Git repository", "Run git init there first, or send another path.")
    if "dubious ownership" in failed.message:
        return _no(
            path,
            "belongs to another user, so Git refuses to work in it",
            f"As the user who runs this: git config --global --add safe.directory {path}",
        )
    return failed


def _no_work_tree(path: Path, *, is_bare: bool) -> NoCodeRepository:
    if is_bare:
        return _no(path, "is a bare repository: nobody commits in it", "Send the path of a clone or of a work tree.")
    return _no(path, "is the inside of a repository, not its work tree", "Send the folder that holds the files.")


def _no(path: Path, fact: str, hint: str) -> NoCodeRepository:
    return NoCodeRepository(f"{path} {fact}.", hint=hint, data={"parameter": "code_repo_path", "path": str(path)})
