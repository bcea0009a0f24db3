from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.archive.transfer.bundles import bundle_pieces
from mcp_agent_mail.features.recovery.saved_archives import check, unpack
from mcp_agent_mail.features.recovery.saved_file import SavedFileWriter, SavedManifest, UnfitSavedFile, open_saved
from tests.features.recovery.team import Team, silent


def _manifest(path: Path) -> SavedManifest:
    with open_saved(path) as saved:
        return saved.manifest


def _file(manifest: SavedManifest, bundles: dict[str, bytes]) -> bytes:
    """A file whose checksums are right, whatever is in it."""
    out = io.BytesIO()
    writer = SavedFileWriter(out, manifest)
    for project in manifest.projects:
        writer.add(project, len(bundles[project.slug]), [bundles[project.slug]])
    writer.finish()
    return out.getvalue()


@pytest.fixture
def bundles(team: Team, saved_pattern: Path) -> dict[str, bytes]:
    return {
        project.slug: b"".join(bundle_pieces(ArchiveRepository(team.root / "projects" / project.slug), project.commit))
        for project in _manifest(saved_pattern).projects
    }


def test_a_whole_file_lists_its_projects(saved_pattern: Path, team: Team) -> None:
    checked = check(saved_pattern, progress=silent)

    assert [(one.slug, one.messages) for one in checked.manifest.projects] == [("code-app", 2), ("code-lib", 0)]
    assert (checked.bytes, checked.manifest.store_id) == (saved_pattern.stat().st_size, team.harness.store_id)


def test_archives_are_unpacked_as_they_were(saved_pattern: Path, tmp_path: Path) -> None:
    manifest = unpack(saved_pattern, tmp_path / "archives", progress=silent)

    for project in manifest.projects:
        assert ArchiveRepository(tmp_path / "archives" / project.slug).tip() == project.commit


def test_one_flipped_byte_anywhere_is_found(saved_pattern: Path, tmp_path: Path) -> None:
    right, damaged = saved_pattern.read_bytes(), tmp_path / "damaged.tar"

    for at in range(100, len(right), len(right) // 5):
        damaged.write_bytes(right[:at] + bytes([right[at] ^ 1]) + right[at + 1 :])
        with pytest.raises(UnfitSavedFile):
            check(damaged, progress=silent)


Change = Callable[[SavedManifest, dict[str, bytes]], tuple[SavedManifest, dict[str, bytes]]]


def _app_says(manifest: SavedManifest, **changed: object) -> SavedManifest:
    app, *others = manifest.projects
    return replace(manifest, projects=(replace(app, **changed), *others))  # type: ignore[arg-type]  # fields by name


_LIES: dict[str, Change] = {
    "another store": lambda said, bundles: (replace(said, store_id="other"), bundles),
    "another path": lambda said, bundles: (_app_says(said, human_key="/code/evil"), bundles),
    "another count": lambda said, bundles: (_app_says(said, messages=3), bundles),
    "another commit": lambda said, bundles: (_app_says(said, commit="0" * 40), bundles),
    "another slug": lambda said, bundles: (
        _app_says(said, slug="code-evil"),
        bundles | {"code-evil": bundles["code-app"]},
    ),
    "another project's history": lambda said, bundles: (said, bundles | {"code-app": bundles["code-lib"]}),
    "noise": lambda said, bundles: (said, bundles | {"code-app": bytes(100_000)}),
    "nothing": lambda said, bundles: (said, bundles | {"code-app": b""}),
    "half a history": lambda said, bundles: (said, bundles | {"code-app": bundles["code-app"][:-100]}),
    "a history and more": lambda said, bundles: (said, bundles | {"code-app": bundles["code-app"] + b"more"}),
    "a history and much more": lambda said, bundles: (
        said,
        bundles | {"code-app": bundles["code-app"] + bytes(1 << 20)},
    ),
}


@pytest.mark.parametrize("lie", _LIES)
def test_a_file_with_right_checksums_that_lies_is_refused_and_named(
    lie: str, saved_pattern: Path, bundles: dict[str, bytes], tmp_path: Path
) -> None:
    path = tmp_path / "lying.tar"
    path.write_bytes(_file(*_LIES[lie](_manifest(saved_pattern), bundles)))

    with pytest.raises(UnfitSavedFile) as refused:
        check(path, progress=silent)

    assert str(refused.value.data["member"]).startswith("archives/code-")
