"""Is everything well? One verdict from real round trips, each finding with its evidence and the next command.

Reads only, beside a running server or without one. `verify` goes further in one direction: it renders
every artifact again and compares it byte for byte; this looks at everything once.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mcp_agent_mail.archive.attachments import ATTACHMENTS_FOLDER, AttachmentFiles
from mcp_agent_mail.archive.git_folder import ArchiveRefused
from mcp_agent_mail.archive.inspection import Inspection, git_version
from mcp_agent_mail.archive.lock_holders import LockHolder, holders, named
from mcp_agent_mail.archive.ownership import ArchiveAhead
from mcp_agent_mail.archive.reading.hints import of_damaged
from mcp_agent_mail.core.clock import Clock
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.store_owner import is_held
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.ahead.older_database import find_ahead
from mcp_agent_mail.features.archiving.artifact_files import Progress
from mcp_agent_mail.features.archiving.lost_database import DatabaseLost, require_database
from mcp_agent_mail.features.archiving.protocol import LOCK_FILE, LOCKS_FOLDER, PROJECTS_FOLDER, archive_path
from mcp_agent_mail.features.archiving.renew import claim_of
from mcp_agent_mail.features.doctor.permission_check import find_permissions
from mcp_agent_mail.features.doctor.verify import AHEAD, CONTENT_STEP, Finding, find_around
from mcp_agent_mail.features.doctor.verify_store import says_nothing, verify_store
from mcp_agent_mail.features.health.service import ARCHIVE_LATE_S
from mcp_agent_mail.store.checks.artifacts import Artifacts, open_artifacts
from mcp_agent_mail.store.engine.noted_numbers import NOTE_FILE, flaw_of_note
from mcp_agent_mail.store.engine.sqlite.faults import (
    StoreFailed,
    StoreUnwritable,
    read_only_mount,
    told_when_unwritable,
)
from mcp_agent_mail.store.engine.sqlite.migrate import StoreRefused

LOW_SPACE_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAnswer:
    """What the caller found out about the owner of the store, by asking it. `health` is its own answer to a check.

    `pid` without `url`: a command at work, or a server that is about to listen. `problem`: why it gave no answer;
    `refusal`: what it said instead of one.
    """

    pid: int | None
    url: str | None
    health: dict[str, object] | None = None
    problem: str | None = None
    refusal: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One thing that was looked at: what was seen, and what is wrong with it."""

    check: str
    evidence: str
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckTarget:
    """The store that is looked at, and what its owner answered; `owner` is None when nobody owns it."""

    storage_root: Path
    database_path: Path
    owner: ServerAnswer | None
    clock: Clock
    low_space_bytes: int = LOW_SPACE_BYTES


def check_everything(place: CheckTarget, progress: Progress = lambda _done, _total: None) -> Iterator[CheckResult]:
    """One after the other, as they come: the last ones take seconds on large stores. `progress` counts archives. A
    database that is lost, or is none, is a finding.
    """
    yield _owner(place)
    yield _permissions(place)
    yield _space(place)
    if place.owner is None:
        yield _locks(place)
    yield _note(place)
    store = _store(place)
    if store is not None:
        yield store
    yield _git()
    if store is None or says_nothing(store.findings):
        # The archives are what a database can be made of.
        yield from _archives_alone(place, progress)
        return
    with open_artifacts(place.database_path) as artifacts:
        yield _outbox(place, artifacts)
        projects = list(artifacts.projects())
        for done, project in enumerate(projects):
            progress(done, len(projects))
            yield _archive(place, artifacts, project)
        yield _contents(place, artifacts)
        yield _strangers(place, artifacts)


def _finding(check: str, problem: str, evidence: str, next_step: str, **where: str) -> Finding:
    return Finding(
        check=check,
        problem=problem,
        project=where.get("project"),
        path=where.get("path"),
        evidence=evidence,
        next_step=next_step,
    )


def _owner(place: CheckTarget) -> CheckResult:
    owner = place.owner
    if owner is None:
        return CheckResult(check="owner", evidence="nobody holds the lock of the store: no server runs")
    who = f"process {owner.pid} holds the lock of the store"
    if owner.url is None:
        return CheckResult(check="owner", evidence=f"{who}; it serves no address: a command at work, or a start")
    if owner.refusal is not None:
        finding = _finding(
            "owner",
            "refused",
            f"{who} and serves {owner.url}; it answered, and did not take the question: {owner.refusal}",
            "do what its answer says, then look again: am doctor check",
        )
        return CheckResult(check="owner", evidence=who, findings=(finding,))
    if owner.health is None:
        finding = _finding(
            "owner",
            "silent",
            f"{who} and serves {owner.url}, which does not answer: {owner.problem}",
            f"am status, then the server's log; if it stays silent, kill {owner.pid} (what it answered is on disk)",
        )
        return CheckResult(check="owner", evidence=who, findings=(finding,))
    evidence = f"{who} and serves {owner.url}; it wrote and read the store just now and says {owner.health['status']}"
    return CheckResult(check="owner", evidence=evidence, findings=tuple(_said_by_server(owner.health)))


def _said_by_server(health: dict[str, object]) -> Iterator[Finding]:
    if health["status"] == "error":
        yield _finding(
            "server", "error", "the server cannot write or read its store just now", "am status, and the server's log"
        )
    elif (error := _last_error(health, "archive")) is not None:
        yield _finding("server", "degraded", error, "do what the evidence says; mail is safe meanwhile")
    if (error := _last_error(health, "store")) is not None:
        yield _finding("server", "store", error, "do what the evidence says; the server's log has more")


def _last_error(health: dict[str, object], of: str) -> str | None:
    part = health.get(of)
    error = part.get("last_error") if isinstance(part, dict) else None
    return None if error is None else str(error)


def _permissions(place: CheckTarget) -> CheckResult:
    evidence = f"{place.storage_root} and the database are the owner's alone"
    findings = find_permissions(place.storage_root, place.database_path)
    return CheckResult(check="permissions", evidence=evidence, findings=tuple(findings))


def _space(place: CheckTarget) -> CheckResult:
    findings, seen = [], []
    for folder in dict.fromkeys((place.database_path.parent, place.storage_root)):
        free = shutil.disk_usage(folder).free
        seen.append(f"{free // (1024 * 1024)} MiB free in {folder}")
        if free < place.low_space_bytes:
            findings.append(
                _finding(
                    "disk",
                    "low",
                    f"{seen[-1]}; below {place.low_space_bytes // (1024 * 1024)} MiB it is a matter of time",
                    f"du -sh {folder}/* ; df -h {folder}",
                    path=str(folder),
                )
            )
    return CheckResult(check="disk", evidence="; ".join(seen), findings=tuple(findings))


def _locks(place: CheckTarget) -> CheckResult:
    """Nobody owns the store, so nobody may hold these: what does keeps the next server from its archives."""
    root = place.storage_root
    folder = root / LOCKS_FOLDER
    findings = [
        _finding(
            "locks",
            "held",
            f"{named(found)} holds {path}, though no server runs: left by one that is dead",
            f"{_kill(found, path)}; mail is in the database, and Git is mended at the next start",
            path=str(path),
        )
        for path in [root / LOCK_FILE, *(sorted(folder.iterdir()) if folder.is_dir() else ())]
        if is_held(path)
        for found in [holders(path)]
    ]
    return CheckResult(check="locks", evidence="whether the locks of archives are free", findings=tuple(findings))


def _kill(found: list[LockHolder], path: Path) -> str:
    return f"kill -9 {' '.join(str(one.pid) for one in found)}" if found else f"fuser {path} names it: end it"


def _store(place: CheckTarget) -> CheckResult | None:
    """None where the database cannot be opened since it is mounted read-only, which the permissions have told."""
    try:
        require_database(place.storage_root, place.database_path)
        with told_when_unwritable(place.storage_root, place.database_path):
            findings = verify_store(place.database_path)
    except (DatabaseLost, StoreRefused, StoreFailed, StoreUnwritable) as refused:
        if isinstance(refused, StoreUnwritable) and read_only_mount(Path(refused.data["path"])) is not None:
            return None
        problem = "lost" if isinstance(refused, DatabaseLost) else "unreadable"
        step = refused.hint or "look at it with what made it"
        finding = _finding("database", problem, refused.message, step, path=str(place.database_path))
        return CheckResult(check="database", evidence=refused.message, findings=(finding,))
    evidence = f"pages, schema, references, counters and search index of {place.database_path}, compared in a copy"
    return CheckResult(check="database", evidence=evidence, findings=tuple(findings))


def _note(place: CheckTarget) -> CheckResult:
    """Without it a database that gave out numbers, and was moved away, is known to nobody."""
    path = place.storage_root / NOTE_FILE
    flaw = flaw_of_note(place.storage_root)
    if flaw is None:
        return CheckResult(check="numbers", evidence=f"{path} can be read, or is not there: it is not needed yet")
    step = f"move away what lies there (ls -ld {path}*): it is written anew when it is needed"
    finding = _finding("numbers", "unreadable", flaw, step, path=str(path))
    return CheckResult(check="numbers", evidence=flaw, findings=(finding,))


def _git() -> CheckResult:
    try:
        return CheckResult(check="git", evidence=git_version())
    except (GitFailed, OSError) as missing:
        finding = _finding("git", "missing", f"git cannot be run: {missing}", "install Git, or put it on PATH")
        return CheckResult(check="git", evidence="git cannot be run", findings=(finding,))


def _outbox(place: CheckTarget, artifacts: Artifacts) -> CheckResult:
    backlog = artifacts.outbox.backlog(place.clock())
    evidence = f"{backlog.pending_events} events wait for Git"
    if backlog.pending_events:
        evidence += f", the oldest for {backlog.oldest_pending_s:.0f} s"
    is_served = place.owner is not None and place.owner.health is not None
    if not is_served:
        return CheckResult(check="outbox", evidence=f"{evidence}; the next server goes on with them")
    if backlog.oldest_pending_s <= ARCHIVE_LATE_S:
        return CheckResult(check="outbox", evidence=evidence)
    finding = _finding("outbox", "late", evidence, "am status, and the server's log: the archiver says why")
    return CheckResult(check="outbox", evidence=evidence, findings=(finding,))


def _archive(place: CheckTarget, artifacts: Artifacts, project: Project) -> CheckResult:
    """Whose it is, whether it holds what the database has seen in it, and whether Git finds it whole."""
    claim = claim_of(artifacts.outbox, project.id)
    name = f"archive {project.slug}"
    try:
        archive = Inspection(archive_path(place.storage_root, project.slug))
    except ArchiveRefused as refused:
        return _refused(name, refused, project)
    if not archive.exists() and not claim.archived_seq:
        return CheckResult(check=name, evidence="not begun yet: nothing of this project is in Git")
    if (ahead := find_ahead(place.storage_root, project, artifacts, place.database_path)) is not None:
        finding = _finding("archive", AHEAD, ahead.message, ahead.hint, project=project.slug)
        return CheckResult(check=name, evidence=ahead.message, findings=(finding,))
    try:
        with suppress(ArchiveAhead):  # By what a server has committed since one looked, then.
            archive.require_fit(artifacts.store_id, claim)
        archive.require_place()
        problem = archive.fsck()
    except ArchiveRefused as refused:
        return _refused(name, refused, project)
    except (GitFailed, OSError) as unreadable:
        problem = str(unreadable)
    if problem is None:
        evidence = f"of this store, holds event {claim.archived_seq} as the database says, git fsck --strict is clean"
        return CheckResult(check=name, evidence=evidence)
    finding = _damaged(archive, problem, has_database=True)
    return CheckResult(check=name, evidence=problem, findings=(finding,))


def _refused(name: str, refused: ArchiveRefused, project: Project) -> CheckResult:
    finding = _finding("archive", "refused", refused.message, refused.hint, project=project.slug)
    return CheckResult(check=name, evidence=refused.message, findings=(finding,))


def _contents(place: CheckTarget, artifacts: Artifacts) -> CheckResult:
    """Whether what mail carries lies beside the database, by name and size: `verify` reads it. One finding tells all,
    however many there are.
    """
    folder = place.storage_root / ATTACHMENTS_FOLDER
    files = AttachmentFiles(folder)
    total, unfit, first = 0, 0, ("", "")
    for sha256, size in artifacts.content_sizes():
        total += 1
        if problem := _content_problem(files, sha256, size):
            first = first if unfit else (problem, str(folder / sha256[:2] / sha256))
            unfit += 1
    if not unfit:
        return CheckResult(check="attachments", evidence=f"{total} that mail carries are there in their size")
    problem, path = first
    evidence = f"{unfit} of {total} that mail carries are not as they should be; the first, {path}, is {problem}"
    finding = _finding("attachments", problem, evidence, CONTENT_STEP, path=path)
    return CheckResult(check="attachments", evidence=evidence, findings=(finding,))


def _content_problem(files: AttachmentFiles, sha256: str, size: int) -> str | None:
    try:
        found = files.size(sha256)
    except NotADirectoryError:
        found = None
    except OSError as failed:
        return f"unreadable ({failed.strerror or type(failed).__name__})"
    return "missing" if found is None else None if found == size else "different"


def _archives_alone(place: CheckTarget, progress: Progress) -> Iterator[CheckResult]:
    """Whether Git finds each archive whole that lies there, where no database says which there should be."""
    folder = place.storage_root / PROJECTS_FOLDER
    paths = [path for path in sorted(folder.iterdir()) if (path / ".git").is_dir()] if folder.is_dir() else []
    for done, path in enumerate(paths):
        progress(done, len(paths))
        archive = Inspection(path)
        try:
            problem = archive.fsck()
        except (ArchiveRefused, GitFailed, OSError) as unreadable:
            problem = str(unreadable)
        findings = () if problem is None else (_damaged(archive, problem, has_database=False),)
        evidence = problem or "git fsck --strict is clean; the database was not asked what it should hold"
        yield CheckResult(check=f"archive {path.name}", evidence=evidence, findings=findings)


def _damaged(archive: Inspection, problem: str, *, has_database: bool) -> Finding:
    step = of_damaged(archive.path, has_database=has_database)
    return _finding("git", "damaged", problem, step, project=archive.path.name)


def _strangers(place: CheckTarget, artifacts: Artifacts) -> CheckResult:
    known = {project.slug for project in artifacts.projects()}
    findings = tuple(find_around(place.storage_root, artifacts, place.database_path, known))
    return CheckResult(
        check="archives", evidence=f"{len(known)} projects; no folder of anybody else", findings=findings
    )
