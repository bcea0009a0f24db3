from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from mcp_agent_mail.core.failpoints import FailPoint, FaultHook
from mcp_agent_mail.core.store_owner import SWAP_FILE
from mcp_agent_mail.store.engine.lock import StoreLock
from mcp_agent_mail.store.engine.sqlite import swap as swapping
from mcp_agent_mail.store.engine.sqlite.swap import NotedReset, SwapUnfinished, finish_swap, swap
from mcp_agent_mail.store.engine.sqlite.swap_places import Move, SwapPlaces, SwapRefused
from tests.on_disk import OnDisk

OLD = {"mail.sqlite3": "old mail", "mail.sqlite3-wal": "old log", "projects/a/.git/HEAD": "old a"}
NEW = {"mail.sqlite3": "new mail", "projects/b/.git/HEAD": "new b", "attachments/aa": "new content"}
WHOLE = NEW | {f"undo/1/{name}": text for name, text in OLD.items()}
STEPS = [
    *[(FailPoint.SWAP_BEGUN, 1), (FailPoint.SWAP_PLACED, 1)],
    *[(FailPoint.SWAP_KEPT, nth) for nth in (1, 2, 3)],
    *[(FailPoint.SWAP_MOVED, nth) for nth in (1, 2, 3)],
]
_SWAP = """
import sys
from pathlib import Path
from mcp_agent_mail.core.failpoints import FailPoint, Kill, reach_that_kills
from mcp_agent_mail.store.engine.sqlite.swap import swap
from tests.store.engine.sqlite.test_swap import moves_in, places_in
kill = Kill(point=FailPoint(sys.argv[2]), nth=int(sys.argv[3]))
swap(places_in(Path(sys.argv[1])), moves_in(Path(sys.argv[1])), fault_hook=reach_that_kills(kill))
"""


class Stopped(Exception):
    """The swap ends here."""


def journal_in(root: Path) -> Path:
    return root / SWAP_FILE


def places_in(root: Path) -> SwapPlaces:
    return SwapPlaces(storage_root=root, database_path=root / "mail.sqlite3")


def moves_in(root: Path) -> list[Move]:
    """As a restore has them: a file, a file that only leaves, a folder, and one that was not there."""
    return [
        *(_move(root, "mail.sqlite3"), _move(root, "mail.sqlite3-wal", is_built=False)),
        *(_move(root, "projects"), _move(root, "attachments")),
    ]


def _move(root: Path, name: str, *, is_built: bool = True) -> Move:
    return Move(place=root / name, built=root / "restoring" / name if is_built else None, kept=root / "undo/1" / name)


def _prepared(root: Path) -> Path:
    for base, files in ((root, OLD), (root / "restoring", NEW)):
        for name, text in files.items():
            (base / name).parent.mkdir(parents=True, exist_ok=True)
            (base / name).write_text(text)
    return root


def _found(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}


def test_what_was_built_takes_the_place_of_what_was_there_and_that_is_kept(tmp_path: Path) -> None:
    root = _prepared(tmp_path)

    swap(places_in(root), moves_in(root))

    assert _found(root) == WHOLE
    assert (root / "undo").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(("point", "nth"), STEPS)
def test_a_swap_that_was_stopped_anywhere_is_finished_by_the_next_who_takes_the_lock(
    point: FailPoint, nth: int, tmp_path: Path
) -> None:
    root, left = _prepared(tmp_path), [nth]

    def stop(at: FailPoint) -> None:
        left[0] -= at is point
        if left[0] == 0:
            raise Stopped

    with pytest.raises(Stopped):
        swap(places_in(root), moves_in(root), fault_hook=stop)
    root.chmod(0o700)

    with StoreLock(root, root / "mail.sqlite3"):
        found = _found(root)

    assert {name: text for name, text in found.items() if not name.startswith("server.")} == WHOLE
    assert not finish_swap(places_in(root))


def _names_in(folder: Path) -> dict[str, int]:
    return {path.name: path.lstat().st_ino for path in folder.iterdir()} if folder.is_dir() else {}


def test_every_name_is_on_disk_before_the_next_step_and_nothing_is_ever_without_one_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, sync = _prepared(tmp_path), os.fsync
    folders = [root, root / "built", root / "undo/1"]
    on_disk = {str(folder): _names_in(folder) for folder in folders}
    contents, points = set[int](), list[FailPoint]()
    moved = {inode for names in on_disk.values() for inode in names.values()}

    def synced(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        contents.add(os.fstat(descriptor).st_ino)
        if str(path) in on_disk:
            on_disk[str(path)] = _names_in(path)
        assert moved <= {inode for names in on_disk.values() for inode in names.values()}, path
        sync(descriptor)

    def lasts(at: FailPoint | None) -> None:
        assert on_disk == {str(folder): _names_in(folder) for folder in folders}, at
        if at is not None:
            points.append(at)
            assert journal_in(root).stat().st_ino in contents

    monkeypatch.setattr(os, "fsync", synced)

    swap(places_in(root), moves_in(root), fault_hook=lasts)

    lasts(None)
    assert set(points) == {point for point, _ in STEPS}


def test_a_process_that_was_killed_in_a_swap_leaves_it_to_the_next(tmp_path: Path) -> None:
    root = _prepared(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", _SWAP, str(root), FailPoint.SWAP_KEPT, "3"], check=False, env={**os.environ}
    )
    assert done.returncode == -signal.SIGKILL
    assert _found(root) != WHOLE

    assert finish_swap(places_in(root))

    assert _found(root) == WHOLE


def test_what_nobody_needs_then_goes_with_whoever_finishes(tmp_path: Path) -> None:
    root = _prepared(tmp_path)
    (root / "undo/0").mkdir(parents=True)

    def stop(at: FailPoint) -> None:
        if at is FailPoint.SWAP_MOVED:
            raise Stopped

    with pytest.raises(Stopped):
        swap(
            places_in(root),
            moves_in(root),
            leftovers=[root / "restoring", root / "undo/0", root / "undo/missing"],
            fault_hook=stop,
        )
    assert (root / "restoring").exists()

    assert finish_swap(places_in(root))

    assert not (root / "restoring").exists()
    assert not (root / "undo/0").exists()
    assert _found(root) == WHOLE


def test_what_somebody_put_in_a_place_meanwhile_is_not_written_over(tmp_path: Path) -> None:
    root = _prepared(tmp_path)

    def stop(at: FailPoint) -> None:
        if at is FailPoint.SWAP_KEPT:
            raise Stopped

    with pytest.raises(Stopped):
        swap(places_in(root), moves_in(root), fault_hook=stop)
    (root / "mail.sqlite3").write_text("another's")

    with pytest.raises(SwapUnfinished, match="something else was put there"):
        finish_swap(places_in(root))
    assert (root / "mail.sqlite3").read_text() == "another's"

    (root / "mail.sqlite3").unlink()
    assert finish_swap(places_in(root))
    assert _found(root) == WHOLE


def test_a_link_that_is_put_on_the_way_meanwhile_is_not_followed(tmp_path: Path) -> None:
    root = _prepared(tmp_path / "store")

    def lead_away(at: FailPoint) -> None:
        if at is FailPoint.SWAP_KEPT and not (root / "restoring").is_symlink():
            (root / "restoring").rename(tmp_path / "elsewhere")
            (root / "restoring").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(SwapUnfinished, match="restoring"):
        swap(places_in(root), moves_in(root), fault_hook=lead_away)
    assert journal_in(root).exists()


def test_what_only_left_leaves_once_whatever_comes_to_its_place_since(tmp_path: Path) -> None:
    root, log, left = _prepared(tmp_path), tmp_path / "mail.sqlite3-wal", [2]

    def stop(at: FailPoint) -> None:
        left[0] -= at is FailPoint.SWAP_KEPT
        if left[0] == 0:
            raise Stopped

    with pytest.raises(Stopped):
        swap(places_in(root), moves_in(root), fault_hook=stop)
    assert not log.exists()
    log.write_text("another's")

    assert finish_swap(places_in(root))

    assert _found(root) == WHOLE | {"mail.sqlite3-wal": "another's"}


def test_what_was_refused_is_not_done_by_the_next_who_takes_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _prepared(tmp_path)
    journal = journal_in(tmp_path)

    def sync(path: Path, **_: bool) -> None:
        if journal.exists():
            raise OSError(errno.EIO, "no disk", str(path))

    with monkeypatch.context() as sick:
        sick.setattr(swapping, "sync_path", sync)
        with pytest.raises(OSError, match="no disk"):
            swap(places_in(tmp_path), moves_in(tmp_path))

    assert not finish_swap(places_in(tmp_path))
    assert (tmp_path / "mail.sqlite3").read_text() == "old mail"


@pytest.mark.parametrize("text", ["", "[]", '{"version": 1, "moves": [{}]}', '{"version": 2, "moves": []}'])
def test_a_journal_that_says_nothing_stops_whoever_takes_the_lock(text: str, tmp_path: Path) -> None:
    journal_in(tmp_path).write_text(text)
    tmp_path.chmod(0o700)

    with pytest.raises(SwapUnfinished), StoreLock(tmp_path, tmp_path / "mail.sqlite3"):
        pass


def test_a_journal_of_another_version_is_left_to_the_program_that_knows_it(tmp_path: Path) -> None:
    root = _prepared(tmp_path)
    move = {"place": str(root / "projects"), "built": str(root / "built/projects"), "kept": str(root / "undo")}
    journal_in(root).write_text(json.dumps({"version": 2, "moves": [move], "leftovers": []}))
    before = _found(root)

    with pytest.raises(SwapUnfinished, match="of another version of this program"):
        finish_swap(places_in(root))

    assert _found(root) == before


def test_a_place_in_another_file_system_is_told_before_anything_moves(tmp_path: Path) -> None:
    root = _prepared(tmp_path)
    elsewhere = Path("/dev/shm")
    if not elsewhere.is_dir() or elsewhere.stat().st_dev == root.stat().st_dev:
        pytest.skip("there is one file system alone")
    # As a mount below the store's folder has it, which nobody can make here.
    move = Move(place=root / "projects", built=root / "restoring/projects", kept=elsewhere / "agent-mail-kept")

    with pytest.raises(OSError, match="another file system"):
        swapping._require_one_file_system(move, places_in(tmp_path))


def test_a_swap_across_file_systems_is_refused_before_anything_moves(tmp_path: Path) -> None:
    """The database is a link to a file elsewhere: both folders are its own."""
    shm = Path("/dev/shm")
    if not shm.is_dir() or shm.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is one file system alone")
    with TemporaryDirectory(dir=shm) as elsewhere:
        there = Path(elsewhere) / "mail.sqlite3"
        there.write_text("old mail")
        for folder in ("root", "beside"):
            (tmp_path / folder).mkdir()
        named = tmp_path / "beside" / "mail.sqlite3"
        named.symlink_to(there)
        built = tmp_path / "beside" / ".mail.sqlite3.restoring"
        built.write_text("new mail")
        places = SwapPlaces(storage_root=tmp_path / "root", database_path=named)
        move = Move(place=there, built=built, kept=there.with_name("mail.sqlite3.undo-1"))

        with pytest.raises(OSError, match="another file system"):
            swap(places, [move])

        assert not finish_swap(places)
        assert (there.read_text(), built.read_text()) == ("old mail", "new mail")


def test_the_folders_that_lead_to_what_was_built_are_on_disk_before_it_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, on_disk = _prepared(tmp_path), OnDisk(monkeypatch)

    def begun(at: FailPoint) -> None:
        if at is FailPoint.SWAP_BEGUN:
            assert on_disk.has(root / "restoring")
            assert on_disk.has(root)

    swap(places_in(root), moves_in(root), fault_hook=begun)


def _unstopped(_: FailPoint) -> None:
    """To the end."""


def _stopped_at(point: FailPoint) -> FaultHook:
    def stop(at: FailPoint) -> None:
        if at is point:
            raise Stopped

    return stop


@pytest.mark.parametrize("point", [None, FailPoint.SWAP_BEGUN, FailPoint.SWAP_KEPT, FailPoint.SWAP_PLACED])
def test_a_store_that_a_link_leads_to_is_swapped_and_finished_by_that_name(
    point: FailPoint | None, tmp_path: Path
) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to("real")
    _prepared(link)

    with suppress(Stopped):
        swap(places_in(link), moves_in(link), fault_hook=_unstopped if point is None else _stopped_at(point))
    finished = finish_swap(places_in(link))

    assert finished == (point is not None)
    assert _found(tmp_path / "real") == WHOLE


@pytest.mark.parametrize("point", [FailPoint.SWAP_BEGUN, FailPoint.SWAP_KEPT, FailPoint.SWAP_PLACED])
def test_what_was_begun_by_a_links_name_is_finished_by_the_real_one(point: FailPoint, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to("real")
    _prepared(link)
    with pytest.raises(Stopped):
        swap(places_in(link), moves_in(link), leftovers=[link / "restoring"], fault_hook=_stopped_at(point))

    assert finish_swap(places_in(tmp_path / "real"))

    assert _found(tmp_path / "real") == WHOLE
    assert not (tmp_path / "real/restoring").exists()


def test_what_was_begun_in_a_folder_that_is_another_one_now_is_refused_with_its_name(tmp_path: Path) -> None:
    then, now = tmp_path / "then", tmp_path / "now"
    with pytest.raises(Stopped):
        swap(places_in(_prepared(then)), moves_in(then), fault_hook=_stopped_at(FailPoint.SWAP_BEGUN))
    then.rename(now)
    _prepared(then)
    before = _found(tmp_path)

    with pytest.raises(SwapRefused) as refused:
        finish_swap(places_in(now))

    assert f"(STORAGE_ROOT was {then}, as it says)" in refused.value.hint
    assert _found(tmp_path) == before


@pytest.mark.parametrize("reset", [None, NotedReset(saved=None)])
def test_what_tells_of_an_emptied_store_is_taken_away_before_the_journal_is(
    tmp_path: Path, reset: NotedReset | None
) -> None:
    root, seen = _prepared(tmp_path), []

    def stop(point: FailPoint) -> None:
        if point is FailPoint.SWAP_PLACED:
            raise Stopped

    def note() -> None:
        seen.append(journal_in(root).exists())

    with pytest.raises(Stopped):
        swap(places_in(root), moves_in(root), reset=reset, on_reset=note, fault_hook=stop)
    with StoreLock(root, root / "mail.sqlite3", on_reset=note):
        pass
    with StoreLock(root, root / "mail.sqlite3", on_reset=note):
        pass

    assert seen == ([] if reset is None else [True, True])
