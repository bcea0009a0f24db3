from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.features.sharing.manifest import (
    MANIFEST,
    BundleManifest,
    UnfitManifest,
    digest_of,
    is_own_path,
    read_manifest,
)
from mcp_agent_mail.features.sharing.results import SharedPreset

_ONE = BundleManifest(preset=SharedPreset.STRICT, files={"a/b.html": digest_of(b"x")})


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_bytes(_ONE.to_bytes())

    assert read_manifest(tmp_path) == (_ONE, _ONE.to_bytes())


@pytest.mark.parametrize(
    "path", ["../a", "/a", "a//b", "a/../b", ".git/config", "A.html", "manifest.json", "manifest.sig", "a\n", "", "a/."]
)
def test_no_path_leaves_the_folder_or_is_its_manifest(tmp_path: Path, path: str) -> None:
    assert not is_own_path(path)
    (tmp_path / MANIFEST).write_bytes(
        BundleManifest(preset=SharedPreset.STRICT, files={path: digest_of(b"")}).to_bytes()
    )

    with pytest.raises(UnfitManifest):
        read_manifest(tmp_path)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b"[" * 5_000_000, b'{"format": "other"}'])
def test_what_is_no_manifest_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / MANIFEST).write_bytes(content)

    with pytest.raises(UnfitManifest):
        read_manifest(tmp_path)


def test_a_link_is_no_manifest(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(_ONE.to_bytes())
    (tmp_path / MANIFEST).symlink_to("real")

    with pytest.raises(UnfitManifest):
        read_manifest(tmp_path)
