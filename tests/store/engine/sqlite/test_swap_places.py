from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.features.recovery.backups.place import FOLDERS
from mcp_agent_mail.store.engine.lock import StoreLock
from mcp_agent_mail.store.engine.sqlite.swap import swap
from mcp_agent_mail.store.engine.sqlite.swap_places import STORE_FOLDERS, Move, SwapPlaces, SwapRefused


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A store's folder that somebody unpacked, beside files of the operator."""
    for name in ("store/restoring/projects", "store/undo/1", "store/projects", "home/.ssh", "data"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "store").chmod(0o700)
    for name in ("store/restoring/evil", "store/mail.sqlite3", "home/.bashrc", "home/.ssh/keys", "data/other.db"):
        (tmp_path / name).write_text(name)
    return tmp_path


def _found(world: Path) -> dict[str, str]:
    """Without what says who holds the lock."""
    locks = ("server.lock", "server.json", "mail.db.lock", "mail.db.lock.json")
    files = (path for path in world.rglob("*") if path.is_file() and path.name not in locks)
    return {str(path.relative_to(world)): path.read_text() for path in files}


def _move(place: str, built: str | None, kept: str) -> dict[str, Any]:
    return {"moves": [{"place": place, "built": built, "kept": kept}], "leftovers": []}


def _leftover(path: str) -> dict[str, Any]:
    return {"moves": [], "leftovers": [path]}


def _linked(name: str, said: dict[str, Any]) -> Callable[[Path], dict[str, Any]]:
    """`store/<name>` leads into the operator's home."""

    def make(world: Path) -> dict[str, Any]:
        place = world / "store" / name
        if place.is_dir():
            place.rename(world / "store" / f"{name}.was")
        place.symlink_to(world / "home")
        return said

    return make


def _built_as(make: Callable[[Path, Path], object], said: dict[str, Any]) -> Callable[[Path], dict[str, Any]]:
    """What was built is of another kind than what belongs in its place: `make` is given its path, and the home."""

    def spoil(world: Path) -> dict[str, Any]:
        built = Path(said["moves"][0]["built"].replace("W/", f"{world}/"))
        if built.is_dir():
            built.rmdir()
        make(built, world / "home")
        return said

    return spoil


def _said(said: dict[str, Any]) -> Callable[[Path], dict[str, Any]]:
    return lambda _: said


_PROJECTS = _move("W/store/projects", "W/store/restoring/projects", "W/store/undo/1/projects")
_DATABASE = _move("W/store/mail.sqlite3", "W/store/restoring/mail.sqlite3", "W/store/undo/1/mail.sqlite3")

HOSTILE = {
    "a file of the operator is replaced": _said(_move("W/home/.bashrc", "W/store/restoring/evil", "W/store/undo/1/x")),
    "a file of the operator is taken": _said(_move("W/home/.bashrc", None, "W/store/undo/1/projects")),
    "a folder of the operator is put in place": _said(
        _move("W/store/projects", "W/home/.ssh", "W/store/undo/1/projects")
    ),
    "a part is kept outside": _said(_move("W/store/projects", None, "W/home/projects")),
    "a folder of the operator is left over": _said(_leftover("W/home")),
    "the store itself is left over": _said(_leftover("W/store")),
    "what holds the older stores is left over": _said(_leftover("W/store/undo")),
    "it leads out by dots": _said(_leftover("W/store/undo/../../home")),
    "it leads out by dots alone": _said(_leftover("W/store/undo/..")),
    "it is a path from here": _said(_leftover("home")),
    "it holds what no path can": _said(_leftover("W/store/undo/a\0b")),
    "it holds what no system knows": _said(_leftover("W/store/undo/\ud800")),
    "a link is on the way to what is left over": _linked("undo", _leftover("W/store/undo/.ssh")),
    "a link is on the way to what is kept": _linked(
        "undo", _move("W/store/projects", None, "W/store/undo/.ssh/projects")
    ),
    "a link is on the way to what was built": _linked(
        "restoring", _move("W/store/projects", "W/store/restoring/projects", "W/store/undo/1/projects")
    ),
    "a link is put in the place of a folder": _built_as(Path.symlink_to, _PROJECTS),
    "a link that leads nowhere is put in the place of a folder": _built_as(
        lambda built, home: built.symlink_to(home / "new"), _PROJECTS
    ),
    "a file is put in the place of a folder": _built_as(lambda built, _: built.write_text("no folder"), _PROJECTS),
    "a pipe is put in the place of a folder": _built_as(lambda built, _: os.mkfifo(built), _PROJECTS),
    "a link is put in the place of the database": _built_as(
        lambda built, home: built.symlink_to(home / ".bashrc"), _DATABASE
    ),
    "a folder is put in the place of the database": _built_as(lambda built, _: built.mkdir(), _DATABASE),
    "a link is put in the place of what is rebuilt": _built_as(
        lambda built, home: built.symlink_to(home / ".bashrc"),
        _move("W/store/mail.sqlite3", "W/store/mail.sqlite3.rebuilt", "W/store/kept/1/mail.sqlite3"),
    ),
    "one part takes another's place": _said(
        _move("W/store/mail.sqlite3", "W/store/restoring/projects", "W/store/undo/1/mail.sqlite3")
    ),
    "a database elsewhere is replaced from the folder": _said(
        _move("W/data/mail.db", "W/store/restoring/mail.db", "W/data/mail.db.undo-1")
    ),
    "what lies beside the database elsewhere": _said(_move("W/data/other.db", None, "W/data/other.db.undo-1")),
}


def _write(world: Path, said: dict[str, Any]) -> None:
    text = json.dumps({"version": 1, **said}).replace("W/", f"{world}/")
    (world / "store/swap.json").write_text(text)


@pytest.mark.parametrize("database", ["store/mail.sqlite3", "data/mail.db"])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_journal_that_names_what_is_not_the_stores_is_obeyed_in_nothing(
    name: str, database: str, world: Path
) -> None:
    _write(world, HOSTILE[name](world))
    before = _found(world)

    with pytest.raises(SwapRefused, match="Nothing was touched"), StoreLock(world / "store", world / database):
        pass

    assert _found(world) == before


def test_one_foreign_move_among_others_keeps_all_of_them_from_being_done(world: Path) -> None:
    ours = _move("W/store/projects", "W/store/restoring/projects", "W/store/undo/1/projects")
    _write(world, ours | {"leftovers": ["W/store/restoring", "W/home"]})

    with pytest.raises(SwapRefused), StoreLock(world / "store", world / "store/mail.sqlite3"):
        pass

    assert (world / "store/restoring/projects").exists()


def test_a_swap_is_not_begun_that_nobody_would_finish(world: Path) -> None:
    places = SwapPlaces(storage_root=world / "store", database_path=world / "store/mail.sqlite3")

    with pytest.raises(SwapRefused):
        swap(places, [Move(place=world / "home/.bashrc", built=None, kept=world / "store/undo/1/.bashrc")])

    assert (world / "home/.bashrc").exists()
    assert not places.journal.exists()


def test_a_database_that_lies_elsewhere_is_swapped_with_what_lies_beside_it(world: Path) -> None:
    data, places = world / "data", SwapPlaces(storage_root=world / "store", database_path=world / "data/mail.db")
    for name in ("mail.db", ".mail.db.restoring", "mail.db.undo-0"):
        (data / name).write_text(name)

    swap(
        places,
        [Move(place=data / "mail.db", built=data / ".mail.db.restoring", kept=data / "mail.db.undo-1")],
        leftovers=[data / "mail.db.undo-0"],
    )

    found = {path.name: path.read_text() for path in data.iterdir()}
    assert found == {"mail.db": ".mail.db.restoring", "mail.db.undo-1": "mail.db", "other.db": "data/other.db"}


def test_a_store_on_whose_way_a_link_lies_is_named_by_either_path(world: Path) -> None:
    (world / "link").symlink_to(world)
    root = world / "link/store"
    database = root / "mail.sqlite3"
    (world / "store/mail.sqlite3.rebuilt").write_text("rebuilt")

    swap(
        SwapPlaces(storage_root=root, database_path=database),
        [
            Move(
                place=database.resolve(),
                built=world / "store/mail.sqlite3.rebuilt",
                kept=world / "store/kept/1/mail.sqlite3",
            ),
            Move(place=root / "projects", built=None, kept=root / "undo/1/projects"),
        ],
    )

    assert database.read_text() == "rebuilt"
    assert (world / "store/undo/1/projects").is_dir()


def test_the_folders_of_a_store_are_those_that_a_restore_moves() -> None:
    assert STORE_FOLDERS == FOLDERS


@pytest.mark.parametrize("said", ["W/link/../link/projects", "W/other/projects", "link/projects", "W/li\0nk/projects"])
def test_what_is_no_other_name_of_the_folder_is_not_taken_for_one(world: Path, said: str) -> None:
    (world / "link").symlink_to("store")
    (world / "other").symlink_to("home")
    places = SwapPlaces(storage_root=world / "store", database_path=world / "store/mail.sqlite3")
    path = Path(said.replace("W/", f"{world}/"))

    assert places.by_own_name(path) == path
    assert places.by_own_name(world / "link/projects") == world / "store/projects"
    with pytest.raises(SwapRefused):
        places.require_ours([Move(place=path, built=None, kept=world / "store/undo/1/projects")], [])
