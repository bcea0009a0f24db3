"""The Git repository's work tree: folders of projects with profiles, mail, leases and attachments as files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from mcp_agent_mail.core.json_limits import read_bounded
from mcp_agent_mail.domain.importing.records import SourceKind
from mcp_agent_mail.domain.importing.refusals import some, unknown_layout
from mcp_agent_mail.facades.importers.folders import SourceFolder
from mcp_agent_mail.facades.importers.mcp_agent_mail.mail_file import LONGEST_FILE, MailFile, parse_filed_mail
from mcp_agent_mail.facades.importers.reading_notes import ReadingNotes

PROJECTS = "projects"
_MESSAGES, _THREADS = "messages", "threads"
_LEASES, _SLOTS, _ATTACHMENTS, _AGENTS = "file_reservations", "build_slots", "attachments", "agents"
_LONGEST_RECORD = 1 << 20
_MOST_PARTS = 10_000
_CONVERTED = re.compile(r"[0-9a-f]{40}\.webp")
_XX = re.compile(r"[0-9a-f]{2}")
_DEPTH = 8
_PATH = re.compile(r"(?:projects/[^/]+/)?attachments/(?P<way>(?:[^/]+/){0,4}[^/]+)")


class SourceArchive:
    """One open work tree."""

    def __init__(self, root: SourceFolder, system: str, notes: ReadingNotes) -> None:
        self._stack = ExitStack()
        self.path = root.path
        self._root = root
        self._notes = notes
        projects = root.below(PROJECTS)
        if projects is None:
            found = some(one.name for one in root.names())
            raise unknown_layout(root.path, system, f"the folder has no `{PROJECTS}`; it has {found}")
        self._projects = self._stack.enter_context(projects)

    def close(self) -> None:
        self._stack.close()

    def slugs(self) -> list[str]:
        """Of the projects that have a folder."""
        return [one.name for one in self._projects.names() if one.is_folder]

    # As JSON has it.
    def profiles(self, slug: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The folder's name of each agent, and its profile, empty where that cannot be read."""
        for folder in self._folders(slug, _AGENTS):
            for one in folder.names():
                if one.is_folder:
                    with ExitStack() as stack:
                        below = folder.below(one.name)
                        if below is not None:
                            stack.enter_context(below)
                            yield one.name, _record(below.read("profile.json", _LONGEST_RECORD)) or {}

    def mail_places(self, slug: str) -> Iterator[str]:
        """The path of each message below the folder of the project; copies in inboxes and outboxes are none of them."""
        with ExitStack() as stack:
            for folder in self._opened(slug, _MESSAGES, stack):
                for year in folder.names():
                    if year.is_folder and year.name != _THREADS:
                        yield from self._files_below(folder, year.name, f"{_MESSAGES}/{year.name}", ".md")

    def mail(self, slug: str, path: str) -> MailFile | None:
        """What stands at a path that `mail_places` gave; None where it is no message."""
        content = self._read(slug, path, LONGEST_FILE)
        return None if content is None else parse_filed_mail(content)

    # As JSON has it.
    def leases(self, slug: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Name and record of each; those by their own number first, since the others may be of the same lease."""
        for folder in self._folders(slug, _LEASES):
            names = [one.name for one in folder.names() if one.is_file and one.name.endswith(".json")]
            for name in sorted(names, key=lambda one: (not one.startswith("id-"), one)):
                record = _record(folder.read(name, _LONGEST_RECORD))
                if record is None:
                    self._notes.leave_out(SourceKind.LEASE, "its file holds no JSON object")
                else:
                    yield name, record

    def content(self, slug: str, path: str, at_most: int) -> bytes | None:
        """Of an attachment, by the path that a message has for it, or its SHA-1; None where it is not there."""
        found = _PATH.fullmatch(path)
        if found is not None:
            way = f"{_ATTACHMENTS}/{found['way']}"
        elif re.fullmatch(r"[0-9a-f]{40}", path):
            way = f"{_ATTACHMENTS}/{path[:2]}/{path}.webp"
        else:
            return None
        content = self._read(slug, way, at_most)
        return content if content is not None else self._read(None, way, at_most)

    def count_left_out(self) -> None:
        """Build slots and original images, project by project, and that there is a history."""
        slots = originals = 0
        for slug in self.slugs():
            slots += sum(1 for _ in self._all_below(slug, _SLOTS, ".json"))
            originals += sum(1 for path in self._all_below(slug, _ATTACHMENTS, "") if _is_original(path))
        self._notes.leave_out("build slots", "they are held for minutes: agents take them anew", slots)
        self._notes.leave_out(
            "original images", "what was converted is kept; what it was made of stays in the old archive", originals
        )
        if any(one.name == ".git" for one in self._root.names()):
            self._notes.leave_out(
                "Git history", "mail gets a history of its own here; the old repository stays as it is", 1
            )

    def _all_below(self, slug: str, name: str, ending: str) -> Iterator[str]:
        with ExitStack() as stack:
            for folder in self._opened(slug, name, stack):
                for one in folder.names():
                    if one.is_folder:
                        yield from self._files_below(folder, one.name, f"{name}/{one.name}", ending)
                    elif one.is_file and one.name.endswith(ending):
                        yield f"{name}/{one.name}"

    def _files_below(
        self, folder: SourceFolder, name: str, path: str, ending: str, depth: int = _DEPTH
    ) -> Iterator[str]:
        below = folder.below(name) if depth else None
        if below is None:
            self._notes.note(f"{path} of the archive is not looked into: it lies too deep, or is a link.")
            return
        with below:
            for one in below.names():
                if one.is_folder:
                    yield from self._files_below(below, one.name, f"{path}/{one.name}", ending, depth - 1)
                elif one.name.endswith(ending):
                    if one.is_file:
                        yield f"{path}/{one.name}"
                    else:
                        self._notes.note(f"{path}/{one.name} of the archive is a link, and is left alone."[:300])

    def _folders(self, slug: str, name: str) -> Iterator[SourceFolder]:
        with ExitStack() as stack:
            yield from self._opened(slug, name, stack)

    def _opened(self, slug: str, name: str, stack: ExitStack) -> Iterator[SourceFolder]:
        project = self._projects.below(slug)
        if project is not None:
            stack.enter_context(project)
            folder = project.below(name)
            if folder is not None:
                yield stack.enter_context(folder)

    def _read(self, slug: str | None, path: str, at_most: int) -> bytes | None:
        *folders, name = path.split("/")
        if any(one in ("", ".", "..") for one in (*folders, name)):
            return None
        with ExitStack() as stack:
            at: SourceFolder | None = self._root if slug is None else self._projects.below(slug)
            if slug is not None and at is not None:
                stack.enter_context(at)
            for one in folders:
                at = None if at is None else at.below(one)
                if at is not None:
                    stack.enter_context(at)
            return None if at is None else at.read(name, at_most)


def open_archive(path: Path, system: str, notes: ReadingNotes, stack: ExitStack) -> SourceArchive:
    """Closed with `stack`. Raises UnknownLayout, SourceUnreadable."""
    root = stack.enter_context(SourceFolder.open(path))
    archive = SourceArchive(root, system, notes)
    stack.callback(archive.close)
    return archive


def _is_original(path: str) -> bool:
    """Whatever lies with the attachments and is no converted image by its name."""
    _, *between, name = path.split("/")
    return not (_CONVERTED.fullmatch(name) and len(between) == 1 and _XX.fullmatch(between[0]))


# As JSON has it.
def _record(content: bytes | None) -> dict[str, Any] | None:
    if content is not None:
        with suppress(ValueError, RecursionError):
            found = read_bounded(content, _MOST_PARTS)
            return found if isinstance(found, dict) else None
    return None
