"""The archives in a saved file, unpacked and compared with what the file says of them."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.archive.transfer.bundles import UnfitBundle, begin_from_bundle
from mcp_agent_mail.archive.transfer.description import UnreadableArchiveFile, describe
from mcp_agent_mail.core.git.process import GitDiskFull, GitFailed
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.archive_format.versions import FORMAT_VERSION
from mcp_agent_mail.features.archiving.artifact_files import Progress
from mcp_agent_mail.features.recovery.saved_file import (
    SavedFile,
    SavedManifest,
    SavedProject,
    UnfitSavedFile,
    open_saved,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedFile:
    """A saved file of which every byte has been looked at."""

    manifest: SavedManifest
    bytes: int
    sha256: str


def check(path: Path, *, progress: Progress) -> CheckedFile:
    """Read all of it, and let Git check every history. Raises UnfitSavedFile, which names the member."""
    with TemporaryDirectory(prefix="am-list-") as folder, open_saved(path) as saved:
        for done, project in enumerate(saved.manifest.projects):
            progress(done, len(saved.manifest.projects))
            place = Path(folder) / project.slug
            _unpack(saved, project, place)
            shutil.rmtree(place)
        saved.finish()
        return CheckedFile(manifest=saved.manifest, bytes=saved.bytes, sha256=saved.sha256)


def unpack(path: Path, folder: Path, *, progress: Progress) -> SavedManifest:
    """Begin each archive below `folder`, a private one, under its slug. Nothing there is to be used unless this comes
    back. Raises UnfitSavedFile; GitDiskFull on a full disk, which says nothing of the file.
    """
    with open_saved(path) as saved:
        for done, project in enumerate(saved.manifest.projects):
            progress(done, len(saved.manifest.projects))
            _unpack(saved, project, folder / project.slug)
        saved.finish()
        return saved.manifest


def _unpack(saved: SavedFile, project: SavedProject, place: Path) -> None:
    try:
        begin_from_bundle(place, project.commit, saved.pieces(project))
        said = describe(ArchiveRepository(place), project.commit)
    except GitDiskFull:
        raise
    except (UnfitBundle, UnreadableArchiveFile, GitFailed) as unfit:
        raise _unfit(project, unfit.message.removesuffix("."), unfit.hint) from unfit
    if said.version > FORMAT_VERSION:
        raise _unfit(
            project,
            f"it is in version {said.version} of the archive's format; this program knows those up to {FORMAT_VERSION}",
            "Use the newer program that has written it.",
        )
    found = (said.store_id, said.slug, said.human_key, said.messages)
    if found != (saved.manifest.store_id, project.slug, project.human_key, project.messages):
        raise _unfit(
            project,
            "the manifest says otherwise whose it is, or how many messages it has",
            "It was made by hand: do not use it.",
        )


def _unfit(project: SavedProject, why: str, hint: str) -> UnfitSavedFile:
    return UnfitSavedFile(
        f"{project.member} is no archive of {project.slug} as saved: {why}.", hint=hint, data={"member": project.member}
    )
