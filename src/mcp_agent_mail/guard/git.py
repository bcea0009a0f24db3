"""Git, asked inside somebody's commit or push, in the one environment of every Git run of ours.

It is asked through a shadow of the repository. What a hook is told in `GIT_*` is taken as data: the index of a
partial commit, the directory of a linked work tree, where objects are. The committer's own configuration (system,
user, `git -c`) is read for one question: who commits. It is theirs, and not the repository's.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from mcp_agent_mail.core.git.environment import GitPlace, command_line, scrubbed_environment
from mcp_agent_mail.core.git.foreign_repository import ForeignRepository
from mcp_agent_mail.core.git.shadow_repository import shadow_of

TIMEOUT_S = 10.0
"""For one answer. A repository that takes longer is a failure of the guard, which is said, never silent."""

MAX_ANSWER_BYTES = 64 * 1024 * 1024

_STDERR_SHOWN = 300

_OBJECTS = ("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES")
_OF_COMMITTER = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
COMMAND_LINE_SETTINGS = ("GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT")
_NUMBERED_SETTINGS = ("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_")


class GitRefused(Exception):
    """Git ended with an error, took too long, or is not there. The text is for people."""


class Git:
    """`environ` is the hook's own environment; of its `GIT_*` only where objects are gets through."""

    def __init__(self, environ: Mapping[str, str], place: GitPlace) -> None:
        self._place = place
        given = {name: environ[name] for name in _OBJECTS if name in environ}
        self._environ = {**scrubbed_environment(environ), "GIT_OPTIONAL_LOCKS": "0", **given}
        self._of_committer = {**scrubbed_environment(environ, user_config=True), **_settings_of_committer(environ)}

    def ask(self, *arguments: str) -> bytes:
        """What Git prints. Raises GitRefused."""
        code, said, complaint = self.try_(*arguments)
        if code != 0:
            told = complaint.decode("utf-8", "replace").strip()[-_STDERR_SHOWN:]
            raise GitRefused(f"git {arguments[0]} ended with code {code}: {told or 'no message'}")
        return said

    def try_(self, *arguments: str) -> tuple[int, bytes, bytes]:
        """Exit code, output and complaint, where an error is an answer too."""
        return self._run(arguments, self._environ)

    def try_as_committer(self, *arguments: str) -> tuple[int, bytes, bytes]:
        """As `try_`, with the committer's own configuration: for what it says, never for work on the repository."""
        return self._run(arguments, self._of_committer)

    def _run(self, arguments: tuple[str, ...], environ: Mapping[str, str]) -> tuple[int, bytes, bytes]:
        try:
            done = subprocess.run(
                command_line((*self._place.arguments(), *arguments)),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                env=environ,
                timeout=TIMEOUT_S,
            )
        except subprocess.TimeoutExpired:
            raise GitRefused(f"git {arguments[0]} took longer than {TIMEOUT_S:.0f} s") from None
        except OSError as failed:
            raise GitRefused(f"git cannot be run: {failed.strerror}") from failed
        if len(done.stdout) > MAX_ANSWER_BYTES:
            raise GitRefused(f"git {arguments[0]} printed more than {MAX_ANSWER_BYTES >> 20} MiB")
        return done.returncode, done.stdout, done.stderr


@contextmanager
def open_git(environ: Mapping[str, str], repository: ForeignRepository, cwd: str) -> Iterator[Git]:
    """Git over a shadow of `repository` that is gone afterwards. Raises GitRefused and UnfitRepository."""
    index = environ.get("GIT_INDEX_FILE")
    try:
        with shadow_of(repository, index=index and os.path.join(cwd, index)) as shadow:  # noqa: PTH118  # starts faster
            top = None if repository.top is None else Path(repository.top)
            yield Git(environ, GitPlace(git_dir=Path(shadow), work_tree=top))
    except OSError as failed:
        raise GitRefused(f"{failed.filename or 'a temporary folder'}: {failed.strerror}") from failed


def _settings_of_committer(environ: Mapping[str, str]) -> dict[str, str]:
    named = (*_OF_COMMITTER, *COMMAND_LINE_SETTINGS)
    return {name: value for name, value in environ.items() if name in named or name.startswith(_NUMBERED_SETTINGS)}


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
