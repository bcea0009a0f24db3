"""What is kept of AgentMail: its command, its MCP server, its notifier."""

from __future__ import annotations

from tests.facades.facts import Fact

_SERVED = (
    ("window", "Who acts is the window of `TMUX_PANE`; others are the windows of the session"),
    ("project", "The project is the Git root of the working directory"),
    ("ignore", "`.agentmailignore` at the Git root hides windows, the own one never"),
    ("send", "`send [-r X] [-m TEXT] [X] [TEXT]`: `Message #<id> sent`; an id is 8 characters of base 62"),
    ("stdin", "Text from a pipe beats the argument; one newline at its end is cut"),
    ("send-nothing", "`error: missing required arguments: recipient message`, 1"),
    ("send-no-text", "`error: no message provided` and `usage: agentmail send <recipient> <message>`, 1"),
    ("send-unknown", "`error: recipient not found`, 1: an unknown one, oneself, an ignored one"),
    ("no-git", "`error: not in a git repository: not in a git repository`, 1"),
    (
        "no-tmux",
        (
            "`error: agentmail must run inside a tmux session`, 2; `recipients`: `error: not running "
            "inside a tmux session`, 2"
        ),
    ),
    (
        "receive",
        "`receive`: `From: X`, `ID: Y`, a blank line and the body, without a newline at the end; marks it read",
    ),
    ("receive-none", "`No unread messages`, 0"),
    (
        "hook",
        "`receive --hook`: mail to stderr behind `You got new mail`, 2; silence and 0 else, in a second",
    ),
    ("recipients", "`recipients`: one a line in tmux's order, ` [you]` behind the own one"),
    ("status", "`status ready|work|offline`: silence, 0; `Invalid status: X. Valid: ready, work, offline`, 1"),
    (
        "status-none",
        "`error: missing required argument: status` and `usage: agentmail status <ready\\|work\\|offline>`, 1",
    ),
    ("status-no-tmux", "`status` outside tmux: silence, 0"),
    ("onboard", "`onboard`: Markdown, 0 always"),
    ("cleanup", "`cleanup [--stale-hours 48] [--delivered-hours 2] [--dry-run]` with its summary"),
    ("mailman", "`mailman [--daemon]`: one for a project; `error: mailman daemon already running (PID: n)`, 2"),
    (
        "typing",
        (
            "A `ready` window with unread mail gets `Check your agentmail` and Enter, once in 60 s; changes within "
            "500 ms are one"
        ),
    ),
    ("help", "No subcommand: help on stderr, 1; `--help`: 0"),
    (
        "mcp-tools",
        (
            "`agentmail mcp` has exactly `send`, `receive`, `status`, `list-recipients`, listed within a "
            "second and without a server"
        ),
    ),
    ("mcp-send", '`send`: the text `Message #<id> sent`, structured `{"message_id"}`'),
    ("mcp-receive", '`receive`: the text of the command, structured `{"from", "id", "message"}`'),
    ("mcp-errors", "`no message provided`, `recipient not found`, `cannot send message to self`: errors of the tool"),
    ("mcp-size", "Over 65,536 bytes: JSON-RPC error -32602, `message exceeds maximum size of 64KB`"),
    (
        "mcp-recipients",
        '`list-recipients`: `{"recipients": [{"name", "is_current"}]}`; alone also `No recipients available`',
    ),
    ("mcp-parse", "What is no JSON: -32700 with id null, and the server goes on"),
    ("mcp-gone", "tmux gone: the process ends with 1 within a second, during a call too; the end of stdin: 0"),
    ("plugin", "Four hooks and four slash commands as plugin files"),
)

_OTHERWISE = (
    ("rename", "A window that is renamed keeps its mailbox"),
    ("no-folder", "`.agentmail/` is neither needed nor made"),
    ("name-setting", "`AGENTMAIL_NAME` says who acts outside tmux"),
    ("known-names", "Names that the project knows are recipients beside windows"),
    ("own-server", "Without a running server one is started; `receive --hook` never does"),
    ("stop-order", "After mail the hook of `Stop` sets the status all the same"),
    ("empty-prompt", "The notifier types only where the prompt line is empty"),
)

ROWS = (
    *(Fact(id=name, says=says) for name, says in _SERVED),
    *(Fact(id=name, says=says, otherwise=True) for name, says in _OTHERWISE),
)
