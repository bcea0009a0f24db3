"""Writes the files by which a repository says which project it is, and lets the server know."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mcp_agent_mail.cli.arguments import given_path
from mcp_agent_mail.cli.context import CliContext
from mcp_agent_mail.cli.exit_codes import code_of
from mcp_agent_mail.cli.gateway.port import Gateway, open_gateway
from mcp_agent_mail.cli.project_option import resource_uri
from mcp_agent_mail.core.errors import AgentMailError, Conflict, InvalidInput, NotFound
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.project_identity import (
    DISCOVERY_FILE,
    MARKER_FILE,
    PRIVATE_MARKER,
    Marks,
    write_discovery,
    write_marker,
)
from mcp_agent_mail.guard.hooks.code_repository import find_code_repository
from mcp_agent_mail.workspace.identity import WorkspaceIdentities
from mcp_agent_mail.workspace.marks import read_marks


class MarkTaken(Conflict):
    """Something else stands where the file belongs."""


class NoRepository(InvalidInput):
    """The directory is in no Git work tree."""


# Plain JSON, as `--json` prints it.
def mark_identity(context: CliContext, directory: str | None, *, is_private: bool) -> dict[str, Any]:
    """Write the marker file of the repository around `directory`, tie it to the project, and tell what was done. Raises
    NoRepository, MarkTaken.
    """

    def held(marks: Marks) -> str | None:
        return marks.private if is_private else marks.committed

    kind = _Kind(name=PRIVATE_MARKER if is_private else MARKER_FILE, is_private=is_private, held=held, text=_marker)
    return _mark(context, directory, kind)


def init_discovery(context: CliContext, directory: str | None) -> dict[str, Any]:
    """As `mark_identity`, with the readable `.agent-mail.yaml`. Raises NoRepository, MarkTaken."""

    def held(marks: Marks) -> str | None:
        return None if marks.discovery is None else marks.discovery.get("project_uid")

    return _mark(context, directory, _Kind(name=DISCOVERY_FILE, is_private=False, held=held, text=_discovery))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """`held` is the uid of a file that is there, `text` what a new one says for a uid and a name."""

    name: str
    is_private: bool
    held: Callable[[Marks], str | None]
    text: Callable[[str, str], str]


def _marker(uid: str, _: str) -> str:
    return write_marker(uid)


def _discovery(uid: str, name: str) -> str:
    return write_discovery({"project_uid": uid, "project_name": name.replace("'", "")})


# Plain JSON.
def _mark(context: CliContext, directory: str | None, kind: _Kind) -> dict[str, Any]:
    folder = given_path(directory or ".", "DIRECTORY").resolve()
    repository = WorkspaceIdentities().facts(str(folder)).repository
    if repository is None:
        raise NoRepository(
            f"{folder} is in no Git work tree.", hint="Name a directory of a repository, or run `git init` there first."
        )
    if kind.is_private:
        # Nothing is written into a Git directory that is not this work tree's own. Raises NoCodeRepository.
        find_code_repository(folder)
    with open_gateway(context) as gateway:
        key = _key(gateway, folder)
        is_own = key == str(folder)
        place = folder if is_own else Path(repository.root)
        file = (Path(repository.common_dir) if kind.is_private else place) / kind.name
        about = folder if key is not None else place
        is_there = kind.held(read_marks(place)) is not None
        if not is_there:
            found = gateway.call("ensure_project", {"human_key": str(about), "identity_mode": "dir"})
            _write(file, kind.text(found["project_uid"], Path(found["human_key"]).name))
        # With the file in place: what it says is tied to the project.
        found = gateway.call("ensure_project", {"human_key": str(about), "identity_mode": "dir"})
    return {
        "file": str(file),
        "written": not is_there,
        "project_uid": kind.held(read_marks(place)),
        "slug": found["slug"],
        "human_key": found["human_key"],
    }


def _key(gateway: Gateway, folder: Path) -> str | None:
    """The path by which the directory's project is known; None when it has none yet."""
    try:
        return str(gateway.read(resource_uri("identity", str(folder)))["human_key"])
    except AgentMailError as error:
        if code_of(error) != NotFound.code:
            raise
        return None


def _write(file: Path, text: str) -> None:
    """Raises MarkTaken for what is there already, a link that leads nowhere too."""
    try:
        with file.open("x", encoding="utf-8") as fresh:
            fresh.write(text)
    except FileExistsError:
        raise MarkTaken(
            f"{file} is there already, and no marker can be read from it.",
            hint=f"Look at it, move it away, and run this again: cat {file}",
        ) from None
