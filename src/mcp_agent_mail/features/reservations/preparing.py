"""Before the unit of work: what the paths mean, with the one look at the workspace that rule 3 asks for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from mcp_agent_mail.domain.patterns.pattern import Pattern, parse_pattern
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.reservations import Wanted
from mcp_agent_mail.features.reservations.giving_way import rest
from mcp_agent_mail.workspace.facts import Workspaces

_CHARS_BETWEEN_RESTS = 4_000


class Reader:
    """Reads patterns off the event loop: hard ones take a while, and the workspace may lie on a slow disk.

    Where the directory does not answer nothing is granted on a guess: what a path covers depends on what lies there.
    """

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces

    async def read(self, project: Project, paths: Sequence[str], *, exclusive: bool) -> list[Wanted]:
        """One per pattern, in the order given. Raises InvalidInput for a path that cannot be read, DirectorySilent."""
        return await self.read_at(project.human_key, paths, exclusive=exclusive)

    async def read_at(self, root: str, paths: Sequence[str], *, exclusive: bool) -> list[Wanted]:
        """The same of a project that is not there yet."""
        return await self._workspaces.looks.look(root, partial(self._read, root, paths, exclusive=exclusive))

    def _read(self, root: str, paths: Sequence[str], *, exclusive: bool) -> list[Wanted]:
        ignore_case = self._workspaces.ignore_case(root)
        wanted: dict[str, Wanted] = {}
        chars = 0
        for path in paths:
            chars += len(path)
            if chars > _CHARS_BETWEEN_RESTS:
                chars = 0
                rest()
            pattern = parse_pattern(path, project_root=root, ignore_case=ignore_case)
            if pattern.text not in wanted:
                looked = pattern.with_folder(self._is_folder(root, pattern))
                wanted[pattern.text] = Wanted.of(path.strip(), looked, exclusive=exclusive)
        return list(wanted.values())

    def _is_folder(self, root: str, pattern: Pattern) -> bool:
        """Only a path without wildcards takes notice."""
        is_path = pattern.is_literal and not pattern.is_virtual
        return is_path and self._workspaces.is_folder(root, pattern.text.strip("/"))
