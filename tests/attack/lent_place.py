"""A project's directory with secrets in it and around it, and what is read of them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import InvalidInput, NotFound
from mcp_agent_mail.workspace.lent_files import ArchivedContent, LentRoots, open_lent
from mcp_agent_mail.workspace.lent_places import find_folder, folder_at

SECRET = "SECRET"
MINE = b"mine"

SECRETS = (
    "outside/secret",
    "outside/plan.txt",
    "home/.ssh/id_rsa",
    "home/.mcp_agent_mail/mail.sqlite3",
    "home/.mcp_agent_mail/operator.token",
    "home/.mcp_agent_mail/attachments/ab/abcd",
    "home/.mcp_agent_mail/projects/app/.git/config",
    "home/.mcp_agent_mail/projects/app/agents/BlueLake/inbox/1.md",
    "home/.mcp_agent_mail/projects/app/messages/2026/11/0-499/held__7.md",
    "home/.mcp_agent_mail/projects/other/archive.json",
    "home/backups/mail.sqlite3",
    "home/app-secrets/secret",
    "home/app/.git/config",
    "home/app/module/.git",
    "home/app/copied/.GIT/config",
    "home/app/copied/.g\u200bit/config",
    "home/app/.mcp-mail/.git",
    "home/app/.mcp-mail/agents/BlueLake/inbox/1.md",
    "home/app/sub/.mcp-mail/messages/2026/held__7.md",
    "home/app/sub/.MCP-MAIL/Agents/BlueLake/inbox/1.md",
)


@dataclass(frozen=True)
class Place:
    """A home with a project's directory, the store, and secrets inside and beside them."""

    base: Path
    roots: LentRoots

    @property
    def app(self) -> Path:
        return self.base / "home" / "app"

    def spelt(self, text: str) -> str:
        disk = Path("/proc/self", "root")
        known = {
            "disk": disk,
            "base": self.base,
            "home": self.base / "home",
            "app": self.app,
            "outside": self.base / "outside",
        }
        return text.format(**known, store=self.base / "home/.mcp_agent_mail", proc=f"/proc/{os.getpid()}")


def build_place(base: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """`HOME` is the place's from now on."""
    home = base / "home"
    for name in SECRETS:
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text(f"{SECRET} {name}")
    (home / "app" / "deep" / "er").mkdir(parents=True)
    for name in ("plan.txt", "deep/plan.txt", "deep/er/plan.txt"):
        (home / "app" / name).write_bytes(MINE)
    monkeypatch.setenv("HOME", str(home))
    store = home / ".mcp_agent_mail"
    return Place(
        base,
        LentRoots((find_folder(home / "app"),), folder_at(store / "projects" / "app"), (store,), (home / "backups",)),
    )


def leaked(path: str, roots: LentRoots, *, may_be_anywhere: bool = False) -> bytes:
    """What is read of the file that `path` opens; nothing where it opens none."""
    try:
        found = open_lent(path, roots, may_be_anywhere=may_be_anywhere)
        if isinstance(found, ArchivedContent):
            return b""
        with found as lent:
            content = b""
            while piece := os.read(lent.descriptor, 65_536):
                content += piece
            return content
    except (InvalidInput, NotFound):
        return b""
