"""What of one stream is still to be told, and what was told that may not have arrived."""

from __future__ import annotations

from collections.abc import Iterable

from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.copy_changes import ChangeReaders, Watched, wider
from mcp_agent_mail.domain.projects import is_path
from mcp_agent_mail.features.delivery.stream_readers import has_join_code


class Subscription:
    """One URI of one stream. `due_at` is by the loop's clock: before, nothing is told of it. `named` is what the URI
    names, without what of it is to be shown. `followed` is the agent that is listening by it.
    """

    __slots__ = ("credentials", "due_at", "followed", "named", "uri", "watched")

    def __init__(self, uri: str, named: tuple[str, ...], credentials: Credentials, watched: Watched) -> None:
        self.uri = uri
        self.named = named
        self.credentials = credentials
        self.watched = watched
        self.due_at = 0.0
        self.followed: AgentId | None = None

    @property
    def may_end_untold(self) -> bool:
        """Whether more than the rights of its agent decides on it: a join code ends by the clock, and an agent without
        a project, or a project by another name than its path, may come to be one of several.
        """
        return not is_path(self.named[1]) or has_join_code(self.credentials)


class KeptNews:
    """A set of subscriptions, never a queue: each is told once for all that changed.

    What was taken to be told is kept until the stream ends: nobody knows how much of it was on its way when the
    connection broke, and so it is told again on the next one.
    """

    def __init__(self) -> None:
        self._noted: dict[Watched, ChangeReaders] = {}
        """What has changed, and for whom; of which URIs is looked at when it is to be told."""
        self._changed: dict[Subscription, ChangeReaders] = {}
        self._taken: dict[Subscription, ChangeReaders] = {}

    @property
    def waiting(self) -> list[Subscription]:
        """Those that have changed, as they did."""
        return list(self._changed)

    def note(self, watched: Watched, audience: ChangeReaders) -> None:
        """What is watched so has changed."""
        self._noted[watched] = wider(self._noted.get(watched), audience)

    def spread(self, subscriptions: Iterable[Subscription]) -> None:
        """What was noted, over those of the subscriptions that show it."""
        if self._noted:
            for one in subscriptions:
                if (audience := self._noted.get(one.watched)) is not None:
                    self.put(one, audience)
            self._noted.clear()

    def put(self, one: Subscription, audience: ChangeReaders) -> None:
        self._changed[one] = wider(self._changed.get(one), audience)

    def take(self, one: Subscription) -> ChangeReaders | None:
        """Who may know what has changed of it, if anything has: what changes from now on is told once more."""
        audience = self._changed.pop(one, None)
        if audience is not None:
            self._taken[one] = wider(self._taken.get(one), audience)
        return audience

    def refuse(self, one: Subscription) -> None:
        """What was taken of it is for nobody who subscribed to it."""
        self._taken.pop(one, None)

    def drop(self, one: Subscription) -> None:
        self._changed.pop(one, None)
        self._taken.pop(one, None)

    def hand_on(self, before: Subscription, one: Subscription) -> None:
        """To the subscription that takes the other's place."""
        for news in (self._changed, self._taken):
            if (audience := news.pop(before, None)) is not None:
                news[one] = wider(news.get(one), audience)

    def take_back(self) -> None:
        """The stream has ended: all that was taken is to be told again."""
        for one, audience in self._taken.items():
            self.put(one, audience)
        self._taken.clear()
