"""What the clients do: the fixed mix of operations and the varied text they send.

Everything is drawn from seeded generators, so two runs make the same calls.
"""

from __future__ import annotations

import random
import re
from collections import deque
from typing import Any

MIX = {"send": 20, "inbox": 35, "read": 20, "ack": 15, "search": 10}
MEDIAN_BODY_BYTES = 600
MAX_BODY_BYTES = 8 * 1024
INBOX_LIMIT = 20
BODIES_SHARE = 1 / 3
RECIPIENTS = (1, 1, 1, 1, 1, 1, 1, 2, 2, 3)
POOL = 200

_BODY_SIGMA = 0.9
_VOCABULARY = 6_000
_SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo ya zen tor mal gris plex dron".split()
_ID = re.compile(rb'\\?"id\\?":(\d+)')


class Prose:
    """Varied text: words drawn so that few are common and many are rare, as in real mail."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # repeatable text, no secret
        words = random.Random(7)  # one vocabulary for everyone
        self._words = ["".join(words.choices(_SYLLABLES, k=words.randint(2, 4))) for _ in range(_VOCABULARY)]
        self._sentences: list[str] = []

    def word(self) -> str:
        """Zipf-like: rank r is drawn about 1/r of the time."""
        rank = int(_VOCABULARY ** self._random.random())
        return self._words[min(rank, _VOCABULARY - 1)]

    def words(self, count: int) -> str:
        return " ".join(self.word() for _ in range(count))

    def body(self) -> str:
        """Log-normal in size: median 600 bytes, at most 8 KiB; Markdown with an occasional list or code."""
        size = min(MAX_BODY_BYTES, max(20, int(self._random.lognormvariate(0, _BODY_SIGMA) * MEDIAN_BODY_BYTES)))
        parts: list[str] = []
        length = 0
        while length < size:
            line = self._random.choice(("", "", "- ", "## ", "    ")) + self.words(self._random.randint(5, 14))
            parts.append(line)
            length += len(line) + 1
        return "\n".join(parts)[:size]


def agent_names(count: int) -> list[str]:
    return [f"Worker{number:03d}" for number in range(count)]


class Pool:
    """Bodies and subjects made before the clock starts, so that making text costs the client nothing."""

    def __init__(self, seed: int) -> None:
        prose = Prose(seed)
        self.subjects = [prose.words(6) for _ in range(POOL)]
        self.bodies = [prose.body() for _ in range(POOL)]
        self.queries = [prose.words(1 + number % 2) for number in range(POOL)]


class MixedWork:
    """One agent at work: sends, looks into its inbox, marks and acknowledges what it saw, searches."""

    def __init__(self, project: str, me: str, others: list[str], pool: Pool, seed: int) -> None:
        self._project = project
        self._me = me
        self._others = [name for name in others if name != me]
        self._pool = pool
        self._random = random.Random(seed)  # repeatable
        self._deck = [kind for kind, share in MIX.items() for _ in range(share)]
        self._hand: list[str] = []
        self._unseen: deque[int] = deque(maxlen=500)
        self._seen: set[int] = set()
        self._unacked: deque[int] = deque(maxlen=500)

    def next(self) -> tuple[str, str, dict[str, Any]]:
        """Deals the mix like cards: exact shares per hundred calls, in random order."""
        if not self._hand:
            self._hand = self._random.sample(self._deck, len(self._deck))
        kind = self._hand.pop()
        if (kind == "read" and not self._unseen) or (kind == "ack" and not self._unacked):
            self._hand.insert(0, kind)
            kind = "inbox"
            if "inbox" in self._hand:
                self._hand.remove("inbox")
        tool, arguments = getattr(self, f"_{kind}")()
        return kind, tool, arguments

    def answered(self, kind: str, body: bytes) -> None:
        if kind == "inbox":
            for found in _ID.findall(body):
                message_id = int(found)
                if message_id not in self._seen and message_id > 1:
                    self._seen.add(message_id)
                    self._unseen.append(message_id)

    def _send(self) -> tuple[str, dict[str, Any]]:
        pick = self._random
        return "send_message", {
            "project_key": self._project,
            "sender_name": self._me,
            "to": pick.sample(self._others, pick.choice(RECIPIENTS)),
            "subject": pick.choice(self._pool.subjects),
            "body_md": pick.choice(self._pool.bodies),
        }

    def _inbox(self) -> tuple[str, dict[str, Any]]:
        arguments: dict[str, Any] = {"project_key": self._project, "agent_name": self._me, "limit": INBOX_LIMIT}
        if self._random.random() < BODIES_SHARE:
            arguments["include_bodies"] = True
        return "fetch_inbox", arguments

    def _read(self) -> tuple[str, dict[str, Any]]:
        message_id = self._unseen.popleft()
        self._unacked.append(message_id)
        return "mark_message_read", self._of(message_id)

    def _ack(self) -> tuple[str, dict[str, Any]]:
        return "acknowledge_message", self._of(self._unacked.popleft())

    def _of(self, message_id: int) -> dict[str, Any]:
        return {"project_key": self._project, "agent_name": self._me, "message_id": message_id}

    def _search(self) -> tuple[str, dict[str, Any]]:
        query = self._random.choice(self._pool.queries)
        return "search_messages", {"project_key": self._project, "query": query}


class OnlySends:
    """One agent that only sends, to a fixed number of others each time."""

    def __init__(self, project: str, me: str, others: list[str], pool: Pool, *, recipients: int, seed: int) -> None:
        self._project = project
        self._me = me
        self._others = [name for name in others if name != me]
        self._pool = pool
        self._recipients = recipients
        self._random = random.Random(seed)  # repeatable

    def next(self) -> tuple[str, str, dict[str, Any]]:
        pick = self._random
        return (
            "send",
            "send_message",
            {
                "project_key": self._project,
                "sender_name": self._me,
                "to": pick.sample(self._others, self._recipients),
                "subject": pick.choice(self._pool.subjects),
                "body_md": pick.choice(self._pool.bodies),
            },
        )

    def answered(self, kind: str, body: bytes) -> None:
        """Nothing follows from an answer."""


class Echo:
    """The floor's only call."""

    def next(self) -> tuple[str, str, dict[str, Any]]:
        return "echo", "echo", {"text": "a short text of about 40 characters"}

    def answered(self, kind: str, body: bytes) -> None:
        """Nothing follows from an answer."""
