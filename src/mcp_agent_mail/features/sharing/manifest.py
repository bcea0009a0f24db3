"""What a bundle says of itself: each of its files with its SHA-256. A signature is over these very bytes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.json_limits import read_bounded
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.plain_files import UnfitFile, read_plain
from mcp_agent_mail.features.sharing.results import SharedPreset

MANIFEST = "manifest.json"
SIGNATURE = "manifest.sig"
FORMAT = "mcp-agent-mail bundle"
VERSION = 1
MOST_FILES = 400_000
MOST_BYTES = 128 << 20
"""Of a manifest."""

_PARTS_OF_A_FILE = 8
_PATH = re.compile(r"(?:[a-z0-9][a-z0-9._-]{0,99}/){0,4}[a-z0-9][a-z0-9._-]{0,99}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_PUT_ASIDE = (MANIFEST, SIGNATURE)


class UnfitManifest(InvalidInput):
    """No bundle, or one whose manifest cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleFile:
    """`path` is within the bundle, with `/`."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDigest:
    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleManifest:
    """All files of a bundle by path, but for itself and its signature. `is_unfinished`: files are being put in place;
    it names those of before too.
    """

    preset: SharedPreset
    files: Mapping[str, FileDigest]
    is_unfinished: bool = False

    def to_bytes(self) -> bytes:
        """Always the same for the same files."""
        shown = {
            "format": FORMAT,
            "version": VERSION,
            "preset": str(self.preset),
            "unfinished": self.is_unfinished,
            "files": {path: {"bytes": one.bytes, "sha256": one.sha256} for path, one in sorted(self.files.items())},
        }
        return (json.dumps(shown, indent=1) + "\n").encode()


def digest_of(content: bytes) -> FileDigest:
    return FileDigest(sha256=hashlib.sha256(content).hexdigest(), bytes=len(content))


def is_own_path(path: str) -> bool:
    """Can a file of a bundle lie there? So none leaves the folder, and none is its manifest."""
    return _PATH.fullmatch(path) is not None and path not in _PUT_ASIDE and not path.endswith(".")


def read_manifest(folder: Path) -> tuple[BundleManifest, bytes]:
    """The manifest of a bundle, and its bytes. Raises UnfitManifest."""
    try:
        content = read_plain(str(folder / MANIFEST), MOST_BYTES, follow=False)
    except UnfitFile as unfit:
        raise _unfit(folder, unfit.message) from unfit
    if content is None:
        raise _unfit(folder, f"it has no {MANIFEST}.")
    try:
        manifest = _parsed(read_bounded(content, MOST_FILES * _PARTS_OF_A_FILE))
        if manifest.to_bytes() != content:
            raise ValueError("written by another hand")
        return manifest, content
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as wrong:
        raise _unfit(folder, f"its {MANIFEST} cannot be read.") from wrong


# Of JSON that a stranger may have written.
def _parsed(said: Any) -> BundleManifest:  # noqa: ANN401
    if said["format"] != FORMAT or said["version"] != VERSION or type(said["unfinished"]) is not bool:
        raise ValueError("another format")
    files = {}
    for path, one in said["files"].items():
        if not is_own_path(path) or _SHA256.fullmatch(one["sha256"]) is None or type(one["bytes"]) is not int:
            raise ValueError(path)
        files[path] = FileDigest(sha256=one["sha256"], bytes=one["bytes"])
    if len(files) > MOST_FILES:
        raise ValueError("too many files")
    return BundleManifest(preset=SharedPreset(said["preset"]), files=files, is_unfinished=said["unfinished"])


def _unfit(folder: Path, why: str) -> UnfitManifest:
    return UnfitManifest(
        f"{folder} is no bundle of this program: {why}", hint="am share export makes one.", data={"path": str(folder)}
    )
