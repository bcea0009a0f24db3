from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import pytest

from mcp_agent_mail.core.json_limits import TooManyParts
from mcp_agent_mail.features.sharing import manifest as manifests
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
    "path",
    [
        "../a",
        "/a",
        "a//b",
        "a/../b",
        ".git/config",
        "A.html",
        "manifest.json",
        "manifest.sig",
        "a\n",
        "",
        "a/.",
        "a.",
        "a/b..",
    ],
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


def _changed(**given: object) -> bytes:
    return (json.dumps({**json.loads(_ONE.to_bytes()), **given}, indent=1) + "\n").encode()


_X = digest_of(b"x")


@pytest.mark.parametrize(
    "content",
    [
        _ONE.to_bytes().rstrip(),
        _ONE.to_bytes() + b" ",
        _ONE.to_bytes().replace(b"\n ", b"\n  "),
        _changed(more=1),
        _changed(format="another bundle"),
        _changed(version=2),
        _changed(version=True),
        _changed(version=1.0),
        _changed(unfinished=0),
        _changed(unfinished="false"),
        _changed(preset="open"),
        _changed(files={"a.html": {"bytes": 1, "sha256": _X.sha256.upper()}}),
        _changed(files={"a.html": {"bytes": 1, "sha256": _X.sha256 + "0"}}),
        _changed(files={"a.html": {"bytes": 1, "sha256": _X.sha256[:-1]}}),
        _changed(files={"a.html": {"bytes": 1, "sha256": _X.sha256[:-1] + "g"}}),
        _changed(files={"a.html": {"bytes": 1.0, "sha256": _X.sha256}}),
        _changed(files={"a.html": {"bytes": True, "sha256": _X.sha256}}),
        _changed(files={"a.html": {"bytes": 1, "sha256": _X.sha256, "more": 1}}),
        _changed(files={"b.html": {"bytes": 1, "sha256": _X.sha256}, "a.html": {"bytes": 1, "sha256": _X.sha256}}),
    ],
)
def test_what_this_program_would_not_have_written_so_is_no_manifest(tmp_path: Path, content: bytes) -> None:
    assert _changed() == _ONE.to_bytes()
    (tmp_path / MANIFEST).write_bytes(content)

    with pytest.raises(UnfitManifest):
        read_manifest(tmp_path)


def test_its_bytes_are_these() -> None:
    assert _ONE.to_bytes().decode() == (
        '{\n "format": "mcp-agent-mail bundle",\n "version": 1,\n "preset": "strict",\n "unfinished": false,\n'
        ' "files": {\n  "a/b.html": {\n   "bytes": 1,\n'
        '   "sha256": "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"\n  }\n }\n}\n'
    )


@pytest.mark.parametrize("bound", ["MOST_BYTES", "MOST_FILES"])
def test_one_beyond_a_bound_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str) -> None:
    assert (manifests.MOST_BYTES, manifests.MOST_FILES) == (128 << 20, 400_000)
    (tmp_path / MANIFEST).write_bytes(_ONE.to_bytes())
    monkeypatch.setattr(manifests, bound, 0)

    with pytest.raises(UnfitManifest):
        read_manifest(tmp_path)


def test_a_manifest_of_more_parts_than_any_bundle_has_is_not_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / MANIFEST).write_bytes(_changed(more=[[]] * 50))
    monkeypatch.setattr(manifests, "MOST_FILES", 2)

    with pytest.raises(UnfitManifest) as refused:
        read_manifest(tmp_path)

    assert isinstance(refused.value.__cause__, TooManyParts)


@pytest.mark.parametrize(("files", "is_read"), [(3, True), (4, False)])
def test_a_bundle_has_so_many_files_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: int, is_read: bool
) -> None:
    monkeypatch.setattr(manifests, "MOST_FILES", 3)
    made = BundleManifest(preset=SharedPreset.STRICT, files={f"{number}.html": _X for number in range(files)})
    (tmp_path / MANIFEST).write_bytes(made.to_bytes())

    with nullcontext() if is_read else pytest.raises(UnfitManifest):
        assert read_manifest(tmp_path)[0] == made
