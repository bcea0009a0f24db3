"""An archive fails: a send never does. Health says what is wrong, and what can catch up does so by itself."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.features.archiving.index_refresh import LOOK_S
from tests.archive_harness import LONG, git, open_archive_harness
from tests.faults.disks import fill_disk, small_disk
from tests.faults.git_double import GitDouble, install_git_double
from tests.faults.harness import PROJECT, RED, Harness, harness, until
from tests.served import Served

GIT_TIMEOUT_S = 0.7


def lives(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def am_in(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return Served(root).am(*arguments)


def unseen_status(repository: Path) -> str:
    """Without the lock that `git status` takes to note what it has learnt, and in whose way the archiver would be."""
    return git(repository, "--no-optional-locks", "status", "--porcelain")


def do_as_told(command: str) -> None:
    subprocess.run(command, shell=True, check=True)


@asynccontextmanager
async def impatient_house(root: Path) -> AsyncIterator[Harness]:
    """With an archiver that waits for Git only so long."""
    async with harness(root, starts=False) as home:
        archiving = home.services.archiving
        archiving._settings = replace(archiving._settings, git_timeout_s=GIT_TIMEOUT_S)
        home.services.start()
        yield home


@pytest.fixture
def double(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitDouble:
    return install_git_double(tmp_path / "bin", monkeypatch)


async def test_a_full_archive_disk_holds_no_send_up_says_so_and_catches_up_once_there_is_room(tmp_path: Path) -> None:
    with small_disk(tmp_path / "store" / "projects", size_kib=2_048) as disk:
        async with harness(tmp_path / "store") as home:
            await home.send("Before")
            await home.until_archived()
            ballast = fill_disk(disk)

            await home.send("While full", body_md="y" * 50_000)
            error = await home.until_archive_says("Free some space on the disk of the archives.")
            inbox = await home.inbox()
            ballast.unlink()

            assert home.slug in error
            assert inbox == home.sent
            await home.require_nothing_lost()


async def test_a_short_write_of_a_pack_is_no_commit_and_is_made_again(tmp_path: Path) -> None:
    """The kernel cuts the pack off (RLIMIT_FSIZE) and kills the Git that goes on writing."""
    async with harness(tmp_path) as home:
        await home.send("Before")
        await home.until_archived()
        archiver = (await home.services.archiving.status()).archiver_pid
        assert archiver is not None
        before = resource.prlimit(archiver, resource.RLIMIT_FSIZE, (20_000, -1))

        await home.send("Cut off", body_md=os.urandom(60_000).hex())
        error = await home.until_archive_says("fast-import")
        inbox = await home.inbox()
        resource.prlimit(archiver, resource.RLIMIT_FSIZE, before)

        assert "It is tried again by itself" in error
        assert inbox == home.sent
        await home.require_nothing_lost()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="SKIPPED: reading /proc/self/mem is how EIO comes")
async def test_an_io_error_of_the_archive_disk_shows_and_passes(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        await home.send("Before")
        await home.until_archived()
        head = home.archive / ".git" / "HEAD"
        head.rename(head.with_name("HEAD.kept"))
        head.symlink_to("/proc/self/mem")

        await home.send("While broken")
        error = await home.until_archive_says("tried again")
        inbox = await home.inbox()
        head.unlink()
        head.with_name("HEAD.kept").rename(head)

        assert home.slug in error
        assert inbox == home.sent
        await home.require_nothing_lost()


@pytest.mark.slow
async def test_a_git_that_hangs_is_ended_with_its_children_and_the_work_done_again(
    tmp_path: Path, double: GitDouble
) -> None:
    async with impatient_house(tmp_path / "store") as home:
        await home.send("Before")
        await home.until_archived()
        double.behave("hang")

        await home.send("While it hangs")
        error = await home.until_archive_says("fast-import took too long")
        inbox = await home.inbox()
        double.behave("")

        assert "It is tried again by itself" in error
        assert inbox == home.sent
        await home.require_nothing_lost()
        assert [pid for pid in double.hung() if lives(pid)] == []


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["die", "die-late"])
async def test_a_git_that_is_killed_costs_a_retry_and_nothing_twice(
    tmp_path: Path, double: GitDouble, mode: str
) -> None:
    async with harness(tmp_path / "store") as home:
        await home.send("Before")
        await home.until_archived()
        double.behave(mode)

        await home.send("While it dies")
        error = await home.until_archive_says("fast-import")
        inbox = await home.inbox()
        double.behave("")

        assert "It is tried again by itself" in error
        assert inbox == home.sent
        await home.require_nothing_lost()


@pytest.mark.parametrize("mode", ["garbage", "lie"])
async def test_a_git_that_says_it_committed_and_did_not_is_not_believed(
    tmp_path: Path, double: GitDouble, mode: str
) -> None:
    async with harness(tmp_path / "store") as home:
        await home.send("Before")
        await home.until_archived()
        double.behave(mode)

        await home.send("While it talks nonsense")
        error = await home.until_archive_says("does not have the commit")
        health = await home.health()
        double.behave("")

        assert health["archive"]["pending_events"] == 1
        assert "It is tried again by itself" in error
        assert await home.inbox() == home.sent
        await home.require_nothing_lost()


async def test_a_missing_git_shows_with_what_to_do_and_is_used_once_it_is_there(
    tmp_path: Path, double: GitDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(double.folder))
    script = double.folder / "git"
    script.rename(double.folder / "not-yet")
    async with harness(tmp_path / "store") as home:
        await home.send()
        error = await home.until_archive_says("git")
        monkeypatch.undo()
        (double.folder / "not-yet").rename(script)

        assert "Install Git, or put it on the server's PATH." in error
        await home.require_nothing_lost()


@pytest.mark.slow
async def test_a_foreign_index_lock_stops_no_commit_and_is_waited_for(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        await home.send("Before")
        await home.until_archived()
        await home.until_idle()
        (home.archive / "NOTES.md").write_text("staged by a person")
        git(home.archive, "add", "NOTES.md")
        lock = home.archive / ".git" / "index.lock"
        lock.write_bytes(b"")

        await home.send("While it is locked")
        error = await home.until_archive_says("index.lock")
        in_git = home.mail_in_git()
        is_left_alone = lock.exists()
        lock.unlink()

        assert is_left_alone
        assert in_git == home.sent
        assert f"If no other Git runs there, remove {lock}." in error
        await home.require_nothing_lost()
        await home.until_idle()
        assert git(home.archive, "status", "--porcelain") == "A  NOTES.md\n"


async def test_an_archive_moved_away_under_the_server_is_gone_on_with_once_it_is_back(tmp_path: Path) -> None:
    async with harness(tmp_path / "store") as home:
        await home.send("Before")
        await home.until_archived()
        home.archive.rename(tmp_path / "away")

        await home.send("While it is away")
        error = await home.until_archive_says("Put the archive back")
        inbox = await home.inbox()
        was_begun_anew = home.archive.exists()
        (tmp_path / "away").rename(home.archive)

        assert "am doctor repair" in error
        assert inbox == home.sent
        assert not was_begun_anew
        await home.require_nothing_lost()


@pytest.mark.slow
async def test_an_archive_replaced_by_an_older_copy_under_the_server_is_not_written_to(tmp_path: Path) -> None:
    async with harness(tmp_path / "store") as home:
        await home.send("First")
        await home.until_archived()
        await home.until_idle()
        shutil.copytree(home.archive, tmp_path / "copy")
        await home.send("Second")
        await home.until_archived()
        home.archive.rename(tmp_path / "newest")
        (tmp_path / "copy").rename(home.archive)
        tip = git(home.archive, "rev-parse", "main")

        await home.send("Third")
        error = await home.until_archive_says("only: it was set back")

        assert git(home.archive, "rev-parse", "main") == tip
        assert "Put the archive back" in error
        assert await home.inbox() == home.sent
        home.archive.rename(tmp_path / "copy")
        (tmp_path / "newest").rename(home.archive)
        await home.require_nothing_lost()


async def _archive_of_two_messages(store: Path, copy: Path) -> tuple[Path, list[int]]:
    """An archive that is whole, beside a copy of an earlier time; and what was sent."""
    async with harness(store) as home:
        await home.send("First")
        await home.until_archived()
        shutil.copytree(home.archive, copy)
        await home.call("mark_message_read", project_key=PROJECT, agent_name=RED, message_id=home.sent[0])
        await home.send("Second")
        await home.until_archived()
        return home.archive, home.sent


@pytest.mark.slow
async def test_an_archive_set_back_is_written_again_by_the_command_that_health_named(tmp_path: Path) -> None:
    archive, sent = await _archive_of_two_messages(tmp_path / "store", tmp_path / "copy")
    shutil.rmtree(archive)
    (tmp_path / "copy").rename(archive)

    async with harness(tmp_path / "store") as home:
        home.sent = sent
        await home.send("Third")
        error = await home.until_archive_says("am doctor repair")
    command = error.partition("run `am ")[2].partition("`")[0]
    done = am_in(tmp_path / "store", *command.split())

    assert done.returncode == 0, done.stdout + done.stderr
    async with harness(tmp_path / "store") as home:
        home.sent = sent
        await home.send("Fourth")
        await home.require_nothing_lost()


@pytest.mark.slow
async def test_an_archive_that_is_gone_at_a_start_is_written_again_by_itself(tmp_path: Path) -> None:
    archive, sent = await _archive_of_two_messages(tmp_path / "store", tmp_path / "copy")
    shutil.rmtree(archive)

    async with harness(tmp_path / "store") as home:
        home.sent = sent
        await home.send("Third")
        await home.until_archived()
        await home.require_nothing_lost()


async def test_an_archive_that_lacks_nothing_is_not_renewed(tmp_path: Path) -> None:
    async with harness(tmp_path / "store") as home:
        await home.send("First")
        await home.until_archived()

    done = am_in(tmp_path / "store", "archive", "renew", PROJECT)

    assert done.returncode == 1
    assert "there is nothing to renew" in done.stderr


async def test_an_old_archive_under_a_new_database_is_refused_and_untouched(tmp_path: Path) -> None:
    async with harness(tmp_path / "old") as old:
        await old.send("Of the old store")
        await old.until_archived()
    (tmp_path / "new").mkdir()
    (tmp_path / "old" / "projects").rename(tmp_path / "new" / "projects")

    async with harness(tmp_path / "new") as home:
        tip = git(home.archive, "rev-parse", "main")
        await home.send("Of the new store")
        error = await home.until_archive_says("belongs to store")
        await home.call("ensure_project", human_key="/code/other")

        assert "Point STORAGE_ROOT and DATABASE_URL at the database that belongs to these archives" in error
        assert git(home.archive, "rev-parse", "main") == tip
        assert await home.inbox() == home.sent
        home.archive.rename(tmp_path / "kept")
        await home.require_nothing_lost()


async def test_an_old_database_over_newer_archives_is_told_and_writes_nothing(tmp_path: Path) -> None:
    async with harness(tmp_path / "store") as home:
        await home.send("First")
        await home.until_archived()
    shutil.copy(home.database, tmp_path / "backup")
    async with harness(tmp_path / "store") as home:
        await home.send("Lost with the database")
        await home.until_archived()
    (tmp_path / "backup").rename(home.database)

    async with harness(tmp_path / "store") as home:
        tip = git(home.archive, "rev-parse", "main")
        await home.send("Gets the lost one's number")
        error = await home.until_archive_says("older than its archive")

        assert "am doctor rebuild" in error
        assert "put the newer database back" in error
        assert "keep it" in error
        assert git(home.archive, "rev-parse", "main") == tip
        assert (await home.inbox())[-1:] == home.sent


@pytest.mark.slow
async def test_an_edited_file_does_not_stop_the_archive_and_check_names_the_way_back(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        await home.send("First")
        await home.until_archived()
        await home.until_idle()
        (letter,) = home.archive.glob(f"agents/{RED}/inbox/*/*/*/*.md")
        letter.unlink()
        letter.write_text("forged")

        await home.send("Second")
        await home.until_archived()
        (finding,) = home.verify().findings
        do_as_told(finding.next_step)

        assert (finding.check, finding.problem) == ("work tree", "different")
        await home.require_nothing_lost()


async def test_a_folder_where_a_file_belongs_is_left_alone_and_the_file_written_once_it_is_gone(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        await home.send("First")
        await home.until_archived()
        profile = home.archive / "agents" / RED / "profile.json"
        profile.unlink()
        (profile / "a person's").mkdir(parents=True)

        await home.call("set_status", project_key=PROJECT, agent_name=RED, status="busy")
        await home.call(
            "register_agent", project_key=PROJECT, name=RED, program="tests", model="none", task_description="New"
        )
        await home.send("Second")
        error = await home.until_archive_says("something else stands there")
        in_git, pending = home.mail_in_git(), (await home.health())["archive"]["pending_events"]
        is_left_alone = (profile / "a person's").is_dir()
        shutil.rmtree(profile)

        assert (in_git, pending) == (home.sent, 0)
        assert is_left_alone
        assert f"Move what is at {profile}" in error
        await home.require_nothing_lost()
        assert "New" in profile.read_text()


@pytest.mark.slow
async def test_a_planted_hook_is_never_run(tmp_path: Path) -> None:
    async with harness(tmp_path / "store") as home:
        await home.send("First")
        await home.until_archived()
        hooks = home.archive / ".git" / "hooks"
        hooks.mkdir(exist_ok=True)
        for name in (
            "post-commit",
            "pre-commit",
            "reference-transaction",
            "post-index-change",
            "update",
            "post-checkout",
        ):
            (hooks / name).write_text(f"#!/bin/sh\necho {name} >> {tmp_path}/ran\nexit 1\n")
            (hooks / name).chmod(0o755)
        git(home.archive, "config", "core.fsmonitor", str(hooks / "update"))

        await home.send("Second")
        await home.require_nothing_lost()
        await home.until_idle()

        assert not (tmp_path / "ran").exists()


@pytest.mark.slow
async def test_a_persons_own_commit_stays_and_ours_go_on_top(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        await home.send("First")
        await home.until_archived()
        await home.until_idle()
        (home.archive / "NOTES.md").write_text("mine")
        git(home.archive, "add", "NOTES.md")
        git(home.archive, "commit", "-q", "-m", "Notes of a person", "--", "NOTES.md")

        await home.send("Second")
        await home.require_nothing_lost()

        subjects = git(home.archive, "log", "--format=%s", "main").splitlines()
        assert "Notes of a person" in subjects[1:]
        assert git(home.archive, "show", "main:NOTES.md") == "mine"


@pytest.mark.slow
async def test_a_failing_archive_holds_up_no_other_projects(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        await home.send("First")
        await home.until_archived()
        home.archive.rename(tmp_path / "away")
        await home.send("Second")
        await home.until_archive_says("Put the archive back")

        other = (await home.call("ensure_project", human_key="/code/other"))["slug"]

        async def look() -> bool:
            return (tmp_path / "projects" / str(other) / "archive.json").exists()

        await until(look, lambda: "the other project waited")
        (tmp_path / "away").rename(home.archive)
        await home.require_nothing_lost()


def test_a_clock_set_back_an_hour_does_not_make_the_archive_wait_for_it(tmp_path: Path) -> None:
    with open_archive_harness(tmp_path) as disk_archive, disk_archive.drain() as drain:
        project = disk_archive.add_project("/code/app")
        blue, red = disk_archive.add_agent(project, "BlueLake"), disk_archive.add_agent(project, "RedStone")
        drain.step()
        disk_archive.clock.step(LONG)
        drain.step()
        assert disk_archive.tx.outbox.count_pending(project.id) == 0
        disk_archive.clock.step(-3_600)
        disk_archive.send(blue, [red])

        waits = []
        while disk_archive.tx.outbox.count_pending(project.id) or unseen_status(disk_archive.path(project)):
            waits.append(drain.step() or 0)
            disk_archive.clock.step(waits[-1])

        # While Git is at work it is looked after every LOOK_S, and how long Git takes is not the clock's to say.
        assert sum(wait for wait in waits[:-1] if wait > LOOK_S) < 5
        assert disk_archive.verify().findings == ()
