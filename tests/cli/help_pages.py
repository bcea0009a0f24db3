"""Writes the help texts into `tests/golden/cli/` and `docs/reference/cli.md`: `python -m tests.cli.help_pages`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.cli.command_line import am

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "cli"
REFERENCE = ROOT / "docs" / "reference" / "cli.md"
BEGIN, END = "<!-- commands: begin -->", "<!-- commands: end -->"

COMMANDS: tuple[tuple[str, ...], ...] = (
    (),
    ("init",),
    ("serve",),
    ("setup",),
    ("status",),
    ("top",),
    ("web",),
    ("mail",),
    ("mail", "inbox"),
    ("mail", "held"),
    ("mail", "read"),
    ("mail", "thread"),
    ("mail", "search"),
    ("mail", "send"),
    ("mail", "status"),
    ("mail", "withdraw"),
    ("mail", "attachment"),
    ("mail", "reply"),
    ("mail", "ack"),
    ("mail", "threads"),
    ("mail", "topic"),
    ("mail", "summary"),
    ("mail", "purge"),
    ("acks",),
    ("acks", "pending"),
    ("acks", "overdue"),
    ("acks", "remind"),
    ("wait",),
    ("robot",),
    ("robot", "status"),
    ("robot", "inbox"),
    ("robot", "thread"),
    ("robot", "search"),
    ("robot", "reservations"),
    ("robot", "whoami"),
    ("agents",),
    ("agents", "list"),
    ("agents", "show"),
    ("agents", "retire"),
    ("agents", "unretire"),
    ("agents", "status"),
    ("agents", "windows"),
    ("agents", "rename-window"),
    ("agents", "expire-window"),
    ("projects",),
    ("projects", "list"),
    ("projects", "show"),
    ("projects", "ensure"),
    ("projects", "archive"),
    ("projects", "unarchive"),
    ("projects", "invite"),
    ("projects", "codes"),
    ("projects", "revoke-code"),
    ("projects", "mark-identity"),
    ("projects", "discovery-init"),
    ("projects", "adopt"),
    ("products",),
    ("products", "ensure"),
    ("products", "link"),
    ("products", "show"),
    ("products", "search"),
    ("products", "inbox"),
    ("products", "summary"),
    ("reservations",),
    ("reservations", "list"),
    ("reservations", "active"),
    ("reservations", "soon"),
    ("reservations", "release"),
    ("contacts",),
    ("contacts", "list"),
    ("contacts", "requests"),
    ("contacts", "approve"),
    ("contacts", "deny"),
    ("contacts", "policy"),
    ("facade",),
    ("facade", "status"),
    ("facade", "names"),
    ("facade", "link"),
    ("facade", "unlink"),
    ("facade", "postal"),
    ("archive",),
    ("archive", "log"),
    ("archive", "path"),
    ("archive", "stats"),
    ("archive", "checkout"),
    ("archive", "renew"),
    ("archive", "save"),
    ("archive", "list"),
    ("archive", "restore"),
    ("archive", "export"),
    ("archive", "gc"),
    ("history",),
    ("history", "message"),
    ("history", "agent"),
    ("history", "file"),
    ("history", "inbox"),
    ("guard",),
    ("guard", "install"),
    ("guard", "uninstall"),
    ("guard", "status"),
    ("guard", "check"),
    ("guard", "log"),
    ("hook",),
    ("run",),
    ("env",),
    ("token",),
    ("token", "create"),
    ("token", "list"),
    ("token", "revoke"),
    ("token", "reissue"),
    ("docs",),
    ("docs", "insert"),
    ("share",),
    ("share", "export"),
    ("share", "verify"),
    ("share", "preview"),
    ("share", "keygen"),
    ("doctor",),
    ("doctor", "check"),
    ("doctor", "verify"),
    ("doctor", "backup"),
    ("doctor", "backups"),
    ("doctor", "restore"),
    ("doctor", "repair"),
    ("doctor", "rebuild"),
    ("debug",),
    ("debug", "report"),
    ("service",),
    ("service", "install"),
    ("service", "uninstall"),
    ("service", "status"),
    ("config",),
    ("config", "show"),
    ("config", "check"),
    ("config", "show-port"),
    ("config", "set-port"),
    ("import",),
    ("import", "postal"),
    ("import", "agentmail"),
    ("import", "claude-mailbox"),
    ("import", "mcp-agent-mail"),
    ("demo",),
    ("completion",),
    ("reset",),
)


def name_of(command: tuple[str, ...]) -> str:
    return " ".join(("am", *command))


def golden_of(command: tuple[str, ...]) -> Path:
    return GOLDEN / f"{'-'.join(('am', *command))}.txt"


def help_of(command: tuple[str, ...], home: Path) -> str:
    done = am(*command, "--help", home=home)
    assert done.returncode == 0, done.stderr
    return done.stdout


def reference_page(page: str) -> str:
    """The page with the recorded help texts between its marks; groups are only their commands' headings."""
    parts = [BEGIN, ""]
    for command in COMMANDS[1:]:
        text = golden_of(command).read_text()
        if "\nCommands:\n" in text:
            continue
        parts += [f"### `{name_of(command)}`", "", "```text", text.rstrip(), "```", ""]
    before, _, rest = page.partition(BEGIN)
    return before + "\n".join(parts) + END + rest.partition(END)[2]


def main() -> None:
    GOLDEN.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        for command in COMMANDS:
            golden_of(command).write_text(help_of(command, Path(home)))
    REFERENCE.write_text(reference_page(REFERENCE.read_text()))


if __name__ == "__main__":
    main()
