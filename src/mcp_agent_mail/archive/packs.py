"""Joins an archive's many packs into few, in two steps, so that no loss of power finds it between them.

Git writes the joined pack and an index over the packs that stay, and removes nothing: `repack -d`
would remove the old packs before the name of the new one is on disk. The old ones go when it is.
"""

from __future__ import annotations

import struct
from contextlib import suppress
from pathlib import Path

from mcp_agent_mail.archive.repository import Repository, sync
from mcp_agent_mail.core.git import GitFailed

_HEADER = struct.Struct(">4s4xI")
_CHUNK = struct.Struct(">4sQ")
_COUNT_AT = 6


class Repack:
    """Runs beside further commits: once it is done, `finish` it."""

    def __init__(self, repository: Repository) -> None:
        self._folder = pack_folder(repository)
        self._before = set(packs_of(repository))
        # Sizes double from one pack to the next afterwards, so few stay and big ones are rarely touched.
        arguments = ("repack", "-q", "--geometric=2", "--write-midx")
        self._job = repository.start(*arguments, config=("core.fsync=all",))

    def is_running(self) -> bool:
        return self._job.is_running()

    def finish(self, timeout_s: float) -> None:
        """Wait so long for Git, then remove the packs whose objects are in the joined one.

        When that cannot be, they stay: superfluous, harmless, and joined again the next time.
        """
        self._job.wait(timeout_s)
        if self._job.is_running():
            self._job.kill()
            return
        with suppress(GitFailed, OSError):
            self._job.result()
            self._remove_joined()

    def _remove_joined(self) -> None:
        sync(self._folder)
        stay = set(_indexed_packs(self._folder / "multi-pack-index"))
        # An index that names nothing new was not written by this run and says nothing about it.
        if stay - self._before:
            for pack in self._before - stay:
                if not (self._folder / f"{pack}.keep").exists():
                    _remove(self._folder / pack)


def pack_folder(repository: Repository) -> Path:
    return repository.git_path / "objects" / "pack"


def packs_of(repository: Repository) -> list[str]:
    """Their names, without an ending."""
    return [pack.stem for pack in pack_folder(repository).glob("*.pack")]


def _remove(pack: Path) -> None:
    """As Git does it: without its index it is no pack any more."""
    for ending in (".idx", ".rev", ".bitmap", ".mtimes", ".pack"):
        pack.with_suffix(ending).unlink(missing_ok=True)


def _indexed_packs(multi_pack_index: Path) -> list[str]:
    """Which packs Git's index over several packs names (its chunk PNAM: names that end in NUL)."""
    content = multi_pack_index.read_bytes()
    magic, _ = _HEADER.unpack_from(content)
    assert magic == b"MIDX", multi_pack_index
    entries = (content[_HEADER.size + at :] for at in range(0, (content[_COUNT_AT] + 1) * _CHUNK.size, _CHUNK.size))
    chunks = [_CHUNK.unpack_from(entry) for entry in entries]
    names = next(at for at, (name, _) in enumerate(chunks) if name == b"PNAM")
    listed = content[chunks[names][1] : chunks[names + 1][1]]
    return [name.removesuffix(".idx") for name in listed.decode().split("\0") if name]
