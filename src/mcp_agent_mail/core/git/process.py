"""Runs Git as a child process, the same way for archives, workspaces and the guard.

Nothing from outside decides what Git does: arguments are lists, and every run has the one environment
of `core.git.environment`. A run has a time limit, but for two: a stream has the one that it is given, and a job
runs until its caller ends it.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from mcp_agent_mail.core.disk_space import NO_ROOM_WORDS, nearly_full, reserve
from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.git.environment import GitPlace, command_line, scrubbed_environment
from mcp_agent_mail.core.lazy.dataclass import dataclass

DEFAULT_TIMEOUT_S = 60.0
FOREIGN_BYTES = 1024 * 1024 * 1024
"""Of memory that Git may take while it reads a stranger's repository: the history of the largest ones needs half."""
_STDERR_SHOWN = 500
_STDERR_RESERVED = 4_096
"""On disk before it starts: where there is no room left, Git can still say so."""
_AFTER_KILL_S = 1.0
"""For what was said before the end. A child that left the process group may hold the pipes for ever."""


class _UnderWay:
    """What runs now, of all threads. Of a process, like its children are: hence the one global."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: weakref.WeakSet[subprocess.Popen[bytes]] = weakref.WeakSet()
        self._is_over = False

    def note(self, process: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
        with self._lock:
            self._processes.add(process)
            is_over = self._is_over
        if is_over:
            _kill(process)
        return process

    def kill(self) -> None:
        with self._lock:
            self._is_over = True
            processes = list(self._processes)
        for process in processes:
            _kill(process)


_UNDER_WAY = _UnderWay()


def kill_git_under_way() -> None:
    """At the end of a process that leaves threads behind: their Git must not outlive it.

    Whatever they start from now on ends at once too.
    """
    _UNDER_WAY.kill()


class GitFailed(Unavailable):
    """Git ended with an error, or was ended because it took too long."""


class GitDiskFull(GitFailed):
    """Likewise, on a disk without room, known by its words or by what is left: of what Git read it proves nothing.
    `place` lies there; None where that is not known.
    """

    place: Path | None = None


def _failed(
    arguments: Sequence[str], code: int | None, stderr: bytes, place: GitPlace | None = None
) -> GitFailed | GitDiskFull:
    verb = next((argument for argument in arguments if not argument.startswith("-")), "git")
    said = stderr.decode("utf-8", "replace").strip("\0 \t\r\n")
    how = "took too long" if code is None else f"ended with code {code}"
    message = f"git {verb} {how}: {said[-_STDERR_SHOWN:] or 'no message'}"
    data = {"command": verb, "code": code}
    written = [] if place is None else [place.git_dir, *([] if place.work_tree is None else [place.work_tree])]
    tight = None if code is None else nearly_full(written)
    if tight is None and not any(words in said for words in NO_ROOM_WORDS):
        return GitFailed(message, data=data)
    lacking = GitDiskFull(message, data=data)
    lacking.place = tight
    return lacking


def _with_room(stderr: IO[bytes]) -> IO[bytes]:
    reserve(stderr, _STDERR_RESERVED)
    return stderr


@dataclass(frozen=True, slots=True)
class _Run:
    """What Git is asked, and where. The one place where it is started."""

    arguments: Sequence[str]
    config: Sequence[str] = ()
    place: GitPlace | None = None
    keep_fds: Sequence[int] = ()
    user_config: bool = False

    def start(
        self,
        stdin: int | IO[bytes],
        stdout: int | IO[bytes] = subprocess.PIPE,
        stderr: int | IO[bytes] = subprocess.PIPE,
    ) -> subprocess.Popen[bytes]:
        """In a process group of its own, noted, and bounded in a stranger's place."""
        arguments, environment = self.arguments, scrubbed_environment(os.environ, user_config=self.user_config)
        if self.place is not None:
            arguments, environment = (*self.place.arguments(), *arguments), environment | self.place.variables()
        process = _UNDER_WAY.note(
            subprocess.Popen(
                command_line(arguments, self.config),
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                env=environment,
                pass_fds=tuple(self.keep_fds),
                process_group=0,
            )
        )
        if self.place is not None and self.place.is_foreign:
            _bound(process)
        return process


def _bound(process: subprocess.Popen[bytes]) -> None:
    """Files that it maps do not count. It has begun already, and has had no time to take much."""
    if hasattr(resource, "prlimit"):
        with suppress(OSError, ValueError):  # It has ended already, or may take less anyway.
            resource.prlimit(process.pid, resource.RLIMIT_DATA, (FOREIGN_BYTES, FOREIGN_BYTES))


def run_git(
    *arguments: str,
    stdin: bytes = b"",
    config: Sequence[str] = (),
    timeout_s: float = DEFAULT_TIMEOUT_S,
    keep_fds: Sequence[int] = (),
    place: GitPlace | None = None,
) -> bytes:
    """Run one Git command to its end and return what it printed; raises GitFailed.

    `place`: without one, Git looks for a repository itself.
    `keep_fds` stay open in the child: a lock held through one of them is held until Git has ended too.
    """
    process = _Run(arguments, config, place, keep_fds).start(stdin=subprocess.PIPE)
    return _ended(process, arguments, stdin, timeout_s, place)


def run_users_git(*arguments: str, timeout_s: float = DEFAULT_TIMEOUT_S) -> bytes:
    """As `run_git`, with the configuration of system and user, for questions about what Git does for them."""
    process = _Run(arguments, user_config=True).start(stdin=subprocess.DEVNULL)
    return _ended(process, arguments, None, timeout_s)


def _ended(
    process: subprocess.Popen[bytes],
    arguments: Sequence[str],
    stdin: bytes | None,
    timeout_s: float,
    place: GitPlace | None = None,
) -> bytes:
    with process:
        try:
            stdout, stderr = process.communicate(stdin, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            _kill(process)
            raise _failed(arguments, None, _last_words(process)) from None
        except BaseException:
            _kill(process)
            raise
        if process.returncode != 0:
            raise _failed(arguments, process.returncode, stderr, place)
        return stdout


def _last_words(killed: subprocess.Popen[bytes]) -> bytes:
    try:
        _, stderr = killed.communicate(timeout=_AFTER_KILL_S)
    except subprocess.TimeoutExpired as held:
        return held.stderr or b""
    return stderr


class Conversation:
    """What is said to a running Git and what it answers; a Git that has ended shows as `end` raising GitFailed."""

    def __init__(self, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self._stdin = stdin
        self._stdout = stdout

    def say(self, data: bytes) -> None:
        with suppress(BrokenPipeError):
            self._stdin.write(data)
            self._stdin.flush()

    def hear(self) -> bytes:
        """The next line without its end; empty once Git has ended."""
        return self._stdout.readline().rstrip(b"\n")

    def hear_bytes(self, size: int) -> bytes:
        """So many bytes of what it says next; fewer once Git has ended."""
        return self._stdout.read(size)

    def end(self) -> None:
        with suppress(BrokenPipeError):
            self._stdin.close()


@contextmanager
def talk_to_git(
    *arguments: str,
    config: Sequence[str] = (),
    timeout_s: float = DEFAULT_TIMEOUT_S,
    keep_fds: Sequence[int] = (),
    place: GitPlace | None = None,
    steps_back: bool = False,
) -> Iterator[Conversation]:
    """A Git command that is told more once it has answered. Raises GitFailed at the end; `keep_fds` as in `run_git`.

    `steps_back`: it takes much of a processor, and everybody else goes first.
    """
    with (
        TemporaryFile() as stderr,
        _Run(arguments, config, place, keep_fds).start(stdin=subprocess.PIPE, stderr=_with_room(stderr)) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        if steps_back:
            _step_back(process)
        talk = Conversation(process.stdin, process.stdout)
        with _watched(process, timeout_s) as is_too_late:
            try:
                yield talk
                talk.end()
                code = process.wait()
            except BaseException:
                _kill(process)
                talk.end()
                raise
        if code != 0:
            stderr.seek(0)
            raise _failed(arguments, None if is_too_late() else code, stderr.read(), place)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """With all it has started: a wrapper's child would hold the pipes open, and us, also when the wrapper has ended.

    The number of the group is that of the process, and is nobody else's until the process is reaped. So nothing asks
    here whether it has ended (`poll` would reap it); once somebody has, its group may be another's.
    """
    if process.returncode is None:
        # Of a group in which everybody has ended, some systems say that it may not be sent a signal.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


@contextmanager
def _watched(process: subprocess.Popen[bytes], timeout_s: float | None) -> Iterator[Callable[[], bool]]:
    """Kill `process` when the time is up; whether it was. Without `timeout_s` it may take as long as it likes."""
    was_killed = threading.Event()

    def end() -> None:
        was_killed.set()
        _kill(process)

    watch = threading.Timer(timeout_s or 0, end)
    watch.daemon = True
    if timeout_s is not None:
        watch.start()
    try:
        yield was_killed.is_set
    finally:
        watch.cancel()


@contextmanager
def stream_git(
    *arguments: str, config: Sequence[str] = (), timeout_s: float | None = None, place: GitPlace | None = None
) -> Iterator[IO[bytes]]:
    """What a Git command prints, as a stream; leaving early ends the command. Raises GitFailed at the end."""
    with (
        TemporaryFile() as stderr,
        _Run(arguments, config, place).start(stdin=subprocess.DEVNULL, stderr=_with_room(stderr)) as process,
        _watched(process, timeout_s) as is_too_late,
    ):
        assert process.stdout is not None
        try:
            yield process.stdout
        except BaseException:
            _kill(process)
            raise
        if process.stdout.read(1):
            _kill(process)
            return
        if process.wait() != 0:
            stderr.seek(0)
            code = None if is_too_late() else process.returncode
            raise _failed(arguments, code, stderr.read(), place)


class GitJob:
    """A Git command that runs beside its caller, at low priority."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        arguments: Sequence[str],
        outputs: Sequence[IO[bytes]],
        place: GitPlace | None = None,
    ) -> None:
        self._process = process
        self._arguments = arguments
        self._place = place
        self._stdout, self._stderr = outputs

    def is_running(self) -> bool:
        return self._process.poll() is None

    def wait(self, timeout_s: float) -> None:
        """Wait until it has ended, at most `timeout_s` seconds."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)

    def finish(self, timeout_s: float) -> bytes:
        """Wait `timeout_s` seconds for what it prints, then end it. Raises GitFailed."""
        self.wait(timeout_s)
        if self.is_running():
            self.kill()
            raise _failed(self._arguments, None, b"")
        return self.result()

    def result(self) -> bytes:
        """What it printed, once it has ended. Raises GitFailed."""
        code = self._process.wait()
        with self._stdout, self._stderr:
            self._stdout.seek(0)
            self._stderr.seek(0)
            if code != 0:
                raise _failed(self._arguments, code, self._stderr.read(), self._place)
            return self._stdout.read()

    def kill(self) -> None:
        """End it and whatever it started, and wait for its end. What it printed is gone: ask for no `result` after
        that.
        """
        _kill(self._process)
        self._process.wait()
        self._stdout.close()
        self._stderr.close()


_LOW_PRIORITY = 10


def _step_back(process: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, process.pid, _LOW_PRIORITY)


def start_git(
    *arguments: str,
    stdin: bytes = b"",
    config: Sequence[str] = (),
    keep_fds: Sequence[int] = (),
    place: GitPlace | None = None,
) -> GitJob:
    """Start a long command that reads all of `stdin` before it works; the caller waits for it, or ends it."""
    with ExitStack() as opened:
        # Files, so that nobody has to read along.
        stdout, stderr = opened.enter_context(TemporaryFile()), opened.enter_context(TemporaryFile())
        with TemporaryFile() as told:
            told.write(stdin)
            told.seek(0)
            process = _Run(arguments, config, place, keep_fds).start(told, stdout, _with_room(stderr))
        opened.pop_all()  # From here on the job closes them.
    _step_back(process)
    return GitJob(process, arguments, (stdout, stderr), place)
