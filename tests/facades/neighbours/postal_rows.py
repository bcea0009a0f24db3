"""What is kept of postal: its two tools over MCP and plain JSON."""

from __future__ import annotations

from tests.facades.facts import Fact

_SERVED = (
    ("paths", "`/agents/{agent}/mcp` and `/agents/{agent}/mcp/` are served, both without a redirect"),
    ("eras", "Both protocol eras there: 2025-03-26 to 2025-11-25 with `mcp-session-id`, 2026-07-28 without"),
    ("two-tools", "`tools/list` has exactly `send_to_agent` and `check_mail`, with their descriptions"),
    ("takes", "`send_to_agent(name, msg, msg_id=null)`, `check_mail()`"),
    ("aliases", "`send_message` and `check_mailbox` are taken, and not listed"),
    ("server", "The server calls itself `generic`"),
    ("who", "The path of each request says who calls, whatever the session was opened as"),
    ("makes", "Sender and recipient get a mailbox by being named"),
    ("id", "The result of a send is one text: the id, the one given or a new UUID"),
    (
        "message",
        "The result of a check is one text: indented JSON with `id`, `from`, `from_agent`, `content`, then `created`",
    ),
    ("names", "A name is letters, digits, `-` and `_`; else `Error calling tool 'send_to_agent': Invalid agent name.`"),
    ("empty-body", "An empty `msg` is a message; one to oneself is delivered"),
    ("arguments", "Missing and unknown arguments are an error of the tool (`validation error`)"),
    ("unknown-tool", "`Unknown tool: nope`"),
    ("retry", "The same `msg_id` with the same content is one message, and its answer the same id"),
    ("answer-id", "An answer may carry the id of what it answers, in both directions, for ever"),
    ("clash", "The same id, place and other content is an error that says so; the server goes on"),
    ("order", "Messages are taken in the order in which they were sent"),
    ("one-taker", "Of two who wait one gets a message; the other waits on"),
    ("hang-up", "Who hangs up while waiting takes no message along"),
    ("written", "A message is read once its answer was written, and given again otherwise, after a restart too"),
    ("wait", "A check waits `POSTAL_MAX_WAIT_SECONDS` (55) at most, then gives `null`; 0 is at once"),
    ("progress", "A call with a progress token whose client takes event streams is answered as one"),
    ("depth", "At `POSTAL_MAILBOX_MAX` unread: `Mailbox of NAME is full (N unread).`, nothing is stored"),
    ("plain", '`{"tool": …, "args": …}` by `curl`: 200 and the bare value; an empty mailbox is `null` at once'),
    ("plain-refused", 'Refusals of the plain form are 400 `{"error": {…}}`, an unknown tool 404'),
    ("json-only", "What is not sent as JSON: 415; a body that is none: 400 and `-32700`"),
    ("own-port", "`POSTAL_PORT` serves the door alone"),
    ("token", "With `HTTP_BEARER_TOKEN` 401 without it"),
    ("session-end", "The end of one session is nobody else's, and a forgotten one is served"),
)

_OTHERWISE = (
    ("bad-path", "A path whose name is none is 400 (`a%20b`, `a.b`)"),
    ("case", "`Bob` and `bob` are one mailbox"),
    ("no-block", "A check never waits without an end"),
)

ROWS = (
    *(Fact(id=name, says=says) for name, says in _SERVED),
    *(Fact(id=name, says=says, otherwise=True) for name, says in _OTHERWISE),
)
