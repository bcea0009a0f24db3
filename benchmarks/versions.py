"""Versions of the product side by side: each from a source folder of its own, with the same Python and libraries."""

from __future__ import annotations

import compileall
import io
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """`environment` makes a Python process, and those it starts, import the product from `source`."""

    name: str
    commit: str
    source: Path

    @property
    def environment(self) -> dict[str, str]:
        return {"PYTHONPATH": str(self.source)}


def check_out_both(before: str | None, folder: Path) -> list[Version]:
    """The work tree as `now`, and `before`; without one the work tree against itself."""
    return [check_out("now", None, folder / "now"), check_out("before", before, folder / "before")]


def check_out(name: str, revision: str | None, folder: Path) -> Version:
    """The source of `revision`, or of the work tree as it is, compiled, at `folder`."""
    source = folder / "src"
    if revision is None:
        shutil.copytree(HERE / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        folder.mkdir(parents=True)
        with tarfile.open(fileobj=io.BytesIO(_git("archive", revision, "src"))) as files:
            files.extractall(folder, filter="data")
    compile_source(source)
    commit = _git("rev-parse", "--short", revision or "HEAD").decode().strip()
    return Version(name=name, commit=commit if revision else f"{commit} and the work tree", source=source)


def compile_source(source: Path) -> None:
    """As an installation does. Whoever compiled while it was measured would have measured that: 0.4 s of each start
    where PYTHONDONTWRITEBYTECODE keeps a first start from leaving it to the next one.
    """
    compileall.compile_dir(source, quiet=2)


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", "-C", HERE, *arguments], check=True, capture_output=True).stdout
