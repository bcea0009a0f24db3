"""Keeps an archive's packs few: joins the small ones, so that their sizes at least double from one to the next.

This is `git repack -d --geometric=2 --write-midx` in steps of our own. Git would remove the old packs
before the name of the new one is on disk, since it never syncs folders. And here packs vanish only in
`finish`, between two imports: what runs beside imports only adds one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from mcp_agent_mail.archive.repository import BIG_FILES, ArchiveRepository
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook
from mcp_agent_mail.core.file_sync import sync_path
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.core.lazy.dataclass import dataclass

FACTOR = 2
FEW_PACKS = 10
"""More than these get one index over all. For fewer it would save nothing, and doubles what their own indexes take."""

# One thread and little memory: nobody waits for it. A tree is best told as a change of the same folder's earlier
# tree, and between the two stand those of all other agents' folders: a window of 10 finds half of them, and packs
# are 1.8 times as large (20 agents: 2,430 bytes a message against 1,380).
_CONFIG = ("core.fsync=all", "pack.threads=1", "pack.windowMemory=32m", "pack.window=100", BIG_FILES)
_INDEX_MAGIC = b"\xfftOc\0\0\0\x02"
_COUNT_AT = 8 + 255 * 4
_ABANDONED_AFTER_S = 3_600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """`name` is `pack-…` without an ending."""

    name: str
    objects: int


class Repack:
    """Joins packs beside further commits. Call `finish` once `is_running` is over."""

    what = "join packs"

    def __init__(
        self, repository: ArchiveRepository, packs: Sequence[Pack], joined: Sequence[Pack], fault_hook: FaultHook
    ) -> None:
        self._repository = repository
        self._folder = pack_folder(repository)
        self._joined = [pack.name for pack in joined]
        self._fault_hook = fault_hook
        listed = "".join(f"{'' if pack in joined else '^'}{pack.name}.pack\n" for pack in packs)
        # Not under the archive's lock: it adds a pack and no more, so after a kill nobody has to wait for it.
        self._job = repository.start(
            *("pack-objects", "-q", "--stdin-packs", "--delta-base-offset", str(self._folder / "pack")),
            stdin=listed.encode(),
            config=_CONFIG,
            is_locked=False,
        )

    def is_running(self) -> bool:
        return self._job.is_running()

    def finish(self, timeout_s: float) -> None:
        """Wait so long for Git, then let the new pack take the place of the old ones. Raises GitFailed.

        Whatever ends it before its time, every object stays in a pack, and the next one joins what was left.
        """
        self._job.wait(timeout_s)
        if self._job.is_running():
            self._job.kill()
            for unfinished in self._folder.glob("tmp_*"):
                unfinished.unlink(missing_ok=True)
            raise GitFailed(f"packs of {self._repository.path} were not joined within {timeout_s:.0f} s")
        new = f"pack-{self._job.result().decode().strip()}"
        if not (self._folder / f"{new}.idx").exists():
            raise GitFailed(f"git pack-objects says it wrote {new}; {self._folder} does not have it")
        sync_path(self._folder)
        self._fault_hook(FailPoint.REPACK)
        self._drop([name for name in self._joined if name != new])

    def _drop(self, old: Sequence[str]) -> None:
        """No index over several packs may name one that is dropped, on disk neither."""
        stay = sorted(path.name for path in self._folder.glob("pack-*.idx") if path.stem not in set(old))
        if len(stay) > FEW_PACKS:
            listed = "".join(f"{name}\n" for name in stay)
            self._repository.git("multi-pack-index", "write", "--stdin-packs", stdin=listed.encode(), config=_CONFIG)
        else:
            (self._folder / "multi-pack-index").unlink(missing_ok=True)
        sync_path(self._folder)
        for name in old:
            # As Git does it: without its index it is no pack any more.
            for ending in (".idx", ".rev", ".bitmap", ".mtimes", ".pack"):
                (self._folder / f"{name}{ending}").unlink(missing_ok=True)
                self._fault_hook(FailPoint.REPACK_DELETE)


def start_repack(repository: ArchiveRepository, fault_hook: FaultHook) -> Repack | None:
    """Begin to join packs, at low priority; None when there are few enough for their sizes."""
    _remove_abandoned(pack_folder(repository))
    packs = list_packs(repository)
    joined = packs_to_join(packs)
    return Repack(repository, packs, joined, fault_hook) if joined else None


def packs_to_join(packs: Sequence[Pack]) -> list[Pack]:
    """The smallest ones, so many that each pack then has FACTOR times the objects of the next smaller, or more.

    The choice of `git repack --geometric`. Empty when they are in that order already.
    """
    ordered = sorted(packs, key=lambda pack: (pack.objects, pack.name))
    split = len(ordered) - 1
    while split > 0 and ordered[split].objects >= FACTOR * ordered[split - 1].objects:
        split -= 1
    if split <= 0:
        return []
    # Both packs of the pair that is out of order, and every bigger one that the sum of them puts out of order.
    split += 1
    total = sum(pack.objects for pack in ordered[:split])
    while split < len(ordered) and ordered[split].objects < FACTOR * total:
        total += ordered[split].objects
        split += 1
    return ordered[:split]


def pack_folder(repository: ArchiveRepository) -> Path:
    return repository.git_path / "objects" / "pack"


def count_packs(repository: ArchiveRepository) -> int:
    return sum(1 for _ in pack_folder(repository).glob("pack-*.pack"))


def list_packs(repository: ArchiveRepository) -> list[Pack]:
    """Those with an index that we can read and without a person's `.keep`, by name."""
    paths = sorted(pack_folder(repository).glob("pack-*.pack"))
    return [pack for path in paths if (pack := _pack(path)) is not None]


def _pack(path: Path) -> Pack | None:
    if path.with_suffix(".keep").exists():
        return None
    try:
        with path.with_suffix(".idx").open("rb") as index:
            magic = index.read(len(_INDEX_MAGIC))
            index.seek(_COUNT_AT)
            count = index.read(4)
    except FileNotFoundError:
        return None
    if magic != _INDEX_MAGIC or len(count) != 4:
        return None
    return Pack(name=path.stem, objects=int.from_bytes(count))


def _remove_abandoned(folder: Path) -> None:
    """What killed Git processes left long ago: unfinished files, and packs that had lost their index."""
    before = time.time() - _ABANDONED_AFTER_S
    for path in _abandoned(folder):
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < before:
                path.unlink()


def _abandoned(folder: Path) -> Iterator[Path]:
    yield from folder.glob("tmp_*")
    yield from (path for path in folder.glob("pack-*.pack") if not path.with_suffix(".idx").exists())
