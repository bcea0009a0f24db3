"""Each thing that `am doctor check` looks at, on a store with an archive that is broken in one way."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE

import pytest

from mcp_agent_mail.archive.locks import ArchiveLock
from mcp_agent_mail.features.archiving.protocol import LOCK_FILE, LOCKS_FOLDER
from mcp_agent_mail.features.doctor.check import CheckResult, CheckTarget, ServerAnswer, check_everything
from mcp_agent_mail.features.doctor.verify import Finding
from mcp_agent_mail.features.health.service import ARCHIVE_LATE_S
from tests.archive_harness import git, open_archive_harness
from tests.features.doctor.harness import Archived
from tests.store.foreign_parts import put_view
from tests.stored_contents import content_path, keep_content

URL = "http://127.0.0.1:8765"
WELL: dict[str, object] = {"status": "ok", "archive": {"last_error": None}}
SERVED = ServerAnswer(pid=7, url=URL, health=WELL)


def target(archived: Archived, owner: ServerAnswer | None = None) -> CheckTarget:
    harness = archived.harness
    return CheckTarget(
        storage_root=harness.root, database_path=harness.database, owner=owner, clock=harness.clock, low_space_bytes=0
    )


def results(place: CheckTarget) -> dict[str, CheckResult]:
    return {result.check: result for result in check_everything(place)}


def findings(place: CheckTarget) -> list[Finding]:
    return [finding for result in check_everything(place) for finding in result.findings]


def only_finding(place: CheckTarget) -> Finding:
    (finding,) = findings(place)
    return finding


def test_a_good_store_without_a_server_has_no_findings(archived: Archived) -> None:
    seen = results(target(archived))

    assert list(seen) == [
        "owner",
        "permissions",
        "disk",
        "locks",
        "numbers",
        "database",
        "git",
        "outbox",
        "archive code-app",
        "attachments",
        "archives",
    ]
    assert [result.findings for result in seen.values()] == [()] * 11
    assert seen["outbox"].evidence == "0 events wait for Git; the next server goes on with them"
    assert "git fsck --strict is clean" in seen["archive code-app"].evidence
    assert seen["git"].evidence.startswith("git version ")


def test_a_note_of_numbers_that_cannot_be_written_is_a_finding(archived: Archived) -> None:
    (archived.harness.root / "numbers.json").mkdir()

    finding = only_finding(target(archived))

    assert (finding.check, finding.problem) == ("numbers", "unreadable")
    assert "is no ordinary file" in finding.evidence
    assert "move away what lies there" in finding.next_step


def test_beside_a_server_locks_may_be_held(archived: Archived) -> None:
    seen = results(target(archived, SERVED))

    assert "locks" not in seen
    assert "wrote and read the store just now and says ok" in seen["owner"].evidence
    assert seen["outbox"].evidence == "0 events wait for Git"


@pytest.mark.parametrize(
    ("owner", "check", "problem", "evidence"),
    [
        (replace(SERVED, health=None, problem="timed out"), "owner", "silent", "does not answer: timed out"),
        (replace(SERVED, health=None, refusal="wrong host"), "owner", "refused", "take the question: wrong host"),
        (replace(SERVED, health={"status": "error", "archive": None}), "server", "error", "cannot write or read"),
        (
            replace(SERVED, health={"status": "degraded", "archive": {"last_error": "No space."}}),
            "server",
            "degraded",
            "No space.",
        ),
        (
            replace(SERVED, health={"status": "degraded", "archive": {}, "store": {"last_error": "3 outcomes wait."}}),
            "server",
            "store",
            "3 outcomes wait.",
        ),
    ],
)
def test_what_the_owner_answers_is_a_finding_unless_it_is_well(
    owner: ServerAnswer, check: str, problem: str, evidence: str, archived: Archived
) -> None:
    finding = only_finding(target(archived, owner))

    assert (finding.check, finding.problem) == (check, problem)
    assert evidence in finding.evidence


def test_who_holds_the_store_and_serves_nothing_is_no_finding(archived: Archived) -> None:
    seen = results(target(archived, ServerAnswer(pid=7, url=None)))

    assert "process 7 holds the lock of the store; it serves no address" in seen["owner"].evidence
    assert seen["owner"].findings == ()


def test_what_others_may_read_is_named_once_for_a_folder_and_by_file_otherwise(archived: Archived) -> None:
    database = archived.harness.database
    database.chmod(0o644)
    by_file = findings(target(archived))
    archived.harness.root.chmod(0o755)

    by_folder = findings(target(archived))

    assert [(one.problem, one.path) for one in by_file] == [("open to others", str(database))]
    assert [(one.problem, one.path) for one in by_folder] == [("open to others", str(archived.harness.root))]
    assert by_file[0].next_step == f"chmod go-rwx {database}"


def test_what_this_user_cannot_write_is_named(archived: Archived, monkeypatch: pytest.MonkeyPatch) -> None:
    def has_bits(path: Path, mode: int) -> bool:
        """As for everybody but root, who may write whatever the bits say."""
        return bool(path.stat().st_mode & stat.S_IWUSR) or not mode & os.W_OK

    objects = archived.path / ".git" / "objects"
    objects.chmod(0o500)
    archived.harness.database.chmod(0o400)
    monkeypatch.setattr(os, "access", has_bits)

    found = findings(target(archived))
    objects.chmod(0o700)

    assert [(one.problem, one.next_step) for one in found] == [
        ("not ours", f"ls -l {archived.harness.database}"),
        ("not writable", f"chmod u+rwx {objects}"),
    ]


def test_too_little_space_is_a_finding_with_the_folder(archived: Archived) -> None:
    finding = only_finding(replace(target(archived), low_space_bytes=2**62))

    assert (finding.check, finding.problem, finding.path) == ("disk", "low", str(archived.harness.root))


@pytest.mark.parametrize("name", [LOCK_FILE, f"{LOCKS_FOLDER}/code-app"])
def test_a_lock_that_is_held_without_a_server_is_a_finding(name: str, archived: Archived) -> None:
    path = archived.harness.root / name
    with ArchiveLock(path, timeout_s=0):
        finding = only_finding(target(archived))

    assert (finding.check, finding.problem, finding.path) == ("locks", "held", str(path))
    assert f"fuser {path} names it" in finding.next_step


def test_who_holds_such_a_lock_is_named_with_how_to_end_it(archived: Archived) -> None:
    path = archived.harness.root / LOCK_FILE
    hold = (
        'import fcntl, sys; lock = open(sys.argv[1], "w"); fcntl.flock(lock, fcntl.LOCK_EX); print(flush=True); input()'
    )
    with subprocess.Popen([sys.executable, "-c", hold, path], stdin=PIPE, stdout=PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        finding = only_finding(target(archived))
        holder.communicate(b"\n")

    assert f"process {holder.pid} (" in finding.evidence
    assert f"kill -9 {holder.pid};" in finding.next_step


def test_a_search_index_that_misses_mail_is_a_finding(archived: Archived) -> None:
    archived.harness.connection.execute("INSERT INTO messages_fts (messages_fts) VALUES ('delete-all')")

    assert only_finding(target(archived)).check == "search index"


def test_a_dangling_reference_is_a_finding(archived: Archived) -> None:
    archived.harness.connection.execute("PRAGMA foreign_keys=OFF")
    archived.harness.connection.execute("UPDATE outbox SET agent_id = 999 WHERE seq = 1")

    assert "references" in {finding.check for finding in findings(target(archived))}


def test_of_a_damaged_database_nothing_further_is_concluded(archived: Archived, tmp_path: Path) -> None:
    archived.harness.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    damaged = tmp_path / "damaged.sqlite3"
    shutil.copyfile(archived.harness.database, damaged)
    damaged.chmod(0o600)
    content = bytearray(damaged.read_bytes())
    content[4_096 * 2 :] = b"\xff" * (len(content) - 4_096 * 2)
    damaged.write_bytes(content)

    seen = results(replace(target(archived), database_path=damaged))

    assert {finding.problem for finding in seen["database"].findings} >= {"damaged"}
    assert "outbox" not in seen
    assert "the database was not asked" in seen["archive code-app"].evidence


def test_a_strangers_parts_are_a_finding_and_are_not_run(archived: Archived) -> None:
    put_view(archived.harness.database, "projects")

    seen = results(target(archived))

    assert any("projects differs" in finding.evidence for finding in seen["database"].findings)
    assert "outbox" not in seen
    assert "the database was not asked" in seen["archive code-app"].evidence


def test_git_that_cannot_be_run_is_a_finding(archived: Archived, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    seen = results(target(archived))

    assert [finding.problem for finding in seen["git"].findings] == ["missing"]


def test_events_that_wait_too_long_beside_a_server_are_a_finding_and_without_one_none(archived: Archived) -> None:
    archived.harness.send(archived.blue, [archived.red], subject="Later")
    archived.harness.clock.step(ARCHIVE_LATE_S)
    in_time = findings(target(archived, SERVED))
    archived.harness.clock.step(1)

    late = only_finding(target(archived, SERVED))
    without = results(target(archived))["outbox"]

    assert in_time == []
    assert (late.check, late.problem, late.evidence) == ("outbox", "late", "1 events wait for Git, the oldest for 31 s")
    assert (without.findings, without.evidence.split("; ")[1]) == ((), "the next server goes on with them")


def test_a_project_that_git_knows_nothing_of_yet_is_no_finding(archived: Archived) -> None:
    archived.harness.add_project("/code/new")

    seen = results(target(archived))

    assert seen["archive code-new"] == CheckResult(
        check="archive code-new", evidence="not begun yet: nothing of this project is in Git"
    )


def test_a_deleted_archive_is_a_finding_that_names_both_ways_back(archived: Archived) -> None:
    shutil.rmtree(archived.path)

    finding = only_finding(target(archived))

    assert (finding.check, finding.problem, finding.project) == ("archive", "refused", "code-app")
    assert "Put the archive back" in finding.next_step
    assert "am doctor repair" in finding.next_step


def test_an_archive_set_back_by_a_person_is_a_finding(archived: Archived) -> None:
    archived.harness.send(archived.blue, [archived.red], subject="Later")
    archived.harness.archive()
    git(archived.path, "update-ref", "refs/heads/main", "main~1")

    assert "it was set back" in only_finding(target(archived)).evidence


@pytest.mark.parametrize("name", ["agent-mail/work-tree", "agent-mail/months", "HEAD"])
def test_what_keeps_whoever_opens_it_waiting_is_a_finding(archived: Archived, name: str) -> None:
    place = archived.path / ".git" / name
    place.unlink(missing_ok=True)
    os.mkfifo(place)

    finding = only_finding(target(archived))

    assert str(place) in finding.evidence


def test_a_damaged_object_of_git_is_a_finding(archived: Archived) -> None:
    for pack in archived.path.glob(".git/objects/pack/*.pack"):
        pack.chmod(0o600)
        content = bytearray(pack.read_bytes())
        content[len(content) // 2] ^= 0xFF
        pack.write_bytes(content)

    finding = only_finding(target(archived))

    assert (finding.check, finding.problem, finding.project) == ("git", "damaged", "code-app")
    assert "am doctor repair" in finding.next_step


def test_a_folder_of_nobody_among_the_archives_is_a_finding(archived: Archived) -> None:
    (archived.path.parent / "stray").mkdir()

    assert only_finding(target(archived)).project == "stray"


def test_a_store_whose_archives_were_never_begun_is_well(tmp_path: Path) -> None:
    with open_archive_harness(tmp_path) as harness:
        harness.add_project("/code/app")
        place = CheckTarget(
            storage_root=tmp_path,
            database_path=harness.database,
            owner=None,
            clock=harness.clock,
            low_space_bytes=0,
        )

        assert findings(place) == []


@pytest.fixture
def carrying(archived: Archived) -> list[Path]:
    """Where lies what its mail carries, all of it in Git, in the order of their names."""
    contents = [b"the plan", b"the plot", b"a note"]
    archived.harness.send(archived.blue, [archived.red], carried=contents)
    archived.harness.archive()
    root = archived.harness.root
    return sorted(content_path(root, keep_content(root, content)) for content in contents)


def test_contents_that_are_gone_beside_the_database_are_one_finding_that_counts_all(
    archived: Archived, carrying: list[Path]
) -> None:
    whole = results(target(archived))["attachments"]
    shutil.rmtree(archived.harness.root / "attachments")

    lost = only_finding(target(archived))

    assert (whole.findings, whole.evidence) == ((), "3 that mail carries are there in their size")
    assert (lost.check, lost.problem, lost.path) == ("attachments", "missing", str(carrying[0]))
    assert lost.evidence.startswith("3 of 3 that mail carries")
    assert lost.next_step.startswith("am doctor repair")


def _cut(path: Path) -> None:
    path.write_bytes(b"")


def _make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _put_below_file(path: Path) -> None:
    shutil.rmtree(path.parent)
    path.parent.touch()


@pytest.mark.parametrize(
    ("harm", "problem"), [(_cut, "different"), (_make_folder, "missing"), (_put_below_file, "missing")]
)
def test_a_content_that_is_not_what_it_was_is_a_finding(
    archived: Archived, carrying: list[Path], harm: Callable[[Path], None], problem: str
) -> None:
    harm(carrying[1])

    found = only_finding(target(archived))

    assert (found.problem, found.path) == (problem, str(carrying[1]))
    assert found.evidence.startswith("1 of 3 that mail carries")


def test_what_no_mail_carries_any_more_need_not_be_there(archived: Archived, carrying: list[Path]) -> None:
    archived.harness.connection.execute("DELETE FROM content_messages")
    for path in carrying:
        path.unlink()

    assert findings(target(archived)) == []


def test_a_slug_that_is_a_path_is_a_finding_and_no_file_is_looked_for_there(archived: Archived, tmp_path: Path) -> None:
    slug = str(tmp_path / "outside")
    archived.harness.connection.execute("UPDATE projects SET slug = ? WHERE id = 1", (slug,))

    found = [(one.check, one.problem) for one in findings(target(archived))]

    assert ("values", "impossible") in found
