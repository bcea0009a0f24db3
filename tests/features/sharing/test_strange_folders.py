"""What lies in the place of a bundle or a part of it, and is none of it: it is never touched, and never passed over."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.domain.own_files import EXPORTING
from mcp_agent_mail.features.recovery.scratch import PlaceTaken, aside
from mcp_agent_mail.features.sharing.folder import BundleExport, export_bundle
from mcp_agent_mail.features.sharing.manifest import MANIFEST, SIGNATURE, BundleFile
from mcp_agent_mail.features.sharing.results import SharedPreset
from mcp_agent_mail.features.sharing.verify import MOST_OF_A_PATH, ChangedBundle, verify_bundle


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """A bundle with one file, `one/a.html`."""
    _export(tmp_path / "out", "1")
    return tmp_path / "out"


def _export(target: Path, text: str) -> BundleExport:
    return _export_files(target, iter([BundleFile(path="one/a.html", content=text.encode())]))


def _export_files(target: Path, files: Iterator[BundleFile]) -> BundleExport:
    return export_bundle(
        target,
        files,
        preset=SharedPreset.STANDARD,
        storage_root=target.parent / "store",
        sign=lambda _: b"signed\n",
    )


def _link_out(target: Path, name: str) -> Path:
    """What has this name in the bundle lies outside now, and a link to it is in its place."""
    outside = target.parent / "outside"
    (target / name).rename(outside)
    (target / name).symlink_to(outside)
    return outside


@pytest.mark.parametrize("name", ["one/a.html", SIGNATURE])
@pytest.mark.parametrize("text", ["1", "changed"])
def test_a_link_in_the_place_of_a_file_stays_and_so_does_all_that_there_is(target: Path, name: str, text: str) -> None:
    outside = _link_out(target, name)
    before, manifest = outside.read_bytes(), (target / MANIFEST).read_bytes()

    with pytest.raises(PlaceTaken):
        _export(target, text)

    assert (outside.read_bytes(), (target / MANIFEST).read_bytes()) == (before, manifest)
    assert (target / name).is_symlink()


@pytest.mark.parametrize("name", ["out", "empty", "nowhere"])
def test_a_link_in_the_place_of_the_bundle_is_none(target: Path, name: str) -> None:
    linked = target.parent / "linked"
    linked.symlink_to(target.parent / name)
    (target.parent / "empty").mkdir()

    with pytest.raises(PlaceTaken, match="is there already and is no folder"):
        _export(linked, "changed")

    assert (target / "one" / "a.html").read_text() == "1"
    assert list((target.parent / "empty").iterdir()) == []
    assert linked.is_symlink()


def test_what_was_put_in_the_place_where_it_is_built_becomes_no_bundle(target: Path) -> None:
    building, away = aside(target, EXPORTING), target.parent / "away"

    def files() -> Iterator[BundleFile]:
        yield BundleFile(path="one/a.html", content=b"changed")
        building.rename(away)
        (building / "made" / "one").mkdir(parents=True)
        (building / "made" / "one" / "a.html").write_text("forged")

    with pytest.raises(PlaceTaken):
        _export_files(target, files())

    assert (target / "one" / "a.html").read_text() == "1"
    assert verify_bundle(target, None).files == 1


def test_a_linked_folder_is_part_of_no_bundle_wherever_it_leads(target: Path) -> None:
    (target / "one" / "more").symlink_to(target.parent, target_is_directory=True)
    (target / "empty").mkdir()

    with pytest.raises(ChangedBundle) as refused:
        verify_bundle(target, None)

    assert refused.value.data["problems"] == ["one/more is not in the manifest"]


def test_a_folder_that_was_moved_out_and_linked_back_is_not_the_bundles(target: Path) -> None:
    _link_out(target, "one")

    with pytest.raises(ChangedBundle, match=r"one is not in the manifest; one/a\.html is missing"):
        verify_bundle(target, None)


def test_a_folder_that_cannot_be_read_is_not_passed_over(target: Path) -> None:
    """Here because its path is longer than the system takes: whoever may read everything is stopped by that too."""
    name = "d" * 250
    here = os.open(target, os.O_RDONLY)
    for _ in range(20):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("hidden", os.O_WRONLY | os.O_CREAT, dir_fd=here))
    os.close(here)

    with pytest.raises(ChangedBundle, match="name too long") as refused:
        verify_bundle(target, None)

    assert refused.value.hint
    assert len(refused.value.message) < 2 * MOST_OF_A_PATH + 200


def test_of_a_very_long_path_its_begin_and_its_end_are_told(target: Path) -> None:
    place = target / "/".join(["d" * 200] * 4)
    place.mkdir(parents=True)
    (place / "more.html").write_text("more")

    with pytest.raises(ChangedBundle) as refused:
        verify_bundle(target, None)

    (problem,) = refused.value.data["problems"]
    assert problem.startswith("dddd")
    assert problem.endswith("/more.html is not in the manifest")
    assert len(problem) < MOST_OF_A_PATH + 50


def test_an_export_into_what_cannot_be_looked_at_says_so(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="name too long"):
        _export(tmp_path / ("d" * 300), "1")
