"""Git, asked inside somebody's commit or push.

Unlike `core.git` this keeps the caller's `GIT_*`: a hook is given the index of a partial commit and
the directory of its worktree that way. It also reads their configuration, where the agent's name stands.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping

from mcp_agent_mail.core.setting_names import SECRETS

TIMEOUT_S = 10.0
"""For one answer. A repository that takes longer is a failure of the guard, which is said, never silent."""

MAX_ANSWER_BYTES = 64 * 1024 * 1024

_CONFIG = ("core.quotePath=false", "core.fsmonitor=false", "log.showSignature=false")
_STDERR_SHOWN = 300


class GitRefused(Exception):
    """Git ended with an error, took too long, or is not there. The text is for people."""


class Git:
    """`environ` is the hook's own environment, secrets left out."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        kept = {name: value for name, value in environ.items() if name not in SECRETS}
        self._environ = {**kept, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}

    def ask(self, *arguments: str) -> bytes:
        """What Git prints. Raises GitRefused."""
        code, said, complaint = self.try_(*arguments)
        if code != 0:
            told = complaint.decode("utf-8", "replace").strip()[-_STDERR_SHOWN:]
            raise GitRefused(f"git {arguments[0]} ended with code {code}: {told or 'no message'}")
        return said

    def try_(self, *arguments: str) -> tuple[int, bytes, bytes]:
        """Exit code, output and complaint, where an error is an answer too."""
        settings = [part for entry in _CONFIG for part in ("-c", entry)]
        try:
            done = subprocess.run(
                ["git", *settings, *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                env=self._environ,
                timeout=TIMEOUT_S,
            )
        except subprocess.TimeoutExpired:
            raise GitRefused(f"git {arguments[0]} took longer than {TIMEOUT_S:.0f} s") from None
        except OSError as failed:
            raise GitRefused(f"git cannot be run: {failed.strerror}") from failed
        if len(done.stdout) > MAX_ANSWER_BYTES:
            raise GitRefused(f"git {arguments[0]} printed more than {MAX_ANSWER_BYTES >> 20} MiB")
        return done.returncode, done.stdout, done.stderr


def names_of(listing: bytes) -> list[str]:
    """The NUL-ended file names of a listing; bytes that are no UTF-8 become lone surrogates (`os.fsencode`)."""
    return [text_of(name) for name in listing.split(b"\0") if name]


def text_of(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def line_of(answer: bytes) -> str:
    """The one line that Git printed: a path may end in blanks, but not in a line break."""
    return text_of(answer.removesuffix(b"\n"))


def resolved(path: str) -> str:
    """The path with symbolic links resolved, absolute."""
    return os.path.realpath(path)
