"""The console script `claude-mailbox`: a client of the door of that name. It starts by itself, before Typer."""
