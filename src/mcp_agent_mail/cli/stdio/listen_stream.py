"""One `subscriptions/listen` on its way through the proxy: its stream may break, and goes on with the next server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mcp_agent_mail.cli.stdio.wire import Message, read_message, updated_line

LISTEN = "subscriptions/listen"
AGAIN_AFTER_S = 1.0
"""Between two streams of one request."""

_ACKNOWLEDGED = "notifications/subscriptions/acknowledged"


class Listening:
    """What the client has been told. Broken off after its acknowledgement it can be asked for again: then everything
    that is told of may have changed meanwhile, and the client hears so.
    """

    def __init__(self) -> None:
        self.is_answered = False
        self._is_acknowledged = False
        self._is_broken = False

    def may_go_on(self) -> bool:
        """Whether it was acknowledged since it was last asked for: from now on it is asked for again."""
        may, self._is_acknowledged = self._is_acknowledged, False
        self._is_broken = self._is_broken or may
        return may

    def pass_on(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """What the client gets of one stream."""
        for line in lines:
            message = read_message(line)
            if message.get("method") == _ACKNOWLEDGED:
                self._is_acknowledged = True
                if self._is_broken:
                    yield from _all_changed(message)
                    continue
            self.is_answered = self.is_answered or "method" not in message
            yield line


def _all_changed(acknowledged: Message) -> Iterator[bytes]:
    params = acknowledged.get("params") or {}
    uris = (params.get("notifications") or {}).get("resourceSubscriptions") or []
    for uri in uris:
        yield updated_line(uri, params.get("_meta"))


def is_listen(message: Message) -> bool:
    return message.get("method") == LISTEN
