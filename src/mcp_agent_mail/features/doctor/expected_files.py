"""Every file the archives should hold, rendered again from the database: its path and Git's name for its content."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.archive_format.attachments import Content
from mcp_agent_mail.domain.archive_format.blobs import blob_id
from mcp_agent_mail.domain.attachments import StoredContent
from mcp_agent_mail.features.archiving.artifact_files import ArtifactFiles, IsWritten, Progress
from mcp_agent_mail.features.doctor.external_sort import Spool
from mcp_agent_mail.store.checks.artifacts import Artifacts

_ANY = b"-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """`blob` is Git's name for what the file should hold; a `content` of attachments stands in its place.

    Neither: it is about to be written again, and Git may have an older version, or none.
    """

    path: str
    blob: str | None
    content: StoredContent | None = None

    @property
    def is_known(self) -> bool:
        return self.blob is not None or self.content is not None


class ExpectedFiles:
    """Rendered once, each archive in the version of the format that `version_of` says, with pages of threads that tell
    of what `is_written`, sorted on disk, then read project by project in the order of their slugs.
    """

    def __init__(
        self,
        artifacts: Artifacts,
        folder: Path,
        progress: Progress,
        *,
        version_of: Callable[[ProjectId], int],
        is_written: IsWritten,
    ) -> None:
        self._spool = Spool(folder)
        self._slugs = {project.id: project.slug.encode() for project in artifacts.projects()}
        self._last: tuple[bytes | None, bytes] = (None, _ANY)
        ArtifactFiles(artifacts, self._add, progress, version_of=version_of, is_written=is_written).run()

    def __len__(self) -> int:
        return len(self._spool)

    def by_project(self) -> Iterator[tuple[str, Iterator[Expected]]]:
        """Sorted by slug, each project's files sorted by path as Git sorts them."""
        for slug, lines in groupby(self._spool, key=lambda line: line.partition(b"\0")[0]):
            yield slug.decode(), _once_each(map(_parse, lines))

    def _add(self, project_id: ProjectId, path: str, content: Content | None) -> None:
        if isinstance(content, StoredContent):
            facts = f"{content.sha256}.{content.bytes}.{content.extension}".encode()
            self._spool.add(b"\0".join((self._slugs[project_id], path.encode(), facts)))
            return
        if content is not self._last[0]:
            self._last = (content, _ANY if content is None else blob_id(content).encode())
        self._spool.add(b"\0".join((self._slugs[project_id], path.encode(), self._last[1])))


def _once_each(files: Iterator[Expected]) -> Iterator[Expected]:
    """What several messages carry is one file; about to be written again as soon as that is true of one of them."""
    for _, same in groupby(files, key=lambda file: file.path):
        # Sorted: what is about to be written comes first.
        yield next(same)


def _parse(line: bytes) -> Expected:
    _, path, blob = line.decode().split("\0")
    if blob == _ANY.decode():
        return Expected(path=path, blob=None)
    sha256, *facts = blob.split(".")
    if not facts:
        return Expected(path=path, blob=blob)
    content = StoredContent(sha256=sha256, bytes=int(facts[0]), extension=facts[1])
    return Expected(path=path, blob=None, content=content)
