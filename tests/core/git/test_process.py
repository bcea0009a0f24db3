from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import pytest

from mcp_agent_mail.core.git import process as runner
from mcp_agent_mail.core.git.environment import GitPlace, scrubbed_environment
from mcp_agent_mail.core.git.process import (
    FOREIGN_BYTES,
    GitDiskFull,
    GitFailed,
    run_git,
    start_git,
    stream_git,
    talk_to_git,
)
from tests.faults.disks import small_disk


def test_git_variables_of_the_caller_do_not_reach_git() -> None:
    scrubbed = scrubbed_environment({"GIT_DIR": "/elsewhere", "GIT_AUTHOR_NAME": "x", "PATH": "/bin"})

    assert "GIT_DIR" not in scrubbed
    assert "GIT_AUTHOR_NAME" not in scrubbed
    assert scrubbed["PATH"] == "/bin"


def test_configuration_of_the_user_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Somebody\n")
    monkeypatch.setenv("HOME", str(tmp_path))

    with pytest.raises(GitFailed):
        run_git("config", "user.name")


def test_a_failure_says_what_git_said() -> None:
    with pytest.raises(GitFailed, match=r"git rev-parse ended with code 128: .*not a git repository"):
        run_git("--git-dir=/nowhere", "rev-parse", "HEAD")


def test_a_failure_begins_with_its_reason(tmp_path: Path) -> None:
    run_git("-C", str(tmp_path), "init", "-q")
    identity = ("user.name=Ann", "user.email=ann@example.com")
    run_git("-C", str(tmp_path), "commit", "-q", "--allow-empty", "-m", "first", config=identity)

    with pytest.raises(GitFailed) as failed:
        run_git("-C", str(tmp_path), "log", "HEAD^{tree}^", "nowhere")

    assert "hint:" not in str(failed.value)


def test_a_command_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    try:
        with pytest.raises(GitFailed, match="took too long"):
            run_git("-C", str(tmp_path), "hash-object", f"/dev/fd/{reading}", timeout_s=0.05, keep_fds=(reading,))
    finally:
        os.close(reading)
        os.close(writing)


@pytest.fixture
def instead_of_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a shell script in the place of Git."""

    def put(script: str) -> None:
        program = tmp_path / "bin" / "git"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    return put


def overdue(has_begun: Path, held: int) -> str:
    """Let the time of a run be over after the script has come so far, however slow the machine is. What is told."""
    for timeout_s in (0.2, 1.0, 5.0, 20.0):
        with pytest.raises(GitFailed, match="took too long") as caught:
            run_git("status", timeout_s=timeout_s, keep_fds=(held,))
        if has_begun.exists():
            return caught.value.message
    raise AssertionError("the script did not begin")


def test_a_child_that_outlives_git_and_holds_its_pipes_is_ended_too(
    tmp_path: Path, instead_of_git: Callable[[str], None]
) -> None:
    reading, writing = os.pipe()
    begun, lived_on = tmp_path / "begun", tmp_path / "lived_on"
    instead_of_git(f"(sleep 20; touch {lived_on}) &\ntouch {begun}\nexit 0")

    overdue(begun, writing)

    os.close(writing)
    with os.fdopen(reading, "rb") as told:
        assert told.read() == b""  # Nobody holds it any more.
    assert not lived_on.exists()


def test_a_child_that_has_left_the_group_and_holds_the_pipes_keeps_nobody(
    tmp_path: Path, instead_of_git: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_AFTER_KILL_S", 0.1)
    reading, writing = os.pipe()
    left = tmp_path / "left"
    leave = f"os.setsid(); open('{left}.new', 'w').write(str(os.getpid())); os.rename('{left}.new', '{left}')"
    instead_of_git(f'echo said >&2\n{sys.executable} -c "import os, time; {leave}; time.sleep(30)" &\nexit 0')

    told = overdue(left, writing)

    os.close(writing)
    os.set_blocking(reading, False)
    with pytest.raises(BlockingIOError):  # The child holds it: it was not waited for.
        os.read(reading, 1)
    os.kill(int(left.read_text()), signal.SIGKILL)
    os.close(reading)
    assert told.endswith("said")


def test_a_stream_may_be_left_early() -> None:
    with stream_git("help", "-a") as lines:
        first = lines.readline()

    assert first


def test_a_stream_that_ends_badly_raises() -> None:
    with pytest.raises(GitFailed, match="ls-tree"), stream_git("--git-dir=/nowhere", "ls-tree", "HEAD") as lines:
        assert lines.read() == b""


def test_a_job_that_cannot_be_started_leaves_no_file_open(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[IO[bytes]] = []

    def noted() -> IO[bytes]:
        opened.append(TemporaryFile())  # noqa: SIM115  # that it is closed is what is looked at
        return opened[-1]

    monkeypatch.setattr(runner, "TemporaryFile", noted)
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(FileNotFoundError):
        start_git("status")

    assert [file.closed for file in opened] == [True] * 3


def run(place: GitPlace) -> None:
    run_git("rev-parse", "--git-dir", place=place)


def talk(place: GitPlace) -> None:
    with talk_to_git("cat-file", "--batch-check", place=place):
        pass


def stream(place: GitPlace) -> None:
    with stream_git("rev-parse", "--git-dir", place=place) as lines:
        lines.read()


def start(place: GitPlace) -> None:
    start_git("rev-parse", "--git-dir", place=place).finish(60.0)


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="the system bounds no other process")
@pytest.mark.parametrize("way", [run, talk, stream, start])
def test_git_is_bounded_in_a_strangers_place_however_it_is_started(
    way: Callable[[GitPlace], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_git("init", "-q", "--bare", str(tmp_path))
    bounds: list[tuple[int, tuple[int, int]]] = []
    monkeypatch.setattr(resource, "prlimit", lambda _, kind, limits: bounds.append((kind, limits)))

    way(GitPlace(git_dir=tmp_path))
    of_ours = list(bounds)
    way(GitPlace(git_dir=tmp_path, is_foreign=True))

    assert of_ours == []
    assert bounds == [(resource.RLIMIT_DATA, (FOREIGN_BYTES, FOREIGN_BYTES))]


def test_what_is_started_after_the_end_is_ended_too() -> None:
    program = """
import os
from mcp_agent_mail.core.git.process import GitFailed, kill_git_under_way, run_git

reading, writing = os.pipe()
kill_git_under_way()
try:
    run_git("hash-object", f"/dev/fd/{reading}", timeout_s=20.0, keep_fds=(reading,))
except GitFailed as failed:
    print(failed.data["code"])
"""
    ended = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=120)

    assert int(ended.stdout) == -signal.SIGKILL


def test_git_inherits_no_secret() -> None:
    given = {"HTTP_BEARER_TOKEN": "s", "OPENAI_API_KEY": "s", "AGENT_MAIL_TOKEN": "s", "PATH": "/bin"}

    kept = scrubbed_environment(given)

    assert kept.keys() & given.keys() == {"PATH"}


def test_git_is_told_more_once_it_has_answered(tmp_path: Path) -> None:
    run_git("init", "-q", str(tmp_path))
    blob = run_git("-C", str(tmp_path), "hash-object", "-w", "--stdin", stdin=b"one").decode().strip()

    with talk_to_git("-C", str(tmp_path), "cat-file", "--batch-check") as git:
        git.say(f"{blob}\n".encode())
        first = git.hear()
        git.say(b"nothing\n")
        second = git.hear()

    assert (first, second) == (f"{blob} blob 3".encode(), b"nothing missing")


def test_a_conversation_that_ends_badly_raises_whatever_was_still_to_be_said() -> None:
    def say_much() -> None:
        with talk_to_git("--git-dir=/nowhere", "cat-file", "--batch-check") as git:
            assert git.hear() == b""
            git.say(b"HEAD\n" * 100_000)

    with pytest.raises(GitFailed, match=r"git cat-file ended with code 128: .*not a git repository"):
        say_much()


def test_a_conversation_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    run_git("init", "-q", str(tmp_path))

    with (
        pytest.raises(GitFailed, match="took too long"),
        talk_to_git("-C", str(tmp_path), "cat-file", "--batch-check", timeout_s=0.05) as git,
    ):
        assert git.hear() == b""


def made_repository(folder: Path) -> str:
    """With one commit; its id."""
    run_git("init", "-q", "-b", "main", str(folder))
    identity = ("user.name=Somebody", "user.email=somebody@example.com")
    run_git("-C", str(folder), "commit", "-q", "--allow-empty", "-m", "first", config=identity)
    return run_git("-C", str(folder), "rev-parse", "HEAD").decode().strip()


def test_objects_are_borrowed_from_a_folder_of_any_name(tmp_path: Path) -> None:
    theirs = tmp_path / 'a:b "quoted" \\ back'
    commit = made_repository(theirs)
    run_git("init", "-q", "--bare", str(tmp_path / "ours"))

    place = GitPlace(git_dir=tmp_path / "ours", borrowed=(theirs / ".git" / "objects",))

    assert run_git("cat-file", "-t", commit, place=place) == b"commit\n"


def test_a_missing_object_is_fetched_from_nowhere(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    made_repository(theirs)
    ran = tmp_path / "ran"
    for name, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": "ssh://nowhere.invalid/repository",
        "core.sshCommand": f"touch {ran};",
        "protocol.ssh.allow": "always",
    }.items():
        run_git("-C", str(theirs), "config", name, value)

    with pytest.raises(GitFailed):
        run_git("-C", str(theirs), "cat-file", "blob", "1" * 40)

    assert not ran.exists()


def test_git_without_room_is_told_from_git_that_found_fault_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file of its errors lies on the same disk."""
    with small_disk(tmp_path / "disk", size_kib=512) as disk:
        monkeypatch.setattr("tempfile.tempdir", str(disk))
        place = GitPlace(git_dir=disk / "archive.git")
        run_git("init", "--quiet", "--bare", "--template=", str(place.git_dir))
        with (
            pytest.raises(GitDiskFull, match="No space left on device") as lacking,
            talk_to_git("index-pack", "--stdin", place=place) as git,
        ):
            git.say(_pack_of(tmp_path, os.urandom(1 << 20)))

    assert lacking.value.place == place.git_dir
    with pytest.raises(GitFailed) as failed:
        run_git("rev-parse", "--verify", "nothing", place=GitPlace(git_dir=tmp_path))
    assert not isinstance(failed.value, GitDiskFull)


def _pack_of(tmp_path: Path, content: bytes) -> bytes:
    place = GitPlace(git_dir=tmp_path / "source.git")
    run_git("init", "--quiet", "--bare", "--template=", str(place.git_dir))
    blob = run_git("hash-object", "-w", "--stdin", stdin=content, place=place)
    return run_git("pack-objects", "-q", "--stdout", stdin=blob, place=place)
