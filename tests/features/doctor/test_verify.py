"""`am doctor verify` finds what somebody did to an archive or to the database, and nothing else."""

from __future__ import annotations

import hashlib
from pathlib import Path

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.domain.attachments import StoredContent
from mcp_agent_mail.features.doctor.verify import Finding, verify_archives
from tests.archive_harness import git, open_archive_harness
from tests.features.doctor.harness import Archived
from tests.stored_contents import content_path, keep_content


def test_a_whole_archive_has_no_findings(archived: Archived) -> None:
    report = archived.harness.verify()

    assert report.is_clean
    # archive.json, four profiles, one receipts file, three copies of the mail.
    assert (report.projects, report.files, report.pending_events) == (1, 9, 0)


def test_what_git_has_yet_to_catch_up_with_is_counted_and_no_finding(archived: Archived) -> None:
    harness = archived.harness
    later = harness.send(archived.blue, [archived.red], subject="Later")
    harness.read(archived.project, archived.red, later)
    harness.clock.step(5)
    harness.describe(archived.project, archived.red, "Changed")
    harness.add_project("/code/new")

    report = harness.verify()

    assert report.findings == ()
    assert report.pending_events == 6


def edit_file(archived: Archived) -> str:
    # A link of its own: an edit in place would change every copy.
    path = archived.path / archived.mail_path
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content + b"tampered")
    return str(path.relative_to(archived.path))


def delete_file(archived: Archived) -> str:
    path = archived.mail_path
    (archived.path / path).unlink()
    return path


def commit_an_edit(archived: Archived) -> str:
    path = edit_file(archived)
    git(archived.path, "commit", "-q", "-a", "-m", "Correct the record")
    return path


def test_a_file_somebody_edited_is_found(archived: Archived) -> None:
    path = edit_file(archived)

    (finding,) = archived.harness.verify().findings

    assert (finding.check, finding.problem, finding.path) == ("work tree", "different", path)
    assert finding.next_step == f"git -C {archived.path} checkout -- {path}"
    git(archived.path, "checkout", "--", path)
    assert archived.harness.verify().is_clean


def test_a_file_somebody_deleted_is_found(archived: Archived) -> None:
    path = delete_file(archived)

    assert archived.findings() == [("work tree", "missing", path)]


def test_a_commit_that_rewrites_mail_is_found_at_once(archived: Archived) -> None:
    path = commit_an_edit(archived)

    assert ("history", "different", path) in archived.findings()


def test_a_commit_that_rewrites_mail_is_found_after_further_mail_too(archived: Archived) -> None:
    path = commit_an_edit(archived)
    archived.harness.send(archived.blue, [archived.red], subject="Later")
    archived.harness.archive()

    assert archived.findings() == [("archive", "different", path)]


def test_a_person_s_own_file_in_the_repository_is_no_finding(archived: Archived) -> None:
    (archived.path / "NOTES.md").write_text("mine")
    git(archived.path, "add", "NOTES.md")
    git(archived.path, "commit", "-q", "-m", "A note")
    archived.harness.send(archived.blue, [archived.red], subject="Later")
    archived.harness.archive()

    assert archived.findings() == []


def test_a_file_too_many_among_ours_is_found(archived: Archived) -> None:
    (archived.path / "messages/extra.md").write_text("never sent")
    git(archived.path, "add", "messages/extra.md")
    git(archived.path, "commit", "-q", "-m", "Invent mail")
    archived.harness.send(archived.blue, [archived.red], subject="Later")
    archived.harness.archive()

    assert archived.findings() == [("archive", "unexpected", "messages/extra.md")]


def test_a_message_missing_in_the_database_is_found(archived: Archived) -> None:
    for table in ("message_projects", "recipients", "messages"):
        key = "id" if table == "messages" else "message_id"
        archived.harness.connection.execute("PRAGMA foreign_keys=OFF")
        archived.harness.connection.execute(f"DELETE FROM {table} WHERE {key} = ?", (archived.message.id,))

    problems = {(check, problem) for check, problem, _ in archived.findings()}

    assert ("archive", "unexpected") in problems
    assert sum(problem == "unexpected" for _, problem, _ in archived.findings()) == 3


def test_a_message_changed_in_the_database_is_found(archived: Archived) -> None:
    archived.harness.connection.execute("UPDATE messages SET body_md = 'other'")

    assert [found[1] for found in archived.findings() if found[0] == "archive"] == ["different"] * 3


def test_a_receipt_changed_in_the_database_is_found(archived: Archived) -> None:
    archived.harness.connection.execute("UPDATE recipients SET read_ts = read_ts + 1")

    ((check, problem, path),) = archived.findings()

    assert (check, problem) == ("archive", "different")
    assert path is not None
    assert path.startswith("receipts/")


def test_an_event_that_never_reached_the_outbox_is_found(archived: Archived) -> None:
    lost = archived.harness.send(archived.blue, [archived.red], subject="Lost")
    archived.harness.connection.execute("DELETE FROM outbox WHERE message_id = ?", (lost.id,))

    assert [problem for _, problem, _ in archived.findings()] == ["missing"] * 3


def test_history_that_was_rewritten_is_found(archived: Archived) -> None:
    git(archived.path, "commit", "-q", "--amend", "--reset-author", "-m", "Never happened")

    (finding,) = archived.harness.verify().findings

    assert (finding.check, finding.problem) == ("history", "rewritten")


def test_an_archive_that_is_gone_is_found(archived: Archived) -> None:
    archived.path.rename(archived.path.with_name("elsewhere"))

    kinds = [(found.check, found.problem, found.project) for found in archived.harness.verify().findings]

    assert kinds == [("archive", "missing", "code-app"), ("archive", "unexpected", "elsewhere")]


def test_what_lies_beside_the_archives_is_told_with_what_can_be_done(archived: Archived) -> None:
    beside = archived.path.parent
    (beside / "old-app.leases.json").write_text("{}")
    (beside / "notes").mkdir()
    (beside / "theirs").mkdir()
    (beside / "theirs" / "archive.json").write_text("{}")

    told = {str(found.project): (found.check, found.next_step) for found in archived.harness.verify().findings}

    assert told["old-app"][0] == "lease snapshot"
    assert told["old-app"][1].startswith(f"rm {beside}/old-app.leases.json")
    assert told["notes"] == ("archive", f"ls -la {beside}/notes; if nobody needs it, move it away")
    assert told["theirs"][1].startswith(f"move {beside}/theirs away and keep it")
    assert "am doctor rebuild" in told["theirs"][1]


def test_a_damaged_pack_is_found(archived: Archived) -> None:
    for pack in (archived.path / ".git/objects/pack").glob("*.pack"):
        pack.chmod(0o600)
        damaged = bytearray(pack.read_bytes())
        damaged[len(damaged) // 2] ^= 0xFF
        pack.write_bytes(damaged)

    findings: list[Finding] = list(archived.harness.verify().findings)

    assert {(found.check, found.project) for found in findings} >= {("git", "code-app")}


def test_it_changes_nothing(archived: Archived) -> None:
    before = _contents(archived.harness.root)

    archived.harness.verify()

    assert _contents(archived.harness.root) == before


def test_the_archive_may_go_on_while_it_is_checked(archived: Archived) -> None:
    harness = archived.harness
    harness.send(archived.blue, [archived.red], subject="Meanwhile")
    with harness.drain() as drain:
        harness.unmarked = True
        drain.flush(Micros(harness.clock() + 60 * SECOND))

        report = harness.verify()

    assert report.findings == ()
    assert report.pending_events == 1


def _contents(root: Path) -> dict[str, bytes]:
    files = (path for path in root.rglob("*") if path.is_file() and not path.name.startswith("mail.sqlite3-"))
    return {str(path): path.read_bytes() for path in files}


def test_it_tells_how_far_it_is_with_messages_and_with_files(archived: Archived) -> None:
    messages: list[tuple[int, int]] = []
    files: list[tuple[int, int]] = []

    verify_archives(
        archived.harness.root,
        archived.harness.database,
        progress=lambda done, total: messages.append((done, total)),
        comparing=lambda done, total: files.append((done, total)),
    )

    assert messages[-1] == (1, 1)
    assert files[-1] == (9, 9)


def test_receipts_for_blind_copies_are_found_where_they_lie_and_where_they_lay(tmp_path: Path) -> None:
    with open_archive_harness(tmp_path) as harness:
        project = harness.add_project("/code/app")
        blue, red = harness.add_agent(project, "BlueLake"), harness.add_agent(project, "RedStone")
        green = harness.add_agent(project, "GreenField")
        before, after = (harness.send(blue, [red], bcc=[green]) for _ in range(2))
        harness.read(project, green, before, as_before=True)
        harness.read(project, red, after)
        harness.read(project, green, after)
        harness.archive()

        told = sorted(str(path.relative_to(harness.path(project))) for path in harness.path(project).rglob("*.jsonl"))

        assert [path.split("/")[0] for path in told] == ["agents", "receipts"]
        assert told[0].startswith("agents/GreenField/receipts/")
        assert harness.verify().is_clean


def carry(archived: Archived) -> StoredContent:
    """Mail with an attachment, in Git."""
    archived.harness.send(archived.blue, [archived.red], carried=[b"the plan"])
    archived.harness.archive()
    assert archived.findings() == []
    return keep_content(archived.harness.root, b"the plan")


def test_an_attachment_somebody_edited_is_found(archived: Archived) -> None:
    content = carry(archived)
    (archived.path / content.path).write_bytes(b"the plot")

    assert archived.findings() == [("work tree", "different", content.path)]


def test_an_attachment_somebody_deleted_is_found(archived: Archived) -> None:
    content = carry(archived)
    (archived.path / content.path).unlink()

    assert archived.findings() == [("work tree", "missing", content.path)]


def test_an_attachment_that_is_not_what_its_name_says_is_found_in_git(archived: Archived) -> None:
    content = carry(archived)
    (archived.path / content.path).write_bytes(b"the plot")
    git(archived.path, "commit", "-q", "-a", "-m", "Correct the record")
    archived.harness.send(archived.blue, [archived.red], subject="Later")
    archived.harness.archive()

    (finding,) = archived.harness.verify().findings

    assert (finding.check, finding.problem, finding.path) == ("archive", "different", content.path)
    assert hashlib.sha256(b"the plot").hexdigest() in finding.evidence


def test_an_attachment_that_is_missing_or_damaged_beside_the_database_is_found(archived: Archived) -> None:
    path = content_path(archived.harness.root, carry(archived))
    path.write_bytes(b"the plot")
    damaged = archived.findings()
    path.unlink()

    assert damaged == [("attachments", "different", str(path))]
    assert archived.findings() == [("attachments", "missing", str(path))]


def test_an_attachment_that_no_mail_carries_is_found_in_the_archive_alone(archived: Archived) -> None:
    keep_content(archived.harness.root, b"of a send that was refused")
    path = archived.path / "attachments/ab/strange.txt"
    path.parent.mkdir(parents=True)
    path.touch()
    git(archived.path, "add", "attachments")
    git(archived.path, "commit", "-q", "-m", "Mine")
    archived.harness.send(archived.blue, [archived.red], subject="Later")
    archived.harness.archive()

    assert archived.findings() == [("archive", "unexpected", "attachments/ab/strange.txt")]


def test_what_several_messages_carry_is_one_file(archived: Archived) -> None:
    carry(archived)
    before = archived.harness.verify().files
    archived.harness.send(archived.blue, [archived.red], carried=[b"the plan"])
    archived.harness.archive()

    report = archived.harness.verify()

    assert (report.findings, report.files) == ((), before + 3)


def test_what_mail_will_bring_is_no_finding_yet(archived: Archived) -> None:
    carry(archived)
    archived.harness.send(archived.blue, [archived.red], carried=[b"the plan", b"another"])

    assert archived.findings() == []
