"""The files of a bundle, one after the other: nothing holds more of them than one, and the index of a search."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.features.sharing.manifest import BundleFile
from mcp_agent_mail.features.sharing.results import (
    SharedAttachment,
    SharedMail,
    SharedMessage,
    SharedPreset,
    SharedProject,
)
from mcp_agent_mail.features.sharing.service import SharingService
from mcp_agent_mail.web.assets import asset_file
from mcp_agent_mail.web.bundle.index import MESSAGES_OF_A_FILE, SearchIndex, shard_path
from mcp_agent_mail.web.bundle.text import shown_body
from mcp_agent_mail.web.render.environment import render

ROWS_OF_A_PAGE = 100
SHOWN_ADDRESSEES = 50

_ASSETS = ("tokens.css", "base.css", "pages.css", "bundle.css", "bundle.js", "icon.svg", "inter.woff2")
_MONO = "jetbrains-mono.woff2"

Progress = Callable[[int, int], None]
_Row = TypeVar("_Row")
_Parts = Iterator[tuple[str, Sequence[_Row], str | None]]
"""Of a page its path, its rows, and the name of the next page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleAttachment:
    """`href` is None for what was left out, and `why_left` says why."""

    name: str
    bytes: int
    href: str | None
    is_image: bool
    why_left: str
    width: int | None
    height: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleThread:
    key: str
    name: str
    messages: Sequence[SharedMessage]


class BundlePages:
    """Of what `service` has collected. `progress` hears of messages."""

    def __init__(self, service: SharingService, mail: SharedMail, *, progress: Progress) -> None:
        self._service = service
        self._mail = mail
        self._progress = progress
        self._index = SearchIndex()
        self._total = sum(len(project.messages) for project in mail.projects)
        self._attachments: dict[tuple[str, str], tuple[str | None, bool, str]] = {}
        self._done: set[str] = set()

    def files(self) -> Iterator[BundleFile]:
        """Each once, its path lower-case; the same mail gives the same bytes."""
        yield from _assets()
        for project in self._mail.projects:
            yield from self._project(project)
        yield from self._index.messages_files()
        shards = self._index.shards()
        yield from (BundleFile(path=shard_path(digits), content=content) for digits, content in shards.items())
        model = {
            "projects": self._mail.projects,
            "total": self._total,
            "shards": " ".join(f"words{digits}" for digits in shards),
            "of_a_file": MESSAGES_OF_A_FILE,
        }
        yield self._page("index.html", "bundle/index.html", model, title="Shared mail", root="")

    def _project(self, project: SharedProject) -> Iterator[BundleFile]:
        threads = [
            BundleThread(key=thread_key(name), name=name, messages=messages)
            for name, messages in project.threads.items()
        ]
        places = {one.id: (thread, at) for thread in threads for at, one in enumerate(thread.messages)}
        for message in project.messages:
            yield from self._message(project, message, places.get(message.id))
        newest = list(reversed(project.messages))
        parts = _newest_first(f"{project.slug}/index.html", newest)
        yield from self._rows(project, parts, title=project.name, section="mail")
        for thread in threads:
            parts = _oldest_first(f"{project.slug}/threads/{thread.key}.html", thread.messages)
            yield from self._rows(project, parts, title=f"Thread {thread.name}", section="thread")
        yield from self._threads(project, threads)
        model = {"project": project, "section": "agents"}
        path = f"{project.slug}/agents.html"
        yield self._page(path, "bundle/agents.html", model, title=f"Agents of {project.name}", root="../")

    def _message(
        self, project: SharedProject, message: SharedMessage, place: tuple[BundleThread, int] | None
    ) -> Iterator[BundleFile]:
        body = None
        if self._mail.preset is not SharedPreset.STRICT:
            body = shown_body(self._service.written_body(message.id), self._service.redactor)
        self._index.add(message, project.name, "" if body is None else body.text)
        attachments = []
        for one in message.attachments:
            shown, file = self._attachment(one)
            attachments.append(shown)
            if file is not None:
                yield file
        earlier = later = None
        if place is not None:
            thread, at = place
            earlier = thread.messages[at - 1] if at else None
            later = thread.messages[at + 1] if at + 1 < len(thread.messages) else None
        model = {
            "project": project,
            "section": "message",
            "message": message,
            "to": message.to[:SHOWN_ADDRESSEES],
            "more": max(0, len(message.to) - SHOWN_ADDRESSEES),
            "body": body,
            "attachments": attachments,
            "thread": None if place is None else place[0],
            "earlier": earlier,
            "later": later,
        }
        path = f"{project.slug}/messages/{message.id}.html"
        yield self._page(path, "bundle/message.html", model, title=message.subject, root="../../")
        self._progress(self._index.messages, self._total)

    def _attachment(self, one: SharedAttachment) -> tuple[BundleAttachment, BundleFile | None]:
        file = None
        key = (one.sha256, one.media_type)
        if key not in self._attachments:
            found = self._service.content(one)
            path = None
            if found.content is not None:
                path = f"attachments/{hashlib.sha256(found.content).hexdigest()}.{found.extension}"
                if path not in self._done:
                    self._done.add(path)
                    file = BundleFile(path=path, content=found.content)
            self._attachments[key] = (path, found.is_image, found.why_left)
        href, is_image, why_left = self._attachments[key]
        shown = BundleAttachment(
            name=one.name,
            bytes=one.bytes,
            href=href,
            is_image=is_image,
            why_left=why_left,
            width=one.width,
            height=one.height,
        )
        return shown, file

    def _threads(self, project: SharedProject, threads: Sequence[BundleThread]) -> Iterator[BundleFile]:
        newest = sorted(threads, key=lambda one: one.messages[-1].id, reverse=True)
        for path, part, older in _newest_first(f"{project.slug}/threads/index.html", newest):
            model = {"project": project, "section": "threads", "threads": part, "older": older}
            title = f"Threads of {project.name}"
            yield self._page(path, "bundle/threads.html", model, title=title, root="../../")

    def _rows(
        self, project: SharedProject, parts: _Parts[SharedMessage], *, title: str, section: str
    ) -> Iterator[BundleFile]:
        for path, part, older in parts:
            model = {"project": project, "section": section, "messages": part, "older": older}
            yield self._page(path, "bundle/list.html", model, title=title, root="../" * path.count("/"))

    def _page(self, path: str, template: str, model: dict[str, object], *, title: str, root: str) -> BundleFile:
        whole = {"root": root, "title": title, "preset": str(self._mail.preset), **model}
        return BundleFile(path=path, content=render(template, whole))


def thread_key(name: str) -> str:
    """A thread's name as part of a path."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def _oldest_first(first: str, rows: Sequence[_Row]) -> _Parts[_Row]:
    """One page at least. What comes later changes the last page alone."""
    stem = first.removesuffix(".html")
    begins = range(0, max(1, len(rows)), ROWS_OF_A_PAGE)
    for number, begin in enumerate(begins, start=1):
        path = first if number == 1 else f"{stem}-{number}.html"
        later = f"{stem.rpartition('/')[2]}-{number + 1}.html" if number < len(begins) else None
        yield path, rows[begin : begin + ROWS_OF_A_PAGE], later


def _newest_first(first: str, rows: Sequence[_Row]) -> _Parts[_Row]:
    """One page at least. The others are numbered from the oldest, and the first has up to twice as many rows, so that
    what comes later changes it alone.
    """
    stem = first.removesuffix(".html")
    name = stem.rpartition("/")[2]
    others = max(0, len(rows) // ROWS_OF_A_PAGE - 1)
    ends = [len(rows) - number * ROWS_OF_A_PAGE for number in range(others, -1, -1)]
    yield first, rows[: ends[0]], f"{name}-{others}.html" if others else None
    for number, (begin, end) in zip(range(others, 0, -1), pairwise(ends), strict=True):
        yield f"{stem}-{number}.html", rows[begin:end], f"{name}-{number - 1}.html" if number > 1 else None


def _assets() -> Iterator[BundleFile]:
    """With the licences of what others made."""
    for name in (*_ASSETS, _MONO):
        yield BundleFile(path=f"assets/{name}", content=asset_file(name))
    yield BundleFile(path="assets/licences.txt", content=asset_file("LICENCES.md"))
