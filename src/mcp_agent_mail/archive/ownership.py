"""May this repository be written to? It must be this store's, and neither ahead of the store nor behind it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from mcp_agent_mail.archive.git_folder import ArchiveRefused, require_ours
from mcp_agent_mail.archive.reading.hints import of_lost
from mcp_agent_mail.archive.repository import BRANCH, ArchiveRepository, GitContentTooLarge, SealedCommit
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.archive_format.layout import ARCHIVE_FILE
from mcp_agent_mail.domain.archive_format.parse.fields import MAX_JSON_BYTES
from mcp_agent_mail.domain.archive_format.versions import FORMAT_VERSION, OLDEST_VERSION, converted_folder, version_in


class ForeignArchive(ArchiveRefused):
    """The repository belongs to another store, or is no archive at all."""


class ArchiveNotMoved(ArchiveRefused):
    """A link to an archive that lies in its project whole, as they did formerly: nothing is read there."""


class ArchiveAhead(ArchiveRefused):
    """The repository holds events that the database does not know: the database is older than its archive."""


class ArchiveBehind(ArchiveRefused):
    """The repository lacks events that were in it once: it was deleted, moved away, set back, or is an older copy."""


class NewerArchive(ArchiveRefused):
    """The repository is in a version of the format that this program does not know."""


NOTHING = OutboxSeq(0)
_AHEAD_HINT = (
    "Stop the server and run `am doctor rebuild`: it makes the database anew from the archives, with all that they "
    "hold, and keeps the old one. Or put the newer database back. Only who can do without the mail in {path} moves it "
    "away, and should keep it: a new archive is begun there."
)


_UNCLAIMED_HINT = (
    "Stop the server and run `am doctor rebuild`: it makes the database anew from the archives, with all that they "
    "hold, and keeps the old one. Or put the newer database back. Only who can do without that project's mail leaves "
    "it out: `am doctor rebuild --without {slug}`, which keeps the archive."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveOwner:
    """The store whose archives these are, and who commits to them; the author too where no one agent acted alone."""

    store_id: str
    author_name: str
    author_email: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxPosition:
    """What the store says of one archive: events up to `archived_seq` were seen there, none is above `highest_seq`."""

    highest_seq: OutboxSeq
    archived_seq: OutboxSeq = NOTHING


def require_fit(repository: ArchiveRepository, store_id: str, claim: OutboxPosition) -> None:
    """Raise ArchiveRefused unless this store may go on writing here. A place with nothing in it fits a new archive."""
    require_in_store(repository)
    if not repository.exists() or repository.tip() is None:
        if claim.archived_seq:
            raise _gone(repository, claim)
        return
    _require_store(repository, store_id)
    _require_known(repository)
    held = _newest_event(repository)
    if held > claim.highest_seq:
        raise ahead_of(repository, claim, held)
    if held < claim.archived_seq:
        raise _behind(repository, claim, held)


def _newest_event(repository: ArchiveRepository) -> OutboxSeq:
    newest = next(repository.sealed(), None)
    return NOTHING if newest is None else newest.last_seq


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreArchive:
    """An archive of a store: of which project it says that it is, and its newest event."""

    repository: ArchiveRepository
    slug: str
    held: OutboxSeq


def archive_of(repository: ArchiveRepository, store_id: str) -> StoreArchive | None:
    """None for what is none of this store's, or holds nothing yet. Raises ArchiveRefused, and GitFailed when Git cannot
    tell: that proves nothing.
    """
    require_in_store(repository)
    if not repository.exists() or repository.tip() is None:
        return None
    said = _said(repository)
    if said.get("store_id") != store_id:
        return None
    project = said.get("project")
    slug = project.get("slug") if isinstance(project, dict) else None
    return StoreArchive(repository=repository, slug=str(slug), held=_newest_event(repository))


def require_in_store(repository: ArchiveRepository) -> None:
    """Raise ArchiveRefused where Git is not to be run: what is there is elsewhere, or not set up by us."""
    if repository.path.is_symlink():
        raise ArchiveNotMoved(
            f"{repository.path} is a link: the archive lies in its project, Git directory and all.",
            hint="Start the server: it moves the Git directory into the store, or says why it cannot.",
            data={"path": str(repository.path)},
        )
    if repository.exists():
        require_ours(repository.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a commit must hold if it is of our events: blobs by path, None where the content may have changed since."""

    blobs: Mapping[str, str | None]
    is_vague: bool = False
    """There are events besides of which the database cannot tell any more what they wrote."""


def require_same(repository: ArchiveRepository, sealed: SealedCommit, written: Written) -> None:
    """Raise ArchiveAhead when this commit holds other events than the store has under the same numbers.

    So it is when an old database was put back under newer archives and has given out the numbers again.
    """
    if not written.blobs:
        if written.is_vague:
            return
        raise _other_events(repository, sealed, "they are none of this project's")
    found = repository.blobs_at(sealed.hexsha, written.blobs)
    for (path, blob), answer in zip(written.blobs.items(), found, strict=True):
        if answer is None or blob not in (None, answer):
            raise _other_events(repository, sealed, f"{path} differs")


def _other_events(repository: ArchiveRepository, sealed: SealedCommit, how: str) -> ArchiveAhead:
    return ArchiveAhead(
        f"{repository.path} holds other events than the database under the numbers up to {sealed.last_seq} ({how}): "
        "the database is older than its archive.",
        hint=_AHEAD_HINT.format(path=repository.path),
        data={"path": str(repository.path), "archive_seq": sealed.last_seq},
    )


def _require_store(repository: ArchiveRepository, store_id: str) -> None:
    path = repository.path
    found = store_of(repository)
    if found is None:
        raise ForeignArchive(
            f"{path} has commits but no readable {ARCHIVE_FILE}: it is no archive of this store.",
            hint=f"Move {path} away, keep it, and put the right archive there (without one, a new one is begun).",
            data={"path": str(path)},
        )
    if found != store_id:
        raise ForeignArchive(
            f"{path} belongs to store {found}; this is store {store_id}.",
            hint="Point STORAGE_ROOT and DATABASE_URL at the database that belongs to these archives; where that is "
            "lost, move the present one away, keep it, and run `am doctor rebuild`, which makes one from the archives. "
            f"Or move {path} away and keep it: a new archive is begun there.",
            data={"path": str(path), "store_id": store_id, "found": found},
        )


def _require_known(repository: ArchiveRepository) -> None:
    if (found := version_at(repository, BRANCH)) > FORMAT_VERSION:
        raise NewerArchive(
            f"{repository.path} is in version {found} of the format; this program knows those up to {FORMAT_VERSION}.",
            hint="Start the newer program that has written it.",
            data={"path": str(repository.path), "version": found},
        )


def version_at(repository: ArchiveRepository, revision: str) -> int:
    """The version of the format that a commit is in; the one that archives are begun in where the commit cannot say.

    Raises GitFailed when Git cannot tell: that proves nothing.
    """
    if not repository.git("ls-tree", "-z", revision, "--", ARCHIVE_FILE):
        return FORMAT_VERSION
    try:
        return version_in(repository.content(f"{revision}:{ARCHIVE_FILE}", MAX_JSON_BYTES))
    except (ValueError, RecursionError, GitContentTooLarge):
        return FORMAT_VERSION


def written_in(repository: ArchiveRepository, hexsha: str) -> int:
    """The version of the format in which one commit was written: the older one, too, where a program of that version
    went on with an archive that was of this version.
    """
    changes = ("diff-tree", "-r", "-z", "--root", "--no-commit-id", "--name-only", "--no-renames", "--diff-filter=d")
    written = repository.records(*changes, hexsha)
    is_former = any(converted_folder(path.rpartition("/")[0]) is not None for path in written)
    return OLDEST_VERSION if is_former else version_at(repository, hexsha)


def store_of(repository: ArchiveRepository) -> str | None:
    """Whose archive its own file says it is. Raises GitFailed when Git cannot tell: that proves nothing."""
    found = _said(repository).get("store_id")
    return None if found is None else str(found)


def _said(repository: ArchiveRepository) -> dict[str, object]:
    """The archive's own file; empty where there is none that can be read."""
    if not repository.git("ls-tree", "-z", BRANCH, "--", ARCHIVE_FILE):
        return {}
    try:
        said = json.loads(repository.content(f"{BRANCH}:{ARCHIVE_FILE}", MAX_JSON_BYTES))
    except (ValueError, RecursionError, GitContentTooLarge):
        return {}
    return said if isinstance(said, dict) else {}


def unclaimed(archive: StoreArchive) -> ArchiveAhead:
    """An archive of this store whose project the database does not know: it was made after this copy of it."""
    path, held = archive.repository.path, archive.held
    return ArchiveAhead(
        f"{path} is an archive of this store, with events up to {held}, and the database knows no such project: "
        "it is older than its archives.",
        hint=_UNCLAIMED_HINT.format(slug=path.name),
        data={"path": str(path), "archive_seq": held},
    )


def ahead_of(repository: ArchiveRepository, claim: OutboxPosition, held: OutboxSeq) -> ArchiveAhead:
    """An archive that holds events above all that the database has given out."""
    path = repository.path
    return ArchiveAhead(
        f"{path} holds events up to {held}; the database has given out {claim.highest_seq} only: "
        "it is older than its archive.",
        hint=_AHEAD_HINT.format(path=path),
        data={"path": str(path), "archive_seq": held, "store_seq": claim.highest_seq},
    )


def _gone(repository: ArchiveRepository, claim: OutboxPosition) -> ArchiveBehind:
    return _lacking(repository, claim, NOTHING, f"{repository.path} holds no archive any more")


def _behind(repository: ArchiveRepository, claim: OutboxPosition, held: OutboxSeq) -> ArchiveBehind:
    return _lacking(
        repository, claim, held, f"{repository.path} holds events up to {held} only: it was set back, or is older"
    )


def _lacking(repository: ArchiveRepository, claim: OutboxPosition, held: OutboxSeq, what: str) -> ArchiveBehind:
    path = repository.path
    return ArchiveBehind(
        f"{what}; the database has seen event {claim.archived_seq} there.",
        hint=of_lost(path, has_database=True),
        data={"path": str(path), "archive_seq": held, "archived_seq": claim.archived_seq},
    )
