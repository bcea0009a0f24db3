from __future__ import annotations

import stat
import subprocess
from pathlib import Path

import pytest

from mcp_agent_mail.archive.transfer.export import NothingToExport
from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.features.recovery.export import export
from mcp_agent_mail.features.recovery.scratch import PlaceTaken, UnfitTarget
from tests.archive_harness import ArchiveHarness
from tests.features.recovery.team import Team, silent

_FORMAT = "--format=%an|%ae|%at|%cn|%ct|%B"


def _git(path: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(path), *arguments], check=True, capture_output=True)
    return done.stdout.decode("utf-8", "replace")


def _everything(path: Path) -> bytes:
    """Each object that the repository has, reachable or not."""
    git = ["git", "-C", str(path), "cat-file", "--batch", "--batch-all-objects"]
    return subprocess.run(git, check=True, capture_output=True).stdout


def _exported(harness: ArchiveHarness, slug: str, *, is_exact: bool = False) -> Path:
    target = harness.root.parent / f"{slug}-{'exact' if is_exact else 'shown'}"
    export(harness.root / "projects" / slug, target, storage_root=harness.root, is_exact=is_exact, progress=silent)
    return target


def _files(path: Path) -> set[str]:
    return set(_git(path, "ls-tree", "-r", "--name-only", "main").split("\n")) - {""}


@pytest.fixture
def secretive(team: Team) -> Team:
    """With a blind copy across projects, private mail with a file, receipts for both, and what came after."""
    harness = team.harness
    ghost = harness.add_agent(team.lib, "GhostOwl")
    blind = harness.send(team.blue, [team.red], bcc=[ghost], subject="Open", body="open body", carried=[b"open file"])
    harness.archive()
    private = harness.send(
        team.blue, [team.red], subject="Secret", body="hush hush", carried=[b"hidden file"], is_private=True
    )
    harness.archive()
    harness.read(team.app, team.red, private)
    harness.read(team.lib, ghost, blind)
    harness.archive()
    harness.send(team.red, [team.blue], subject="After", body="afterwards")
    harness.archive()
    return team


def test_a_blind_recipient_of_another_project_is_nowhere_in_the_history_of_the_senders(secretive: Team) -> None:
    exported = _exported(secretive.harness, "code-app")

    everything = _everything(exported)

    assert b"GhostOwl" in _everything(secretive.root / "projects" / "code-app")
    assert b"GhostOwl" not in everything
    assert b"open body" in everything
    assert b"open file" in everything


def test_private_mail_and_what_it_alone_carries_are_nowhere(secretive: Team) -> None:
    exported = _exported(secretive.harness, "code-app")

    everything = _everything(exported)

    for secret in (b"hush hush", b"Secret", b"secret", b"hidden file"):
        assert secret in _everything(secretive.root / "projects" / "code-app")
        assert secret not in everything
    assert not any("__secret__" in path for path in _files(exported))


def test_in_the_archive_of_the_blind_recipient_its_copy_and_its_receipts_are_gone(secretive: Team) -> None:
    exported = _exported(secretive.harness, "code-lib")

    paths = _files(exported)

    assert not any(path.startswith(("agents/GhostOwl/inbox", "agents/GhostOwl/receipts")) for path in paths)
    assert b"open body" not in _everything(exported)
    assert "agents/GhostOwl/profile.json" in paths


def test_what_is_left_of_a_senders_copy_is_what_all_others_have(secretive: Team) -> None:
    exported = _exported(secretive.harness, "code-app")

    outbox = next((exported / "agents/BlueLake/outbox").rglob("*__open__*.md")).read_bytes()

    assert outbox == next((exported / "messages").rglob("*__open__*.md")).read_bytes()


def test_each_commit_keeps_its_author_times_and_words(secretive: Team) -> None:
    archive = secretive.root / "projects" / "code-app"

    exported = _exported(secretive.harness, "code-app")

    assert _git(exported, "log", _FORMAT) == _git(archive, "log", _FORMAT)
    assert _git(exported, "fsck", "--strict", "--no-progress") == ""


def test_where_nothing_is_hidden_the_history_is_the_same_commits(team_pattern: Team, tmp_path: Path) -> None:
    archive = team_pattern.root / "projects" / "code-lib"

    found = export(archive, tmp_path / "copy", storage_root=archive.parent.parent, is_exact=False, progress=silent)

    assert found.commit == _git(archive, "rev-parse", "main").strip()


def test_an_exact_copy_has_all_of_it_and_leads_nowhere(secretive: Team) -> None:
    archive = secretive.root / "projects" / "code-app"

    exported = _exported(secretive.harness, "code-app", is_exact=True)

    assert _git(exported, "log", "--format=%H") == _git(archive, "log", "--format=%H")
    assert _git(exported, "remote") == ""
    assert str(secretive.root).encode() not in (exported / ".git/config").read_bytes()
    assert not (exported / ".git/objects/info/alternates").exists()
    assert _git(exported, "status", "--porcelain") == ""


def test_receipts_that_older_versions_told_of_are_told_no_more(team: Team) -> None:
    harness = team.harness
    ghost = harness.add_agent(team.app, "GhostOwl")
    blind = harness.send(team.blue, [team.red], bcc=[ghost], subject="Open")
    harness.archive()
    private = harness.send(team.blue, [ghost], subject="Secret", is_private=True)
    harness.archive()
    harness.read(team.app, ghost, private, as_before=True)
    harness.read(team.app, ghost, blind, as_before=True)
    harness.archive()
    harness.read(team.app, team.red, blind)
    harness.archive()

    exported = _exported(harness, "code-app")

    receipts = b"".join(path.read_bytes() for path in (exported / "receipts").rglob("*.jsonl"))
    assert (b"GhostOwl" in receipts, b"RedStone" in receipts) == (False, True)
    assert f"GhostOwl read {blind.id}" in _git(harness.path(team.app), "log", "--format=%an %B")
    log = _git(exported, "log", "--format=%an|%B")
    assert "GhostOwl read" not in log
    assert "GhostOwl|archive: records" not in log
    assert f"RedStone read {blind.id}" in log
    assert "Agent: GhostOwl" not in log.partition("GhostOwl joined")[0]


def test_a_mail_file_that_cannot_be_read_is_not_shown(team: Team) -> None:
    archive = team.root / "projects" / "code-app"
    path = next((archive / "messages").rglob("*__plan__*.md"))
    path.unlink()
    path.write_bytes(b"---json\nno head, private: GhostOwl")
    who = ("-c", "user.name=A", "-c", "user.email=a@b")
    subprocess.run(["git", "-C", str(archive), *who, "commit", "-qam", "edited"], check=True)

    exported = _exported(team.harness, "code-app")

    assert b"GhostOwl" not in _everything(exported)


def test_what_a_person_keeps_in_the_archive_comes_along(team: Team) -> None:
    archive = team.root / "projects" / "code-app"
    (archive / 'Bücher & "co".txt').write_text("mine")
    who = ("-c", "user.name=A", "-c", "user.email=a@b")
    subprocess.run(["git", "-C", str(archive), "add", "."], check=True)
    subprocess.run(["git", "-C", str(archive), *who, "commit", "-qm", "mine"], check=True)

    exported = _exported(team.harness, "code-app")

    assert (exported / 'Bücher & "co".txt').read_text() == "mine"


def test_an_empty_folder_is_taken_and_nothing_else_is_written_over(team_pattern: Team, tmp_path: Path) -> None:
    root = team_pattern.root
    archive, taken, link = root / "projects" / "code-lib", tmp_path / "taken", tmp_path / "link"
    taken.mkdir()
    (taken / "mine").touch()
    link.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "empty").mkdir()

    for target in (taken, link, taken / "mine"):
        with pytest.raises(PlaceTaken):
            export(archive, target, storage_root=root, is_exact=True, progress=silent)
    with pytest.raises(UnfitTarget):
        export(archive, tmp_path / "missing" / "copy", storage_root=root, is_exact=True, progress=silent)
    export(archive, tmp_path / "empty", storage_root=root, is_exact=True, progress=silent)

    assert {path.name for path in tmp_path.iterdir()} == {"empty", "link", "taken"}
    assert stat.S_IMODE((tmp_path / "empty").stat().st_mode) == 0o700


def test_a_failure_leaves_nothing(team_pattern: Team, tmp_path: Path) -> None:
    def full(done: int, total: int) -> None:
        raise OSError(28, f"No space left on device, {done} of {total}")

    with pytest.raises(Unavailable):
        export(
            team_pattern.root / "projects" / "code-app",
            tmp_path / "copy",
            storage_root=team_pattern.root,
            is_exact=False,
            progress=full,
        )

    assert list(tmp_path.iterdir()) == []


def test_a_project_without_a_commit_has_nothing_to_export(tmp_path: Path) -> None:
    with pytest.raises(NothingToExport):
        export(tmp_path / "nowhere", tmp_path / "copy", storage_root=tmp_path / "store", is_exact=True, progress=silent)
