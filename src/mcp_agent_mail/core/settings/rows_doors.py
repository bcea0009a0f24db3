"""The settings of doors: where users of other systems come in, and where their mail lies. Standard library only."""

from __future__ import annotations

from mcp_agent_mail.core.settings import kinds
from mcp_agent_mail.core.settings.kinds import Row, Values
from mcp_agent_mail.core.settings.rows_mailbox import MAILBOX_CLIENT_ROWS, MAILBOX_ROWS


def _project(values: Values) -> str:
    return f"{values['STORAGE_ROOT']}/neighbours"


DOOR_ROWS = (
    Row(
        name="FACADES_HOST",
        kind=kinds.ADDRESS,
        default="127.0.0.1",
        does="The address of the ports that doors have to themselves. Beyond loopback HTTP_BEARER_TOKEN or "
        "HTTP_JWT_ENABLED is required.",
        group="Neighbours",
    ),
    Row(
        name="FACADES_PROJECT",
        kind=kinds.PATH_OR_SLUG,
        default="STORAGE_ROOT/neighbours",
        computed=_project,
        does="The project of mail from systems that know no projects. A path is made one at its first use.",
        group="Neighbours",
    ),
    Row(
        name="FACADES_MAILBOXES_MAX",
        kind=kinds.whole(10, 1_000_000),
        default="10000",
        does="Mailboxes that doors have made in one project and that have not retired, and those made within an hour: "
        "no new name comes in by a door beyond.",
        group="Neighbours",
    ),
    Row(
        name="POSTAL_ENABLED",
        kind=kinds.BOOL,
        default="false",
        does="Open the door `postal`: a mailbox at /agents/{agent}/mcp, where agents are who the path says.",
        group="Neighbours",
    ),
    Row(
        name="POSTAL_PORT",
        kind=kinds.whole(0, 65535),
        default="0",
        does="A port that this door has to itself beside, such as 7777; 0 for none.",
        group="Neighbours",
    ),
    Row(
        name="POSTAL_MAX_WAIT_SECONDS",
        kind=kinds.whole(0, 300),
        default="55",
        does="How long `check_mail` waits over MCP for mail to come; then it answers `null`. 0 for not at all.",
        group="Neighbours",
    ),
    Row(
        name="POSTAL_MAILBOX_MAX",
        kind=kinds.whole(1, 1_000_000),
        default="10000",
        does="Unread messages that a mailbox of this door holds: one more is refused.",
        group="Neighbours",
    ),
    Row(
        name="AGENTMAIL_ENABLED",
        kind=kinds.BOOL,
        default="false",
        does="Serve the command `agentmail`. One that finds no server starts one with this on, unless it is given.",
        group="Neighbours",
    ),
    *MAILBOX_ROWS,
)

DOOR_CLIENT_ROWS = (
    Row(
        name="AGENTMAIL_NAME",
        kind=kinds.WINDOW_NAME,
        said=True,
        default="",
        does="Who acts by `agentmail` outside tmux; in a window of tmux it is the window.",
        group="Client side",
        client=True,
    ),
    *MAILBOX_CLIENT_ROWS,
)
