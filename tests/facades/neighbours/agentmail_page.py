"""Of each row of the page about AgentMail those that it sums up, of the table in tests/golden/agentmail/rows.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence

from tests.pages.blocks import ROOT

_TABLE = ROOT / "tests" / "golden" / "agentmail" / "rows.toml"


def read_table() -> Mapping[str, Sequence[str]]:
    """Of each counted row the tests that show it. No row stands twice, in whatever part."""
    parts = tomllib.loads(_TABLE.read_text(encoding="utf-8")).values()
    rows = [(row, [tests] if isinstance(tests, str) else list(tests)) for part in parts for row, tests in part.items()]
    assert len(dict(rows)) == len(rows), "a row stands twice"
    return dict(rows)


def counted() -> str:
    """What is counted, in words for the page."""
    table = read_table()
    tests = {test for shown in table.values() for test in shown}
    return (
        f"The {len(PAGE)} rows below sum up {len(table)} rows of a table, and a test counts those. Each of them names\n"
        f"the tests that show it, {len(tests)} different ones in all: what a command promises and the check of it are\n"
        "two rows there, and often one test.\n"
    )


PAGE: Mapping[str, Sequence[str]] = {
    "window": (
        "me is the window of TMUX_PANE; TMUX must be set and TMUX_PANE have its form",
        "others are the windows of the session",
    ),
    "project": ("the root is the nearest .git, a file or a folder: each work tree has mail of its own",),
    "ignore": (
        ".agentmailignore: one window a line, trimmed, blank lines skipped, missing is none",
        "the current window is always listed",
    ),
    "send": (
        "send: Message #<id> sent; flags beat words, a pipe beats both",
        "ids have eight characters of base62",
    ),
    "stdin": ("send: one trailing newline removed",),
    "send-nothing": ("send, nothing given; send X, no text",),
    "send-no-text": ("send, nothing given; send X, no text",),
    "send-unknown": ("send to unknown, self, ignored: recipient not found",),
    "no-git": ("send outside git",),
    "no-tmux": (
        "send, receive outside tmux: 2",
        "recipients: one a line, own [you], ignored hidden; outside tmux its own words",
    ),
    "receive": ("receive: From, ID, blank, body, no final newline; marks read; none: No unread messages",),
    "receive-none": ("receive: From, ID, blank, body, no final newline; marks read; none: No unread messages",),
    "hook": (
        "receive --hook, mail: standard error, 2",
        "receive --hook, none, no tmux, any error: nothing, 0",
        "FB7",
    ),
    "recipients": ("recipients: one a line, own [you], ignored hidden; outside tmux its own words",),
    "status": ("status ready, work, offline; bogus",),
    "status-none": ("status, no argument; outside tmux silent 0",),
    "status-no-tmux": ("status, no argument; outside tmux silent 0",),
    "onboard": ("onboard: Markdown with send, receive, recipients; 0 always",),
    "cleanup": ("cleanup, dry run and not; never deletes unread",),
    "mailman": (
        "mailman --daemon: started in background (PID: n); AGENTMAIL_DAEMON_CHILD",
        "mailman: started (PID: n); running: 2",
    ),
    "typing": (
        "the text, and Enter a second later",
        "ready with unread mail once in 60 s; work and offline never",
        "new mail triggers, what comes together is told once",
    ),
    "help": (
        "no subcommand: help on standard error, 1",
        "--help, -h: 0",
    ),
    "mcp-tools": (
        "names, descriptions and schemas; server agentmail, version dev",
        "C7",
        "FB3",
    ),
    "mcp-send": (
        "C1",
        "send: message_id; its four refusals",
    ),
    "mcp-receive": (
        "receive: from, id, message, or No unread messages",
        "C1",
    ),
    "mcp-errors": (
        "send: message_id; its four refusals",
        "C13",
    ),
    "mcp-size": ("C2",),
    "mcp-recipients": ("C3",),
    "mcp-parse": ("C4",),
    "mcp-gone": ("C5", "AM-24"),
    "plugin": (
        "four hooks",
        "slash commands shell out to the command",
        "FB10",
    ),
    "rename": ("weak points: a rename keeps the mailbox",),
    "no-folder": ("C10",),
    "name-setting": ("outside tmux a name does; a dead socket counts as outside",),
    "known-names": ("outside tmux a name does; a dead socket counts as outside",),
    "own-server": ("without a running server one is started, by `receive --hook` never",),
    "stop-order": ("the order at Stop is mended",),
    "empty-prompt": ("weak points: nothing is typed into what somebody types",),
}
