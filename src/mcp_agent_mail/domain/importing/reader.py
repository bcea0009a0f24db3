"""What a reader of another system's store is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from mcp_agent_mail.domain.importing.records import (
    NotCarried,
    SourceAgent,
    SourceLease,
    SourceLink,
    SourceMessage,
    SourceNote,
    SourceProduct,
    SourceProject,
    SourceStore,
)


class SourceReader(Protocol):
    """Reads one store, and never changes it. Nothing holds a whole store in memory: each method gives one record after
    the other, and one message with the contents of its attachments is the most that stands in memory at a time.

    The methods are called in the order in which they stand here, each once to its end or not at all, from one thread.
    A store that turns out to be none raises a typed error from the first of them.
    """

    def store(self) -> SourceStore: ...

    def projects(self) -> Iterator[SourceProject]:
        """All of them, the oldest first."""
        ...

    def agents(self) -> Iterator[SourceAgent]:
        """All of them, also those that are named nowhere but in a message; each after its project."""
        ...

    def messages(self) -> Iterator[SourceMessage]:
        """In the order in which they were sent: in it they come to stand in the mailboxes here. A message that is in
        the thread of another comes after that one.
        """
        ...

    def leases(self) -> Iterator[SourceLease]: ...

    def links(self) -> Iterator[SourceLink]: ...

    def products(self) -> Iterator[SourceProduct]: ...

    def left_out(self) -> Iterator[NotCarried]:
        """What the reader has not given as a record, by kind and reason: it is called last, when all else was read."""
        ...

    def notes(self) -> Iterator[SourceNote]:
        """At most 100."""
        ...
