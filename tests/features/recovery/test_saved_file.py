from __future__ import annotations

import io
import json
import os
import tarfile
import tracemalloc
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.json_limits import TooManyParts
from mcp_agent_mail.domain.archive_format.json_text import document
from mcp_agent_mail.features.recovery.saved_file import (
    CHECKSUMS,
    MANIFEST,
    MOST_PROJECTS,
    SavedFileWriter,
    SavedManifest,
    SavedProject,
    UnfitSavedFile,
    open_saved,
)

_APP = SavedProject(slug="app", human_key="/code/app", commit="a" * 40, messages=3)
_LIB = SavedProject(slug="lib", human_key="/code/lib", commit="b" * 40, messages=0)
_MANIFEST = SavedManifest(store_id="store-1", is_partial=False, projects=(_APP, _LIB))
_CONTENTS = {_APP.member: b"bundle of app" * 100, _LIB.member: b"bundle of lib"}


def _file(manifest: SavedManifest = _MANIFEST) -> bytes:
    out = io.BytesIO()
    writer = SavedFileWriter(out, manifest)
    for project in manifest.projects:
        content = _CONTENTS[project.member]
        writer.add(project, len(content), [content[:7], content[7:]])
    writer.finish()
    return out.getvalue()


def _read(path: Path) -> dict[str, bytes]:
    with open_saved(path) as saved:
        found = {project.member: b"".join(saved.pieces(project)) for project in saved.manifest.projects}
        saved.finish()
        return found


def _members() -> list[tuple[tarfile.TarInfo, bytes]]:
    """Of a right one, to be made wrong."""
    with tarfile.open(fileobj=io.BytesIO(_file())) as tar:
        return [(entry, tar.extractfile(entry).read()) for entry in tar]  # type: ignore[union-attr]  # all are files


def _tar(members: list[tuple[tarfile.TarInfo, bytes]], kind: int = tarfile.GNU_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=kind) as tar:
        for entry, content in members:
            tar.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def _summed(members: list[tuple[tarfile.TarInfo, bytes]]) -> list[tuple[tarfile.TarInfo, bytes]]:
    """With checksums that are right, whatever else is not."""
    import hashlib

    said = {
        entry.name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for entry, content in members
        if entry.name != CHECKSUMS
    }
    content = document(said)
    entry = _entry(CHECKSUMS, size=len(content))
    return [*(one for one in members if one[0].name != CHECKSUMS), (entry, content)]


def _entry(name: str, **fields: object) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.mode = 0o600
    for field, value in fields.items():
        setattr(entry, field, value)
    return entry


def _with(number: int, **fields: object) -> bytes:
    members = _members()
    entry, content = members[number]
    members[number] = (_entry(**({"name": entry.name, "size": entry.size} | fields)), content)  # type: ignore[arg-type]
    return _tar(_summed(members))


def _besides(name: str, **fields: object) -> bytes:
    """One member more, before the checksums."""
    members = _members()
    extra = b"more" if fields.get("size") else b""
    return _tar(_summed([*members[:-1], (_entry(name, **fields), extra), members[-1]]))


def _manifest(**changed: object) -> bytes:
    """A right file around a manifest that says something else."""
    members = _members()
    said = json.loads(members[0][1]) | changed
    content = document(said)
    members[0] = (_entry(MANIFEST, size=len(content)), content)
    return _tar(_summed(members))


def _of_app(**changed: object) -> bytes:
    said = json.loads(_MANIFEST.content())["projects"]
    return _manifest(projects=[said[0] | changed, said[1]])


def _reordered() -> bytes:
    members = _members()
    return _tar(_summed([members[0], members[2], members[1], members[3]]))


def _raw_manifest(content: bytes) -> bytes:
    members = _members()
    members[0] = (_entry(MANIFEST, size=len(content)), content)
    return _tar(_summed(members))


def _lying_size() -> bytes:
    """A header that says a terabyte, with a right checksum."""
    right = _file()
    return _entry(MANIFEST, size=1 << 40).tobuf(tarfile.GNU_FORMAT) + right[512:]


_HOSTILE: dict[str, Callable[[], bytes]] = {
    "a name that leads upwards": lambda: _with(1, name="archives/../../app.bundle"),
    "an absolute name": lambda: _with(1, name="/etc/cron.d/app.bundle"),
    "a symbolic link": lambda: _besides("archives/x", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
    "a hard link": lambda: _besides("archives/x", type=tarfile.LNKTYPE, linkname="manifest.json"),
    "a symbolic link in a member's place": lambda: _with(1, type=tarfile.SYMTYPE, linkname="/etc/passwd", size=0),
    "a character device": lambda: _besides("archives/x", type=tarfile.CHRTYPE, devmajor=1, devminor=5),
    "a block device": lambda: _besides("archives/x", type=tarfile.BLKTYPE, devmajor=8),
    "a FIFO": lambda: _besides("archives/x", type=tarfile.FIFOTYPE),
    "a folder": lambda: _besides("archives", type=tarfile.DIRTYPE),
    "a contiguous file": lambda: _with(1, type=tarfile.CONTTYPE),
    "a sparse file": lambda: _with(1, type=tarfile.GNUTYPE_SPARSE),
    "an unlisted file": lambda: _besides("archives/other.bundle", size=4),
    "a member twice": lambda: _besides("archives/lib.bundle", size=4),
    "members in another order": _reordered,
    "a member too few": lambda: _tar(_summed([*_members()[:2], _members()[3]])),
    "no manifest": lambda: _tar(_summed(_members()[1:])),
    "no checksums": lambda: _tar(_members()[:-1]),
    "another owner": lambda: _with(1, uid=1000, uname="mallory"),
    "set-user-id": lambda: _with(1, mode=0o4755),
    "another time": lambda: _with(1, mtime=1),
    "a header of another kind": lambda: _tar(_members(), tarfile.USTAR_FORMAT),
    "a pax header": lambda: _tar([(_entry("x" * 200, size=4), b"more"), *_members()], tarfile.PAX_FORMAT),
    "a size that nothing backs": _lying_size,
    "a flipped header": lambda: _file()[:150] + b"9" + _file()[151:],
    "compressed": lambda: __import__("gzip").compress(_file()),
    "empty": lambda: b"",
    "noise": lambda: bytes(range(256)) * 100,
    "cut off": lambda: _file()[:-1024],
    "cut off within a member": lambda: _file()[:1800],
    "something behind its end": lambda: _file() + bytes(512),
    "something within its end": lambda: _file()[:-1] + b"x",
    "something between members": lambda: _file().replace(b"bundle of lib\0", b"bundle of lib\1"),
    "a checksum of something else": lambda: _file().replace(b"bundle of lib", b"bundle of LIB"),
    "a manifest of nothing": lambda: _raw_manifest(b""),
    "a manifest that is a list": lambda: _raw_manifest(b"[]"),
    "a manifest a million deep": lambda: _raw_manifest(b"[" * 1_000_000),
    "a manifest with a number of a million digits": lambda: _raw_manifest(b'{"format": ' + b"1" * 1_000_000 + b"}"),
    "a manifest written otherwise": lambda: _raw_manifest(json.dumps(json.loads(_MANIFEST.content())).encode()),
    "a manifest that says more": lambda: _manifest(token="amt_1"),
    "a newer format": lambda: _manifest(format=2),
    "a format that is no number": lambda: _manifest(format=True),
    "a store id with a line end": lambda: _manifest(store_id="a\nb"),
    "a partial that is no bool": lambda: _manifest(partial=1),
    "a slug that leads upwards": lambda: _of_app(slug="../app"),
    "a slug that is a path": lambda: _of_app(slug="/app"),
    "an empty slug": lambda: _of_app(slug=""),
    "a slug that is too long": lambda: _of_app(slug="a" * 86),
    "a slug twice": lambda: _of_app(slug="lib"),
    "projects out of order": lambda: _file(replace(_MANIFEST, projects=(_LIB, _APP))),
    "a project twice": lambda: _file(replace(_MANIFEST, projects=(_APP, _APP))),
    "a commit that is an option": lambda: _of_app(commit="--upload-pack=touch /tmp/x;aaaaaaaaaaaaaa"),
    "a commit that is a name": lambda: _of_app(commit="HEAD"),
    "a path that is none": lambda: _of_app(human_key="code/app"),
    "a path with a control character": lambda: _of_app(human_key="/code/\x1b[2J"),
    "a negative count": lambda: _of_app(messages=-1),
}


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "saved.tar"

    path.write_bytes(_file())

    assert _read(path) == _CONTENTS


def test_any_tar_lists_it(tmp_path: Path) -> None:
    path = tmp_path / "saved.tar"
    path.write_bytes(_file())

    with tarfile.open(path) as tar:
        names = tar.getnames()

    assert names == [MANIFEST, _APP.member, _LIB.member, CHECKSUMS]


def test_the_same_archives_are_the_same_bytes() -> None:
    assert _file() == _file()
    assert _file(replace(_MANIFEST, is_partial=True)) != _file()


@pytest.mark.parametrize("kind", _HOSTILE)
def test_a_hostile_file_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "saved.tar"
    path.write_bytes(_HOSTILE[kind]())

    with pytest.raises(UnfitSavedFile):
        _read(path)


def test_each_byte_counts(tmp_path: Path) -> None:
    path, right = tmp_path / "saved.tar", _file()

    for at in range(0, len(right), 61):
        path.write_bytes(right[:at] + bytes([right[at] ^ 4]) + right[at + 1 :])
        with pytest.raises(UnfitSavedFile):
            _read(path)


def test_a_damaged_member_is_named(tmp_path: Path) -> None:
    path = tmp_path / "saved.tar"
    path.write_bytes(_file().replace(b"bundle of lib", b"bundle of LIB"))

    with pytest.raises(UnfitSavedFile) as refused:
        _read(path)

    assert refused.value.data["member"] == _LIB.member


def test_what_is_no_ordinary_file_is_not_waited_for(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    for path in (fifo, tmp_path, tmp_path / "missing", Path("/dev/zero")):
        with pytest.raises(UnfitSavedFile):
            _read(path)


def test_a_manifest_of_more_parts_than_projects_need_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    (tmp_path / "saved.tar").write_bytes(_raw_manifest(b'{"format":1,"a":[' + b"{}," * 8 * MOST_PROJECTS + b"{}]}"))

    with pytest.raises(UnfitSavedFile) as refused, open_saved(tmp_path / "saved.tar"):
        pass

    assert isinstance(refused.value.__cause__, TooManyParts)


def test_as_many_projects_as_there_may_be_are_read_whatever_their_paths_hold(tmp_path: Path) -> None:
    names = (f"project-{number:06d}" for number in range(MOST_PROJECTS))
    projects = tuple(replace(_APP, slug=name, human_key=f'/code/{{[,,,"\\,,,]}}/{name}') for name in names)
    manifest = replace(_MANIFEST, projects=projects)
    (tmp_path / "saved.tar").write_bytes(_raw_manifest(manifest.content()))

    with open_saved(tmp_path / "saved.tar") as saved:
        assert saved.manifest == manifest


def test_a_manifest_is_written_as_documents_are() -> None:
    listed = [asdict(project) for project in _MANIFEST.projects]
    said = {"format": 1, "partial": False, "projects": listed, "store_id": "store-1"}

    assert _MANIFEST.content() == document(said)
    assert replace(_MANIFEST, projects=()).content() == document(said | {"projects": []})


def test_a_manifest_takes_a_few_times_its_bytes_whatever_its_characters(tmp_path: Path) -> None:
    paths = (f"/{number:05d}{'a' * 900}\U0001f600" for number in range(2_000))
    projects = tuple(replace(_APP, slug=path[1:6], human_key=path) for path in paths)
    content = replace(_MANIFEST, projects=projects).content()
    (tmp_path / "saved.tar").write_bytes(_raw_manifest(content))
    tracemalloc.start()
    try:
        with open_saved(tmp_path / "saved.tar"):
            _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < 6.5 * len(content)


def test_a_larger_manifest_than_is_read_is_not_written() -> None:
    projects = tuple(
        replace(_APP, slug=f"{number:05d}", human_key="/" + "\U0001f600" * 1_000) for number in range(9_000)
    )

    with pytest.raises(UnfitSavedFile, match="at most 32 MiB"):
        SavedFileWriter(io.BytesIO(), replace(_MANIFEST, projects=projects))
