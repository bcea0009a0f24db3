from __future__ import annotations

from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.store.engine.sqlite.migrate import migrate, shipped_migrations
from tests.cli.conftest import Post
from tests.cli.shell import Shell


def test_a_store_that_is_up_to_date_stays_with_a_server_and_without_one(
    at_post: Shell, post: Post, stopped_post: Post
) -> None:
    for root in (post.server.root, stopped_post.server.root):
        at_post.set(STORAGE_ROOT=str(root))

        done = at_post.am("migrate", "--json")

        assert done.code == 0
        assert done.err == ("Notice: migrate is an older name. am serve brings the store up to date at each start.\n")
        assert (done.json()["migrated"], done.json()["database"]) == (False, str(root / "mail.sqlite3"))


def test_an_older_schema_is_brought_up_to_date_and_a_copy_is_kept(shell: Shell) -> None:
    database = shell.home / ".mcp_agent_mail" / "mail.sqlite3"
    database.parent.mkdir()
    migrate(database, fault_hook=no_fault, migrations=shipped_migrations()[:-1])
    refused = shell.am("projects", "list")

    done = shell.am("migrate", "--json")

    newest = shipped_migrations()[-1].version
    assert refused.code != 0
    assert (done.json()["schema"], done.json()["migrated"]) == (newest, True)
    assert shell.am("projects", "list").code == 0
    assert (database.parent / f"mail.sqlite3.before-{newest:04}").is_file()
