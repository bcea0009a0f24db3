"""The guard's own entries in a code repository's configuration: read as data, written into the file itself.

`git config` works on a copy of it, outside of any repository; the result takes the file's place under Git's own lock.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from mcp_agent_mail.core.errors import Busy
from mcp_agent_mail.core.git.environment import GitPlace
from mcp_agent_mail.core.git.foreign_repository import MAX_CONFIG_BYTES
from mcp_agent_mail.core.git.process import run_git
from mcp_agent_mail.core.plain_files import UnfitFile, read_plain
from mcp_agent_mail.guard.hooks.folder import HookFile, HookFolder, not_plain

CONFIG = "config"
NO_REPOSITORY = GitPlace(git_dir=Path(os.devnull))
"""For questions to Git that are about no repository: it looks for none."""

_TIMEOUT_S = 10.0
_LOCK = "config.lock"
_ANYBODY = 0o777

Edit = tuple[str, ...]
"""Arguments of `git config --file`: `(name, value)`, or `("--unset-all", name)`."""


class ConfigLocked(Busy):
    """Another program is writing the repository's configuration."""


def require_plain_config(root: HookFolder) -> None:
    """Raise NothingPlainThere for a configuration that is a link, a FIFO, a device or too large."""
    _content(root.file(CONFIG))


def edit_config(root: HookFolder, edits: Sequence[Edit]) -> None:
    """Make all the edits in one step. Raises NothingPlainThere, ConfigLocked, GitFailed."""
    if not edits:
        return
    config, lock = root.file(CONFIG), root.file(_LOCK)
    descriptor = _locked(lock)
    try:
        with os.fdopen(descriptor, "wb") as file:
            before = _content(config)
            os.fchmod(descriptor, stat.S_IMODE(config.mode() or 0o644) & _ANYBODY)
            file.write(_edited(before, edits))
            file.flush()
            os.fsync(descriptor)
        lock.move_to(config)
    except BaseException:
        with suppress(OSError):
            lock.unlink()
        raise


def _locked(lock: HookFile) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(lock.name, flags, 0o600, dir_fd=lock.folder.opened)
    except FileExistsError as held:
        raise ConfigLocked(
            f"{lock.path} is there: another program is writing the repository's configuration, or was killed at it.",
            otherwise=f"; if no Git runs there, remove {lock.path}",
            data={"path": str(lock.path)},
        ) from held


def _content(config: HookFile) -> bytes:
    try:
        return read_plain(config.name, MAX_CONFIG_BYTES, follow=False, dir_fd=config.folder.opened) or b""
    except UnfitFile as unfit:
        raise not_plain(config.path, "file of configuration") from unfit


def _edited(before: bytes, edits: Sequence[Edit]) -> bytes:
    with TemporaryDirectory(prefix="agent-mail-") as folder:
        copy = Path(folder, CONFIG)
        copy.write_bytes(before)
        for edit in edits:
            run_git("config", "--file", str(copy), "--no-includes", *edit, timeout_s=_TIMEOUT_S, place=NO_REPOSITORY)
        return copy.read_bytes()
