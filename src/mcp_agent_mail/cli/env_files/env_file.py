"""The one `.env` that counts: found, made where there is none, and changed in one step."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from mcp_agent_mail.cli.context import bad_settings
from mcp_agent_mail.clients.setup.staged_file import FileNotWritable, staged_alone, staged_at
from mcp_agent_mail.clients.setup.targets import (
    FileChanged,
    Target,
    clear_left_name,
    look_at,
    replace,
    require_writable,
)
from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.core.file_sync import sync_path
from mcp_agent_mail.core.settings.env_edit import EditedText, UnfitLine, with_value
from mcp_agent_mail.core.settings.env_file import MAX_BYTES
from mcp_agent_mail.core.settings.sources import SettingsError, find_env_file

_OWNER_ONLY = 0o600
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
OTHER_FILE = "Name a file that can be changed: --env-file FILE, or AGENT_MAIL_ENV_FILE."
_MOST_LOOKS = 100
"""At one change: each look in vain is a change that another has made."""
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS)


class EnvFileThere(Conflict):
    """There is a `.env` already, or something else in its place: nothing is written over it."""


class EnvFileUnfit(Conflict):
    """A `.env` that is left alone: what stands there, or where it lies, allows no change."""


def chosen_path(env_file: Path | None) -> Path:
    """The file that counts, whether it is there or not. Raises BadSettings, and EnvFileUnfit for one below a file."""
    try:
        path = find_env_file(os.environ, env_file=env_file, cwd=Path.cwd())
    except SettingsError as wrong:
        raise bad_settings(wrong) from wrong
    if (file := next((one for one in path.parents if one.is_file()), None)) is not None:
        raise EnvFileUnfit(
            f"{path} cannot be there: {file} is a file, and no folder.", hint=OTHER_FILE, data={"path": str(path)}
        )
    return path


def write_new(path: Path, text: str) -> None:
    """Write a file for this user alone (0600): whole or not at all, and never over anything. Raises EnvFileThere, and
    EnvFileUnfit where somebody is writing it, or something is in the way.
    """
    if os.path.lexists(path):
        raise _there(path)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with staged_alone(path) as descriptor:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="", closefd=False) as file:
                file.write(text)
            os.fsync(descriptor)
            _name(staged_at(path), path)
    except FileExistsError:
        raise _there(path) from None
    except FileNotWritable as unfit:
        raise _unchanged(path, unfit) from unfit
    sync_path(path.parent)


def _name(fresh: Path, path: Path) -> None:
    try:
        os.link(fresh, path, follow_symlinks=False)
    except OSError as failed:
        if failed.errno not in _NO_LINKS:
            raise
        # A file system without hard links: the name is taken first, by nobody else.
        os.close(os.open(path, _NEW, _OWNER_ONLY))
        fresh.replace(path)


def set_value(path: Path, name: str, value: str) -> EditedText | None:
    """Give the setting this value in the file, in one step: mode, owner, comments and order stay. None where there is
    no file. Where others of this program change it at the same time, all of their changes stay; of a program without
    our lock, what it writes between our last look and the rename is lost. Raises EnvFileUnfit, and nothing was changed.
    """
    try:
        for _ in range(_MOST_LOOKS - 1):
            with suppress(FileChanged):
                return _set_value(path, name, value)
        return _set_value(path, name, value)
    except FileNotWritable as unfit:
        raise _unchanged(path, unfit) from unfit
    except UnfitLine as faulty:
        raise EnvFileUnfit(f"{path} was not changed: {faulty}", hint="Mend that line: am config check") from faulty
    except UnicodeDecodeError as broken:
        raise EnvFileUnfit(f"{path} was not changed: it is no text in UTF-8.", hint="am config check") from broken


def _set_value(path: Path, name: str, value: str) -> EditedText | None:
    """Raises FileChanged where somebody else was faster, FileNotWritable, UnfitLine and UnicodeDecodeError."""
    target = look_at(path)
    if target.content is None:
        return None
    clear_left_name(target)
    require_writable(target)
    edit = with_value(_text(target), name, value)
    content = edit.text.encode()
    if content != target.content:
        replace(target, content, no_fault)
    return edit


def _text(target: Target) -> str:
    content = target.content or b""
    if len(content) > MAX_BYTES:
        raise FileNotWritable(f"it is longer than the {MAX_BYTES:,} bytes that are read of it")
    return content.decode()


def _unchanged(path: Path, unfit: FileNotWritable) -> EnvFileUnfit:
    return EnvFileUnfit(f"{path} was not changed: {unfit.message}.", hint=unfit.hint or OTHER_FILE)


def _there(path: Path) -> EnvFileThere:
    return EnvFileThere(
        f"{path} is there already; nothing is written over.",
        hint="Edit it and run am config check, or name another place: am init --env-file FILE",
        data={"path": str(path)},
    )
