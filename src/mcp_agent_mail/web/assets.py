"""Styles, scripts, fonts and icons of pages, from `assets/`: under one address for each set of contents, for good."""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from mcp_agent_mail.core.lazy.dataclass import dataclass

PREFIX = "/assets/"

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".woff2": "font/woff2",
    ".svg": "image/svg+xml",
}
_WORTH = 0.9
_FRAME = ("tokens.css", "base.css", "pages.css", "acts.css")
"""What every page begins with, as one file, `frame.css`: until it is there nothing is painted."""
_UNLINKED = frozenset({*_FRAME, "bundle.css", "bundle.js"})
"""No page loads these by themselves; bundles take some along."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """`gzip` is the same compressed; None where that saves less than a tenth, as of fonts."""

    content: bytes
    media_type: str
    gzip: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetSet:
    """What pages load, by name. `digest` changes with any of them, so that what has it never changes."""

    digest: str
    assets: dict[str, Asset]

    def url(self, name: str) -> str:
        assert name in self.assets, name
        return f"{PREFIX}{self.digest}/{name}"

    def find(self, path: str) -> Asset | None:
        """The asset at a path below PREFIX; None under any digest but ours."""
        digest, _, name = path.removeprefix(PREFIX).partition("/")
        return self.assets.get(name) if digest == self.digest else None


@cache
def asset_set() -> AssetSet:
    """Read and compressed once: a few hundred kilobytes, some milliseconds."""
    found = {"frame.css": _asset(b"\n".join(map(asset_file, _FRAME)), _TYPES[".css"])}
    for file in _folder().iterdir():
        ending = "." + file.name.rpartition(".")[2]
        if ending in _TYPES and file.name not in _UNLINKED:
            found[file.name] = _asset(file.read_bytes(), _TYPES[ending])
    whole = hashlib.sha256()
    for name in sorted(found):
        whole.update(name.encode() + b"\0" + found[name].content)
    return AssetSet(digest=whole.hexdigest()[:16], assets=found)


def asset_file(name: str) -> bytes:
    """As it lies in `assets/`, also what is not served by itself."""
    return (_folder() / name).read_bytes()


def _folder() -> Traversable:
    return resources.files("mcp_agent_mail.web") / "assets"


def _asset(content: bytes, media_type: str) -> Asset:
    packed = gzip.compress(content, mtime=0)
    is_worth_it = len(packed) < _WORTH * len(content)
    return Asset(content=content, media_type=media_type, gzip=packed if is_worth_it else None)
