"""Does Git hold exactly what the database says? Every artifact is rendered again and compared, byte for byte.

Reads one unchanging view of the store and compares each archive at the commit of its newest event
marked done, so it works beside a running server. Memory stays bounded: expected files are
sorted on disk and walked beside Git's own sorted listing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import field
from functools import cached_property
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory

from mcp_agent_mail.archive.attachments import ATTACHMENTS_FOLDER, AttachmentFiles
from mcp_agent_mail.archive.contents import Contents
from mcp_agent_mail.archive.git_folder import ArchiveRefused
from mcp_agent_mail.archive.inspection import Inspection, TreeFile
from mcp_agent_mail.archive.notes.thread_pages import written_pages
from mcp_agent_mail.archive.ownership import ArchiveAhead
from mcp_agent_mail.archive.reading.hints import of_damaged, of_lost
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.archive_format.layout import ARCHIVE_FILE, OWN_FOLDERS
from mcp_agent_mail.domain.archive_format.lease_snapshot import slug_of_snapshot
from mcp_agent_mail.domain.archive_format.versions import FORMAT_VERSION, OLDEST_VERSION, converted_folder
from mcp_agent_mail.domain.attachments import StoredContent
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.ahead.older_database import find_ahead, find_unclaimed
from mcp_agent_mail.features.archiving.artifact_files import IsWritten, Progress
from mcp_agent_mail.features.archiving.protocol import PROJECTS_FOLDER, archive_path
from mcp_agent_mail.features.doctor.expected_files import Expected, ExpectedFiles
from mcp_agent_mail.store.checks.artifacts import Artifacts, open_artifacts

FINDINGS_SHOWN = 500
CONTENT_STEP = "am doctor repair (with the server stopped): it brings back what Git has"
"""With what mail carries and is not beside the database as its name says."""
AHEAD = "ahead"
"""The problem of an archive that has more than the database, which is an older copy then."""
_TOLD_EVERY = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is not as it should be: what, where, how that is known, and what to do next."""

    check: str
    problem: str
    project: str | None
    path: str | None
    evidence: str
    next_step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """`findings` are the first FINDINGS_SHOWN of `finding_count`. Pending events are no finding: Git may be behind."""

    projects: int
    files: int
    pending_events: int
    findings: tuple[Finding, ...]
    finding_count: int

    @property
    def is_clean(self) -> bool:
        return self.finding_count == 0


@dataclass(slots=True)
class VerifyFindings:
    """Counts all, keeps the first ones."""

    kept: list[Finding] = field(default_factory=list)
    count: int = 0
    files: int = 0

    def add(self, finding: Finding) -> None:
        self.count += 1
        if len(self.kept) < FINDINGS_SHOWN:
            self.kept.append(finding)


def _silent(done: int, total: int) -> None:
    """Nobody watches."""


def verify_archives(
    storage_root: Path,
    database_path: Path,
    *,
    progress: Progress,
    comparing: Progress = _silent,
    shows_files: Callable[[str], bool] = lambda _: True,
) -> VerifyReport:
    """Compare every archive with the database. Takes seconds per 100,000 files: never on an event loop.

    `progress` counts messages while they are rendered, then `comparing` counts files. `shows_files`: whether the work
    tree of a project, by slug, is to be compared too; else what Git holds alone.
    """
    findings = VerifyFindings()
    with open_artifacts(database_path) as artifacts, TemporaryDirectory(prefix="am-verify-") as folder:
        projects = {project.slug: project for project in artifacts.projects()}
        seen = set()
        versions = {one.id: _version_of(storage_root, one, artifacts) for one in projects.values()}
        files = ExpectedFiles(
            artifacts,
            Path(folder),
            progress,
            version_of=versions.__getitem__,
            is_written=_pages_written(storage_root, projects.values(), artifacts),
        )
        watched = _Watched(comparing, len(files))
        for slug, expected in files.by_project():
            seen.add(slug)
            check = _ProjectCheck(storage_root, projects[slug], artifacts, findings, shows_files)
            check.note_ahead(find_ahead(storage_root, projects[slug], artifacts, database_path))
            check.run(watched.through(expected))
        for slug, project in projects.items():
            if slug not in seen:
                check = _ProjectCheck(storage_root, project, artifacts, findings, shows_files)
                check.note_ahead(find_ahead(storage_root, project, artifacts, database_path))
                check.run(iter(()))
        for finding in (
            *find_around(storage_root, artifacts, database_path, projects),
            *find_unfit_contents(storage_root / ATTACHMENTS_FOLDER, artifacts.contents()),
        ):
            findings.add(finding)
        pending = sum(artifacts.outbox.count_pending(project.id) for project in projects.values())
    return VerifyReport(
        projects=len(projects),
        files=findings.files,
        pending_events=pending,
        findings=tuple(findings.kept),
        finding_count=findings.count,
    )


def _version_of(storage_root: Path, project: Project, artifacts: Artifacts) -> int:
    """The version of the format that the archive is in at the commit that is compared."""
    last = artifacts.outbox.last_commit(project.id)
    return FORMAT_VERSION if last is None else Inspection(archive_path(storage_root, project.slug)).version(last.hexsha)


def _pages_written(storage_root: Path, projects: Iterable[Project], artifacts: Artifacts) -> IsWritten:
    """Which pages of threads are in Git as the database says, by what is noted beside each archive. Of threads that
    have had no mail since pages are written there may be none; of those with newer mail they are about to come.
    """

    def span(project: Project) -> tuple[int, int]:
        return written_pages(
            archive_path(storage_root, project.slug), lambda hexsha: artifacts.outbox.has_commit(project.id, hexsha)
        )

    spans = {project.id: span(project) for project in projects}
    return lambda project_id, seq: spans[project_id][0] < seq <= spans[project_id][1]


class _Watched:
    """Tells of the files that pass, every now and then and at the end."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0

    def through(self, expected: Iterator[Expected]) -> Iterator[Expected]:
        for file in expected:
            self._done += 1
            if self._done % _TOLD_EVERY == 0 or self._done == self._total:
                self._progress(self._done, self._total)
            yield file


class _ProjectCheck:
    def __init__(
        self,
        storage_root: Path,
        project: Project,
        artifacts: Artifacts,
        findings: VerifyFindings,
        shows_files: Callable[[str], bool],
    ) -> None:
        self._slug = project.slug
        self._shows_files = shows_files
        self._findings = findings
        self._archive = Inspection(archive_path(storage_root, project.slug))
        last = artifacts.outbox.last_commit(project.id)
        self._commit = None if last is None else last.hexsha

    @cached_property
    def _is_converted(self) -> bool:
        """Is the archive of this version, whatever a program of the one before wrote into it since?"""
        return self._commit is not None and self._archive.version(self._commit) > OLDEST_VERSION

    def note_ahead(self, ahead: ArchiveAhead | None) -> None:
        """What the archive has beyond the database is compared with nothing."""
        if ahead is not None:
            self._note("archive", AHEAD, None, ahead.message, next_step=ahead.hint)

    def run(self, expected: Iterator[Expected]) -> None:
        if self._commit is None:
            for file in expected:
                self._note_missing(file, "no commit of this project is known")
        elif not self._archive.exists() or not self._archive.has_commit(self._commit):
            evidence = f"commit {self._commit} of the newest archived event is not in {self._archive.path}"
            self._note("archive", "missing", None, evidence)
        else:
            self._check_repository(self._commit, expected)

    def _check_repository(self, commit: str, expected: Iterator[Expected]) -> None:
        if problem := self._archive.fsck():
            self._note("git", "damaged", None, problem)
        try:
            self._check_history(commit)
            with self._archive.asking():
                self._compare(expected, self._archive.files(commit), with_work_tree=self._has_work_tree())
        except GitFailed as failed:
            self._note("git", "damaged", None, f"the archive cannot be read to its end: {failed.message}")

    def _check_history(self, commit: str) -> None:
        if not self._archive.is_on_branch(commit):
            evidence = f"commit {commit} of the newest archived event is not on branch main"
            self._note("history", "rewritten", None, evidence)
            return
        for change in self._archive.stranger_changes(commit):
            self._note("history", "different", change.path, f"changed by commit {change.hexsha}, not by the archiver")

    def _has_work_tree(self) -> bool:
        """Are there files to compare? A place that is gone is one finding, not one for each of them."""
        if not self._shows_files(self._slug):
            return False
        try:
            self._archive.require_place()
        except ArchiveRefused as gone:
            self._note("work tree", "gone", None, gone.message, next_step=gone.hint)
            return False
        return self._archive.is_checked_out()

    def _compare(self, expected: Iterator[Expected], tree: Iterator[TreeFile], *, with_work_tree: bool) -> None:
        """Walk two sorted listings side by side."""
        wanted = next(expected, None)
        for file in tree:
            while wanted is not None and wanted.path.encode() < _sort_key(file):
                self._note_missing(wanted, f"commit {self._commit} does not")
                wanted = next(expected, None)
            if wanted is not None and wanted.path == file.path:
                self._compare_file(wanted, file, with_work_tree=with_work_tree)
                wanted = next(expected, None)
            elif _is_ours(file.path):
                self._note("archive", "unexpected", file.path, "Git has it; the database does not")
        while wanted is not None:
            self._note_missing(wanted, f"commit {self._commit} does not")
            wanted = next(expected, None)

    def _compare_file(self, wanted: Expected, file: TreeFile, *, with_work_tree: bool) -> None:
        self._findings.files += 1
        if not wanted.is_known:
            return
        if wanted.content is not None:
            self._compare_content(wanted.content, file)
        elif wanted.blob != file.blob:
            self._note("archive", "different", file.path, f"Git has {file.blob}; the database renders {wanted.blob}")
            return
        if with_work_tree and (problem := self._archive.work_tree_differs(file)):
            self._note("work tree", problem, file.path, f"the file in {self._archive.path} is not what Git has")

    def _compare_content(self, content: StoredContent, file: TreeFile) -> None:
        """With its name, which says what it is."""
        found = self._archive.sha256_of(file.blob)
        if found != content.sha256:
            self._note("archive", "different", file.path, f"the SHA-256 of what Git has there is {found}")

    def _note_missing(self, wanted: Expected, evidence: str) -> None:
        if wanted.is_known:
            self._note("archive", "missing", wanted.path, f"the database has it; {evidence}")

    def _note(self, check: str, problem: str, path: str | None, evidence: str, *, next_step: str = "") -> None:
        finding = Finding(
            check=check,
            problem=problem,
            project=self._slug,
            path=path,
            evidence=evidence,
            next_step=next_step or self._next_step(check, path),
        )
        self._findings.add(finding)

    def _next_step(self, check: str, path: str | None) -> str:
        where = self._archive.path
        if check == "work tree":
            return f"git -C {where} checkout -- {path}"
        if check == "history":
            return f"git -C {where} log --stat main"
        if check == "git":
            return of_damaged(where, has_database=True)
        if path is None or self._commit is None:
            return of_lost(where, has_database=True)
        if self._is_converted and converted_folder(path.rpartition("/")[0]) is not None:
            return "start the server: it moves what an earlier version has written here to its new place"
        return f"git -C {where} log --stat -- {path}"


def find_around(
    storage_root: Path, artifacts: Artifacts, database_path: Path, known: Collection[str]
) -> Iterator[Finding]:
    """What lies beside the archives of the projects whose slugs are `known`: first archives of this store, by which the
    database is an older copy. `artifacts` and `database_path`: as for `find_ahead`.
    """
    ahead = find_unclaimed(storage_root, artifacts, database_path)
    slugs = [Path(one.data["path"]).name for one in ahead]
    for slug, one in zip(slugs, ahead, strict=True):
        yield Finding(check="archive", problem=AHEAD, project=slug, path=None, evidence=one.message, next_step=one.hint)
    yield from find_strange_archives(storage_root, {*known, *slugs})


def find_strange_archives(storage_root: Path, known: Collection[str]) -> Iterator[Finding]:
    """What lies beside the archives and lease snapshots of the projects whose slugs are `known`."""
    folder = storage_root / PROJECTS_FOLDER
    for path in sorted(folder.iterdir()) if folder.exists() else ():
        slug = slug_of_snapshot(path.name)
        if path.name in known or slug in known:
            continue
        step = _step_with_stranger(path) if slug is None else f"rm {quote(str(path))} (nothing reads it any more)"
        yield Finding(
            check="archive" if slug is None else "lease snapshot",
            problem="unexpected",
            project=slug or path.name,
            path=None if slug is None else str(path),
            evidence=f"{path} belongs to no project of this database",
            next_step=step,
        )


def _step_with_stranger(path: Path) -> str:
    """An archive may be all that is left of another store, so it is never only thrown away."""
    if not (path / ARCHIVE_FILE).exists():
        return f"ls -la {quote(str(path))}; if nobody needs it, move it away"
    return (
        f"move {quote(str(path))} away and keep it ({ARCHIVE_FILE} in it says whose it is). If the mail in it is to be "
        "here and the database of that store is lost: move the present database away, and am doctor rebuild"
    )


def find_unfit_contents(folder: Path, wanted: Iterable[str]) -> Iterator[Finding]:
    """What mail carries and `folder`, beside the database, does not have as its name says. Reads all of it."""
    contents = Contents(AttachmentFiles(folder))
    for sha256 in wanted:
        path = folder / sha256[:2] / sha256
        if problem := contents.problem_of(sha256):
            yield Finding(
                check="attachments",
                problem=problem,
                project=None,
                path=str(path),
                evidence=f"mail carries it; {path} is {problem}",
                next_step=CONTENT_STEP,
            )


def _sort_key(file: TreeFile) -> bytes:
    return file.path.encode("utf-8", "surrogateescape")


def _is_ours(path: str) -> bool:
    """Files a person has added elsewhere in the repository are theirs."""
    return path == ARCHIVE_FILE or path.partition("/")[0] in OWN_FOLDERS
