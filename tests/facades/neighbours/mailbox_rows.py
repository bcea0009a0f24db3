"""What is kept of ClaudeMailbox: its tools, its REST routes, its command."""

from __future__ import annotations

from tests.facades.facts import Fact

_SERVED = (
    ("ports", "`CLAUDE_MAILBOX_PORTS` (47822, 37849) serve `/mcp`, `/v1/*` and `/health`"),
    ("health", '`/health`: `{"status": "ok", "version", "dbPath"}`, without header or token'),
    ("header", "`X-Mailbox` says who calls; over MCP the arguments `from` and `name` come before it"),
    ("seen", "A request with the header makes the mailbox, and it counts as seen"),
    ("five-tools", "`tools/list` has exactly `send`, `check_inbox`, `peek_inbox`, `list_mailboxes`, `rename`"),
    ("send", '`POST /v1/send {"to", "body"}`: `{"id", "from", "to", "createdAt"}`'),
    ("send-refused", '400 `{"error": "to is required"}`, `body is required`, `X-Mailbox header is required`'),
    (
        "check",
        '`POST /v1/check-inbox?name=`: `[{"id", "from", "to", "body", "createdAt"}]`, oldest first, all that waits',
    ),
    (
        "check-foreign",
        'A name that is not the header\'s: 403 `{"error": "X-Mailbox does not match name"}`, nothing is consumed',
    ),
    ("peek", '`GET /v1/peek?name=`: `{"pending", "oldestAt"}`; changes and makes nothing'),
    (
        "list",
        '`GET /v1/list`: `[{"name", "lastSeenAt", "pending", "pendingForYou"}]`',
    ),
    (
        "list-idle",
        "Those idle for `CLAUDE_MAILBOX_HIDE_AFTER_MINUTES` are not listed, unless mail of theirs waits for the caller",
    ),
    (
        "rename",
        (
            '`POST /v1/rename {"to"}`: `{"from", "to", "messagesTransferred"}`; 409 `target-exists`, 400 '
            "`source-missing` and `invalid`"
        ),
    ),
    (
        "watch",
        "`GET /v1/watch`: waits 25 s, 300 at most; one gets a message, the oldest waiter first; a rename wakes it",
    ),
    ("delete", "Deleting a mailbox works only where nothing is pending either way"),
    (
        "cli",
        (
            "`claude-mailbox` `serve`, `send`, `peek`, `check`, `watch`, `list`, `status`, `start`, `stop`, "
            "`session-announce` and `session-end`, all with `--url`"
        ),
    ),
    ("watch-exit", "`watch --block`: 0 mail or rename, 1 error, 2 no server, 3 time is up"),
    ("check-hook", "`check --hook`: mail, or silence and 0 where there is none or no server"),
    ("hooks", "`install-hook` twice is one entry an event; `uninstall-hook` gives the file back byte for byte"),
    ("announce", "At the start of a session: the own name, exact arguments, those seen within 60 minutes"),
    (
        "autostart",
        "`install-autostart`: systemd of the user, launchd, a Windows task; a foreign service on the port is refused",
    ),
    ("mcp-stdio", "`mcp-stdio` is the MCP server over stdin"),
)

_OTHERWISE = (
    ("from-body", "A `from` in a body of REST that is not the header's is refused"),
    ("retired", "Idle mailboxes retire; no message is removed"),
    ("given-back", "A watch or check whose answer was not written leaves its mail where it was"),
    ("bind", "`serve --bind` beyond loopback is refused without `HTTP_BEARER_TOKEN` or `HTTP_JWT_ENABLED`"),
    ("old-file", "`serve --db-path` of the old program's file: 78, untouched; `am import claude-mailbox` takes it"),
)

ROWS = (
    *(Fact(id=name, says=says) for name, says in _SERVED),
    *(Fact(id=name, says=says, otherwise=True) for name, says in _OTHERWISE),
)
