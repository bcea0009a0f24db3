"""What `claude-mailbox --help` prints."""

from __future__ import annotations

HELP = """\
claude-mailbox: mail between coding sessions, by mailboxes with a name.

  send --from NAME --to NAME --body TEXT   send a message
  peek --name NAME                         how many messages wait; takes none
  check --name NAME [--hook]               take all messages that wait; --hook: silent when there are none
  watch --block --name NAME [--timeout 25] wait for the next message, or for the mailbox's new name
  list                                     the mailboxes
  status                                   Running, Stopped or NotInstalled

  serve [--port N] [--bind ADDRESS] [--db-path FILE] [--config FILE] [--hide-after-minutes N]
        [--delete-after-minutes N] [--sweep-interval-minutes N]
                                           run the server in the foreground, with this door open
  start, stop                              the same in the background; the options of serve

  session-announce, session-end            what hooks run at the start and end of a session [--name NAME]
  install-hook [--name NAME] [--project]   put the hooks into Claude Code's settings
  uninstall-hook [--project]               take them out again
  install-autostart [--service] [--skip-port-check], uninstall-autostart [--purge]
                                           start the server with your login
  mcp-stdio [--name NAME]                  MCP on standard input and output

Every command takes --url URL (or CLAUDE_MAILBOX_URL); else the server is at the first of CLAUDE_MAILBOX_PORTS.
Exit codes: 0 done, 1 refused, 2 no server answers; watch: 0 mail or a new name, 3 nothing came in time.
"""
