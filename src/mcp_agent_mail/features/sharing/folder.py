"""Puts a bundle into its folder: whole where there is none, else the files that differ from those it has listed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.file_sync import sync_tree
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.own_files import EXPORTING
from mcp_agent_mail.features.recovery.outside_store import require_outside
from mcp_agent_mail.features.recovery.scratch import PlaceTaken, ScratchFolder, aside, scratch_folder
from mcp_agent_mail.features.sharing.manifest import (
    MANIFEST,
    MOST_FILES,
    SIGNATURE,
    BundleFile,
    BundleManifest,
    FileDigest,
    UnfitManifest,
    digest_of,
    is_own_path,
    read_manifest,
)
from mcp_agent_mail.features.sharing.results import SharedPreset
from mcp_agent_mail.features.sharing.service import TooMuchToShare

MOST_BUNDLE_BYTES = 4 << 30

Sign = Callable[[bytes], bytes]
"""The signature of a manifest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleExport:
    """`changed` files were written, `removed` ones are in the mail no more; all others of `files` stayed as they
    were.
    """

    files: int
    bytes: int
    changed: int
    removed: int
    is_signed: bool


def export_bundle(
    target: Path, files: Iterable[BundleFile], *, preset: SharedPreset, storage_root: Path, sign: Sign | None
) -> BundleExport:
    """Make `target`, which is missing, an empty folder or a bundle of before, a bundle of these files.

    It is built beside its place first. What a manifest of before does not list is never touched: where one of the new
    files would need its place, nothing is changed. Killed in between, the next export goes on. Raises PartOfStore,
    PlaceTaken, UnfitManifest, TooMuchToShare, Unavailable.
    """
    target = target.absolute()
    require_outside(storage_root, target, is_made=True)
    try:
        known = _known(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        with scratch_folder(aside(target, EXPORTING), for_what=target) as building:
            made = building.path / "made"
            made.mkdir()
            manifest = BundleManifest(preset=preset, files=_written(made, _read(files)))
            if known is None:
                _write_manifest(made, manifest, sign)
                sync_tree(made)
                building.put(made.name, target)
                changed, removed = len(manifest.files), 0
            else:
                changed, removed = _update(target, made, building, manifest, known, sign)
    except OSError as failed:
        raise Unavailable(
            f"{target} cannot be written: {failed.strerror or failed}.",
            hint="Look at the folder and at the room on its disk, then run it again.",
            data={"path": str(target)},
        ) from failed
    size = sum(one.bytes for one in manifest.files.values())
    return BundleExport(
        files=len(manifest.files), bytes=size, changed=changed, removed=removed, is_signed=sign is not None
    )


def _known(target: Path) -> BundleManifest | None:
    """What a bundle of before has listed; None where nothing is."""
    if not os.path.lexists(target):
        return None
    if target.is_symlink() or not target.is_dir():
        raise PlaceTaken(f"{target} is there already and is no folder.", hint="Name another place.")
    if not any(target.iterdir()):
        return None
    try:
        return read_manifest(target)[0]
    except UnfitManifest as unfit:
        raise PlaceTaken(
            f"{unfit.message} Nothing in it is touched.", hint="Name a folder that is missing or empty."
        ) from unfit


def _read(files: Iterable[BundleFile]) -> Iterator[BundleFile]:
    """They are read as they are written: what fails in reading is no fault of the folder that they go to."""
    reading = iter(files)
    while True:
        try:
            file = next(reading)
        except StopIteration:
            return
        except OSError as failed:
            raise Unavailable(
                f"What is given away cannot be read: {failed.strerror or failed}.",
                hint="Look at the store: am doctor check",
                data={"path": str(failed.filename or "")},
            ) from failed
        yield file


def _written(folder: Path, files: Iterable[BundleFile]) -> Mapping[str, FileDigest]:
    """Raises TooMuchToShare."""
    digests: dict[str, FileDigest] = {}
    room = MOST_BUNDLE_BYTES
    for file in files:
        assert is_own_path(file.path), file.path
        assert file.path not in digests, file.path
        place = folder / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.content)
        digests[file.path] = digest_of(file.content)
        room -= len(file.content)
        if room < 0 or len(digests) > MOST_FILES:
            raise TooMuchToShare(
                f"A bundle has at most {MOST_FILES:,} files and {MOST_BUNDLE_BYTES >> 30} GiB.",
                hint="Take fewer projects, threads by --thread, or --preset strict.",
            )
    return digests


def _update(
    target: Path,
    made: Path,
    building: ScratchFolder,
    manifest: BundleManifest,
    known: BundleManifest,
    sign: Sign | None,
) -> tuple[int, int]:
    _require_own_places(target, manifest, known)
    changed = [path for path, digest in manifest.files.items() if not _has(target / path, digest)]
    gone = [path for path in known.files if path not in manifest.files]
    # Names both, so that whoever goes on after a kill knows all of them for ours.
    both = {**known.files, **manifest.files}
    building.require_own()
    if changed or gone:
        _replace_manifest(target, made, BundleManifest(preset=manifest.preset, files=both, is_unfinished=True), None)
    for path in changed:
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (made / path).replace(target / path)
    for path in gone:
        _remove(target, path)
    _replace_manifest(target, made, manifest, sign)
    sync_tree(target)
    return len(changed), len(gone)


def _require_own_places(target: Path, manifest: BundleManifest, known: BundleManifest) -> None:
    """Every file goes where nothing is, or what the bundle has listed; every folder of it is one, and no link."""
    for path in {*manifest.files, *known.files}:
        place = target / path
        for folder in [one for one in place.parents if one.is_relative_to(target)]:
            if os.path.lexists(folder) and (folder.is_symlink() or not folder.is_dir()):
                raise _in_the_way(target, folder)
        is_there = os.path.lexists(place)
        if is_there and (place.is_symlink() or not place.is_file() or path not in known.files):
            raise _in_the_way(target, place)
    signature = target / SIGNATURE
    if os.path.lexists(signature) and (signature.is_symlink() or not signature.is_file()):
        raise _in_the_way(target, signature)


def _in_the_way(target: Path, place: Path) -> PlaceTaken:
    return PlaceTaken(
        f"{place} is not what the bundle in {target} has listed there; nothing was changed.",
        hint="Move it away, or export into another folder.",
        data={"path": str(place)},
    )


def _has(place: Path, digest: FileDigest) -> bool:
    try:
        if place.stat().st_size != digest.bytes:
            return False
        return digest_of(place.read_bytes()) == digest
    except FileNotFoundError:
        return False


def _remove(target: Path, path: str) -> None:
    """The file, and folders of it that are empty then."""
    (target / path).unlink(missing_ok=True)
    for folder in (target / path).parents:
        if folder == target:
            return
        with suppress(OSError):
            folder.rmdir()


def _replace_manifest(target: Path, scratch: Path, manifest: BundleManifest, sign: Sign | None) -> None:
    """A signature is there only beside the manifest that it is of."""
    (target / SIGNATURE).unlink(missing_ok=True)
    _write_manifest(scratch, manifest, sign)
    (scratch / MANIFEST).replace(target / MANIFEST)
    if sign is not None:
        (scratch / SIGNATURE).replace(target / SIGNATURE)


def _write_manifest(folder: Path, manifest: BundleManifest, sign: Sign | None) -> None:
    content = manifest.to_bytes()
    (folder / MANIFEST).write_bytes(content)
    if sign is not None:
        (folder / SIGNATURE).write_bytes(sign(content))
