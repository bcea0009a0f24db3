"""What a person does about an archive that is lost, or whose objects Git cannot read: in the same words everywhere."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def of_lost(path: Path, *, has_database: bool) -> str:
    """About the archive that was at `path`, and is not, or not all of it. `has_database`: the store's database can be
    read, so everything that was in the archive can be written again.
    """
    if has_database:
        return (
            f"Put the archive back to {path}: it is then gone on with by itself. If it is lost for good, stop the "
            "server and run `am doctor repair`, which writes it again from the database (a server that is started does "
            "so too where the whole folder is gone)."
        )
    return f"Put the archive back to {path}. {of_unfit([path.name], has_database=False)}"


def of_damaged(path: Path, *, has_database: bool) -> str:
    """About the archive at `path`, whose objects are damaged."""
    if has_database:
        return (
            f"Stop the server and run `am doctor repair`: it keeps {path} aside and writes the archive again from the "
            "database. Or go back to a backup: am doctor restore BACKUP"
        )
    return of_unfit([path.name], has_database=False)


def of_unfit(slugs: Iterable[str], *, has_database: bool) -> str:
    """About archives of which no database can be made, for one reason or another."""
    options = " ".join(f"--without {slug}" for slug in slugs)
    first = (
        "What is lost or damaged `am doctor repair` writes again from the database."
        if has_database
        else "Go back to a backup (am doctor backups lists them): am doctor restore BACKUP."
    )
    return f"{first} To go on without it: am doctor rebuild {options}" if options else first
