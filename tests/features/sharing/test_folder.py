from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.errors import AgentMailError, Unavailable
from mcp_agent_mail.features.recovery.outside_store import PartOfStore
from mcp_agent_mail.features.recovery.scratch import PlaceTaken
from mcp_agent_mail.features.sharing import folder as bundle_folder
from mcp_agent_mail.features.sharing.folder import BundleExport, export_bundle
from mcp_agent_mail.features.sharing.manifest import MANIFEST, SIGNATURE, BundleFile
from mcp_agent_mail.features.sharing.results import SharedPreset
from mcp_agent_mail.features.sharing.service import TooMuchToShare
from mcp_agent_mail.features.sharing.verify import verify_bundle


def _export(target: Path, *, signature: bytes | None = None, **files: str) -> BundleExport:
    made = [BundleFile(path=f"{name}/a.html", content=text.encode()) for name, text in files.items()]
    return export_bundle(
        target,
        made,
        preset=SharedPreset.STANDARD,
        storage_root=target.parent / "store",
        sign=None if signature is None else lambda _: signature,
    )


def _all(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_second_export_writes_what_differs_removes_what_is_gone_and_touches_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "out"
    _export(target, one="1", two="2", three="3", signature=b"s\n")
    (target / "README").write_text("mine")
    (target / "three" / "notes").write_text("mine too")
    before = (target / "one" / "a.html").stat()

    made = _export(target, one="1", two="changed", four="4")

    assert (made.changed, made.removed) == (2, 1)
    assert (target / "one" / "a.html").stat().st_ino == before.st_ino
    found = _all(target)
    assert found.pop(MANIFEST)
    assert found == {
        "README": b"mine",
        "three/notes": b"mine too",
        "one/a.html": b"1",
        "two/a.html": b"changed",
        "four/a.html": b"4",
    }
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_that_is_no_bundle_is_refused_and_stays(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    (target / "thesis.txt").write_text("years")

    with pytest.raises(PlaceTaken):
        _export(target, one="1")

    assert _all(target) == {"thesis.txt": b"years"}


def test_a_file_of_somebodys_where_a_new_one_would_go_stays_and_nothing_is_changed(tmp_path: Path) -> None:
    target = tmp_path / "out"
    _export(target, one="1")
    (target / "two").mkdir()
    (target / "two" / "a.html").write_text("mine")
    before = _all(target)

    with pytest.raises(PlaceTaken):
        _export(target, one="changed", two="2")

    assert _all(target) == before


def test_no_link_leads_an_export_out_of_its_folder(tmp_path: Path) -> None:
    target, outside = tmp_path / "out", tmp_path / "outside"
    _export(target, one="1")
    (target / "one").rename(outside)
    (target / "one").symlink_to(outside)

    with pytest.raises(PlaceTaken):
        _export(target, one="changed")

    assert (outside / "a.html").read_text() == "1"


def test_a_manifest_that_was_tampered_with_removes_nothing_elsewhere(tmp_path: Path) -> None:
    target, victim = tmp_path / "out", tmp_path / "victim"
    _export(target, one="1")
    victim.write_text("dear")
    said = json.loads((target / MANIFEST).read_bytes())
    said["files"]["../victim"] = said["files"]["one/a.html"]
    (target / MANIFEST).write_text(json.dumps(said, indent=1) + "\n")

    with pytest.raises(AgentMailError):
        _export(target, one="1")

    assert victim.read_text() == "dear"


def test_one_that_broke_off_while_files_were_put_in_place_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out"
    _export(target, one="1", two="2", signature=b"s\n")
    with monkeypatch.context() as broken:
        broken.setattr(bundle_folder, "_remove", _fail)
        with pytest.raises(RuntimeError):
            _export(target, one="changed", three="3", signature=b"t\n")

    with pytest.raises(AgentMailError, match="interrupted"):
        verify_bundle(target, None)
    assert not (target / SIGNATURE).exists()
    _export(target, one="changed", three="3", signature=b"t\n")
    assert verify_bundle(target, None).files == 2
    assert (target / SIGNATURE).read_bytes() == b"t\n"


def _fail(*_: object) -> None:
    raise RuntimeError("power is gone")


def test_what_fails_while_it_is_built_leaves_nothing(tmp_path: Path) -> None:
    def files() -> Iterator[BundleFile]:
        yield BundleFile(path="a.html", content=b"1")
        raise RuntimeError("the store is gone")

    with pytest.raises(RuntimeError):
        export_bundle(
            tmp_path / "out", files(), preset=SharedPreset.STANDARD, storage_root=tmp_path / "store", sign=None
        )

    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_read_is_no_fault_of_the_folder_that_it_goes_to(tmp_path: Path) -> None:
    def files() -> Iterator[BundleFile]:
        yield BundleFile(path="index.html", content=b"x")
        (tmp_path / "attachment").read_bytes()

    with pytest.raises(Unavailable, match="cannot be read: No such file") as refused:
        export_bundle(
            tmp_path / "out", files(), preset=SharedPreset.STANDARD, storage_root=tmp_path / "store", sign=None
        )

    assert refused.value.data["path"] == str(tmp_path / "attachment")
    assert not (tmp_path / "out").exists()


def test_nothing_is_made_in_the_store(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()

    with pytest.raises(PartOfStore):
        export_bundle(
            tmp_path / "store" / "out", [], preset=SharedPreset.STANDARD, storage_root=tmp_path / "store", sign=None
        )


@pytest.mark.parametrize(
    ("files", "is_taken"),
    [({"one": "1", "two": "22"}, True), ({"one": "1111"}, False), ({"one": "", "two": "", "three": ""}, False)],
)
def test_a_bundle_has_so_many_bytes_and_files_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, Any], is_taken: bool
) -> None:
    assert bundle_folder.MOST_BUNDLE_BYTES == 4 << 30
    monkeypatch.setattr(bundle_folder, "MOST_BUNDLE_BYTES", 3)
    monkeypatch.setattr(bundle_folder, "MOST_FILES", 2)

    with nullcontext() if is_taken else pytest.raises(TooMuchToShare):
        _export(tmp_path / "out", **files)

    assert [path.name for path in tmp_path.iterdir()] == ["out"] * is_taken
