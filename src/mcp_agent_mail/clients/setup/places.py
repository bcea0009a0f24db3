"""Which clients are on this machine, and where each keeps its files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from mcp_agent_mail.clients.contracts.reader import CLIENTS, read_contract
from mcp_agent_mail.clients.setup.wishes import FileWish, Scope
from mcp_agent_mail.core.lazy.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Signs that a client is here: a program on PATH, or its `folder`, which a variable may move.

    Below a moved folder lies what else would lie beside or below it.
    """

    programs: Sequence[str]
    folder: str
    variable: str | None = None


PLACES: Mapping[str, Place] = {
    "claude": Place(programs=("claude",), folder="~/.claude", variable="CLAUDE_CONFIG_DIR"),
    "codex": Place(programs=("codex",), folder="~/.codex", variable="CODEX_HOME"),
    "gemini": Place(programs=("gemini",), folder="~/.gemini"),
    "cursor": Place(programs=("cursor", "cursor-agent"), folder="~/.cursor"),
    "opencode": Place(programs=("opencode",), folder="~/.config/opencode"),
    "copilot": Place(programs=("copilot",), folder="~/.copilot", variable="COPILOT_HOME"),
    "windsurf": Place(programs=("windsurf",), folder="~/.codeium/windsurf"),
    "cline": Place(programs=("cline",), folder="~/.cline"),
    "droid": Place(programs=("droid",), folder="~/.factory"),
    "amp": Place(programs=("amp",), folder="~/.config/amp"),
}
_BESIDE = {"claude": "~/.claude.json"}
"""A file of the user's that lies beside the folder, and in it once that is moved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Whose clients are meant: a home, and the variables of its shell."""

    home: Path
    environ: Mapping[str, str]

    def find_clients(self) -> list[str]:
        """In the order of CLIENTS."""
        return [client for client in CLIENTS if self._is_here(client)]

    def user_path(self, client: str, written: str) -> Path:
        """Where a path of a contract lies, such as `~/.codex/config.toml`."""
        place = PLACES[client]
        moved = self.environ.get(place.variable or "") or None
        if moved and os.path.isabs(moved):  # noqa: PTH117  # of a text that is no path yet
            if written == _BESIDE.get(client):
                return Path(moved) / written.removeprefix("~/")
            if written.startswith(f"{place.folder}/"):
                return Path(moved) / written.removeprefix(f"{place.folder}/")
        return self.home / written.removeprefix("~/")

    def _is_here(self, client: str) -> bool:
        place = PLACES[client]
        on_path = any(shutil.which(program, path=self.environ.get("PATH", "")) for program in place.programs)
        return on_path or self.user_path(client, f"{place.folder}/.").is_dir()


def is_known(wish: FileWish, home: Path) -> bool:
    """Whether the client's contract has a file there: of the user's at its place in the home or below a folder that
    a variable may move, of a project's below any folder.
    """
    if wish.client not in PLACES or not wish.path.is_absolute() or ".." in wish.path.parts:
        return False
    contract = read_contract(wish.client)
    row = contract["files"][wish.part][wish.scope]
    if row is None:
        return False
    found = wish.path
    if row.get("shape") == "executable":
        if found.name not in contract["events"]:
            return False
        found = found.parent
    if wish.scope is Scope.PROJECT:
        return _ends_with(found, row["path"])
    place, written = PLACES[wish.client], str(row["path"])
    if found == home / written.removeprefix("~/"):
        return True
    below = "~/" if written == _BESIDE.get(wish.client) else f"{place.folder}/"
    return place.variable is not None and written.startswith(below) and _ends_with(found, written.removeprefix(below))


def _ends_with(path: Path, written: str) -> bool:
    parts = Path(written).parts
    return path.parts[-len(parts) :] == parts
