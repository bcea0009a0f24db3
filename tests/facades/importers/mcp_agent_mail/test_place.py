"""Where database and archive lie, by the one path that a person names."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.domain.importing.refusals import SourceUnreadable, UnknownLayout
from mcp_agent_mail.facades.importers.sources import open_source
from tests.facades.importers.mcp_agent_mail.one_store import add_people, database_of, read_whole
from tests.facades.importers.mcp_store import MadeStore, make_mcp_store


@pytest.fixture
def made(tmp_path: Path) -> MadeStore:
    return make_mcp_store(tmp_path / "source", messages=10)


def test_a_folder_with_the_database_in_it_is_the_database(made: MadeStore) -> None:
    whole = read_whole(made.database.parent, made.archive)

    assert whole.store == read_whole(made.database, made.archive).store
    assert len(whole.messages) == len(read_whole(made.database, made.archive).messages)


def test_a_folder_with_both_is_both(made: MadeStore) -> None:
    made.database.rename(made.archive / "storage.sqlite3")

    whole = read_whole(made.archive)

    assert whole.left["Git history"] == 1
    assert whole.links


def test_an_archive_that_is_named_twice_is_itself(made: MadeStore) -> None:
    assert read_whole(made.archive, made.archive).store == read_whole(made.archive).store


def test_two_archives_are_refused(made: MadeStore, tmp_path: Path) -> None:
    with (
        pytest.raises(SourceUnreadable, match="--archive names another"),
        open_source("mcp-agent-mail", made.archive, archive=tmp_path),
    ):
        pass


@pytest.mark.parametrize("archive", [None, Path("/nowhere")])
def test_a_folder_with_neither_is_refused_with_what_was_found(archive: Path | None, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()

    with (
        pytest.raises(UnknownLayout, match=r"no storage.sqlite3.* it has notes.txt"),
        open_source("mcp-agent-mail", tmp_path, archive=archive),
    ):
        pass


def test_an_archive_of_another_database_is_refused(made: MadeStore, tmp_path: Path) -> None:
    with database_of(tmp_path / "other.sqlite3") as connection:
        add_people(connection, "A", "B")
        connection.execute("INSERT INTO messages (id, project_id, sender_id, subject) VALUES (1, 1, 1, 's')")

    with (
        pytest.raises(UnknownLayout, match="none of it is mail of this database"),
        open_source("mcp-agent-mail", tmp_path / "other.sqlite3", archive=made.archive),
    ):
        pass


def test_an_archive_tells_its_oldest_mail_by_the_keys_that_its_database_tells_it_by(made: MadeStore) -> None:
    oldest = read_whole(made.archive).store.oldest_mail

    assert oldest
    for archive in (None, made.archive):
        whole = read_whole(made.database, archive)
        assert set(oldest) & {message.key for message in whole.messages}
        assert whole.store.oldest_mail == ()
