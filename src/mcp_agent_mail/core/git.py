"""Runs Git as a child process, the same way for archives, workspaces and the guard.

Nothing from outside decides what Git does: arguments are lists, `GIT_*` of the caller's
environment is dropped, system and user configuration are not read, hooks and monitors are off,
and every call has a time limit.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO

from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.setting_names import SECRETS

DEFAULT_TIMEOUT_S = 60.0
_STDERR_SHOWN = 500

_CONFIG = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.quotePath=false",
    "core.autocrlf=false",
    "core.excludesFile=/dev/null",
    "core.attributesFile=/dev/null",
    "commit.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
)


class GitFailed(Unavailable):
    """Git ended with an error, or was ended because it took too long."""


def scrubbed_environment(source: Mapping[str, str]) -> dict[str, str]:
    """`source` without `GIT_*` (a hook's GIT_DIR would redirect every command) and secrets, with stable messages."""
    kept = {name: value for name, value in source.items() if not name.startswith("GIT_") and name not in SECRETS}
    return kept | {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


def _command(arguments: Sequence[str], config: Sequence[str]) -> list[str]:
    settings = [part for entry in (*_CONFIG, *config) for part in ("-c", entry)]
    return ["git", *settings, *arguments]


def _failed(arguments: Sequence[str], code: int | None, stderr: bytes) -> GitFailed:
    verb = next((argument for argument in arguments if not argument.startswith("-")), "git")
    said = stderr.decode("utf-8", "replace").strip()[-_STDERR_SHOWN:]
    how = "took too long" if code is None else f"ended with code {code}"
    return GitFailed(f"git {verb} {how}: {said or 'no message'}", data={"command": verb, "code": code})


def run_git(
    *arguments: str,
    stdin: bytes = b"",
    config: Sequence[str] = (),
    timeout_s: float = DEFAULT_TIMEOUT_S,
    keep_fds: Sequence[int] = (),
) -> bytes:
    """Run one Git command to its end and return what it printed; raises GitFailed.

    `keep_fds` stay open in the child: a lock held through one of them is held until Git has ended too.
    """
    with subprocess.Popen(
        _command(arguments, config),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=scrubbed_environment(os.environ),
        pass_fds=tuple(keep_fds),
    ) as process:
        try:
            stdout, stderr = process.communicate(stdin, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            _, stderr = process.communicate()
            raise _failed(arguments, None, stderr) from None
        if process.returncode != 0:
            raise _failed(arguments, process.returncode, stderr)
        return stdout


@contextmanager
def stream_git(*arguments: str, config: Sequence[str] = ()) -> Iterator[IO[bytes]]:
    """What a Git command prints, as a stream; leaving early ends the command. Raises GitFailed at the end."""
    with subprocess.Popen(
        _command(arguments, config),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=scrubbed_environment(os.environ),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            yield process.stdout
        except BaseException:
            process.kill()
            raise
        if process.stdout.read(1):
            process.kill()
            return
        stderr = process.stderr.read()
        if process.wait() != 0:
            raise _failed(arguments, process.returncode, stderr)


def start_git(*arguments: str, config: Sequence[str] = (), keep_fds: Sequence[int] = ()) -> subprocess.Popen[bytes]:
    """Start a long command whose output nobody needs; the caller waits for it, or ends it."""
    return subprocess.Popen(
        _command(arguments, config),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=scrubbed_environment(os.environ),
        pass_fds=tuple(keep_fds),
    )
