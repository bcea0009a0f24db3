"""How everything is called that lies beside a database: its log, copies, locks, what is built, what is kept.

Whoever writes there asks for the name here, so that all of it is known as the store's, wherever the database lies.
"""

from __future__ import annotations

from pathlib import Path

KEPT_FOLDER = "kept"
"""What a rebuild has replaced, by time: beside a database, and below STORAGE_ROOT."""

UNDO_FOLDER = "undo"
"""What a restore has replaced, by time: below STORAGE_ROOT; of a database elsewhere beside it, behind its name."""

DATABASE_ENDS = ("", "-wal", "-shm", "-journal")
"""A database, and what SQLite writes beside it: read with it, whatever database lies there by then."""

REBUILT_ENDING = ".rebuilt"

_AFTER_THE_NAME = ("-", ".")


def beside(database: Path, ending: str) -> Path:
    """A file or folder of the database's: `ending`, which begins with `-` or `.`, follows its name."""
    assert ending.startswith(_AFTER_THE_NAME), ending
    return database.with_name(f"{database.name}{ending}")


def hidden_beside(database: Path, ending: str) -> Path:
    """As `beside`, out of a person's sight: for what is being built."""
    assert ending.startswith(_AFTER_THE_NAME), ending
    return database.with_name(f".{database.name}{ending}")


def database_files(database: Path) -> list[Path]:
    """The database itself first, whether all of them are there or not."""
    return [database.with_name(f"{database.name}{ending}") for ending in DATABASE_ENDS]


def unfinished(database: Path) -> Path:
    """Where what is to be `database` is made until it is whole."""
    return beside(database, ".new")


def rebuilt_aside(database: Path) -> Path:
    """Where a rebuild makes what is to take its place."""
    return beside(database, REBUILT_ENDING)


def remove_unfinished(database: Path) -> None:
    """Remove a database that nobody has use for, and what was being made into it, whether they are there or not."""
    remove_database(database)
    remove_database(unfinished(database))


def remove_database(database: Path) -> None:
    """Remove it with what SQLite has written beside it, whether they are there or not."""
    for file in database_files(database):
        file.unlink(missing_ok=True)


def kept_folder(parent: Path) -> Path:
    """Where lies, by time, what a rebuild has replaced: in STORAGE_ROOT, or in the folder of a database elsewhere."""
    return parent / KEPT_FOLDER


def is_of_database(name: str, database_name: str) -> bool:
    """Is it the name of the database, or one that this module gives for it? In any letter case."""
    name, own = name.casefold(), database_name.casefold()
    rest = name.removeprefix(".")
    return name in (own, KEPT_FOLDER) or (rest.startswith(own) and rest[len(own) :].startswith(_AFTER_THE_NAME))
