"""What `agentmail` says of itself: its help, and what an agent is told at its start."""

from __future__ import annotations

HELP = """\
USAGE
  agentmail <subcommand> [flags]

Mail between agents in windows of one tmux session.

SUBCOMMANDS
  send        Send a message to a tmux window
  receive     Read the oldest unread message
  recipients  List all message recipients
  status      Set your availability status
  onboard     Output agent onboarding context
  mailman     Start the notifier that types into windows with unread mail
  cleanup     Remove what is old from mailboxes
  mcp         Serve MCP on standard input and output

Outside tmux, AGENTMAIL_NAME says who you are. A server is started in the background where none runs.
"""

USAGES = {
    "send": "agentmail send [-r|--recipient X] [-m|--message Y] [<recipient>] [<message>]",
    "receive": "agentmail receive [--hook]",
    "recipients": "agentmail recipients",
    "status": "agentmail status <ready|work|offline>",
    "onboard": "agentmail onboard",
    "mailman": "agentmail mailman [--daemon]",
    "cleanup": "agentmail cleanup [--stale-hours 48] [--delivered-hours 2] [--dry-run]",
    "mcp": "agentmail mcp",
}

ONBOARD = """\
## AgentMail

You can exchange messages with the agents in other windows of this tmux session.

### Commands

**Send a message**
```bash
agentmail send <recipient> "<message>"
echo "<message>" | agentmail send <recipient>
```

**Receive a message**: the oldest one that you have not read, which is read by that
```bash
agentmail receive
```

**Recipients**: whom you can write to; your own window is marked `[you]`
```bash
agentmail recipients
```

### Example

```bash
agentmail send agent2 "Can you review the changes in src/api?"
agentmail receive
```
"""
