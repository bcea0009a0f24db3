"""MCP Agent Mail: mail for coding agents, live in SQLite, readable in Git."""

__version__ = "0.1.0"
