"""`am migrate`, as it is called elsewhere: brings the store's schema up to date, as a start of the server does."""

from __future__ import annotations

import typer

from mcp_agent_mail.cli.context import load_context
from mcp_agent_mail.cli.lazy_typer import LeanCommand
from mcp_agent_mail.cli.output import JsonFlag, print_fields, print_json

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command("migrate", cls=LeanCommand)
def migrate(json: JsonFlag = False) -> None:
    """Bring the store's schema up to date.

    A copy of the database is kept before. A server does this as it starts, so there is nothing to do beside
    one. Exit codes: 0 up to date, 1 refused, 69 no store.
    """
    context = load_context()
    context.require_store()
    from mcp_agent_mail.cli.offline.migrate import migrate_offline

    told = migrate_offline(context)
    if json:
        print_json(told)
    else:
        print_fields(list(told.items()))
