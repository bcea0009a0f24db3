"""What a search in a bundle reads: small files, of which one search needs a few. `bundle.js` reads them.

`search/words-N.json` has words, each with the numbers of the messages that hold it, as differences; which N is told by
a word's first two characters, so that all words that begin alike lie together. `search/messages-N.json` has what a
result shows.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.escaping import visible
from mcp_agent_mail.features.sharing.manifest import BundleFile
from mcp_agent_mail.features.sharing.results import SharedMessage

SHARDS = 128
MESSAGES_OF_A_FILE = 100
MOST_WORDS = 2_000
"""Of one message."""
LONGEST_WORD = 40

_WORD = re.compile(r"\w+")
_SEARCHED_CHARACTERS = 256 * 1024


class SearchIndex:
    """Messages are added in the order of their numbers, from 0."""

    def __init__(self) -> None:
        self._words: list[dict[str, list[int]]] = [{} for _ in range(SHARDS)]
        self._shown: list[list[str]] = []

    @property
    def messages(self) -> int:
        return len(self._shown)

    def add(self, message: SharedMessage, project: str, text: str) -> None:
        """`text` is what of its body may be found."""
        number = len(self._shown)
        href = f"{message.project}/messages/{message.id}.html"
        sent = iso(message.created_ts)[:16].replace("T", " ")
        self._shown.append([href, visible(message.subject), visible(message.sender), visible(project), sent])
        told = (message.subject, message.sender, *message.to[:100], message.thread or "", message.topic or "", text)
        for word in words_of("\n".join(told)):
            self._words[shard_of(word)].setdefault(word, []).append(number)

    def files(self) -> Iterator[BundleFile]:
        """All of them, also those that hold nothing: a search asks for each without knowing."""
        for number, words in enumerate(self._words):
            shown = {word: _differences(found) for word, found in sorted(words.items())}
            yield BundleFile(path=f"search/words-{number}.json", content=_json(shown))
        for number, begin in enumerate(range(0, len(self._shown), MESSAGES_OF_A_FILE)):
            rows = self._shown[begin : begin + MESSAGES_OF_A_FILE]
            yield BundleFile(path=f"search/messages-{number}.json", content=_json(rows))


def words_of(text: str) -> list[str]:
    """As the script in a bundle takes words: in small letters, each once, at most MOST_WORDS."""
    normal = unicodedata.normalize("NFKC", text[:_SEARCHED_CHARACTERS]).lower()
    found = (match.group()[:LONGEST_WORD] for match in _WORD.finditer(normal))
    words = dict.fromkeys(word for word in found if len(word) > 1 or not word.isascii())
    return list(words)[:MOST_WORDS]


def shard_of(word: str) -> int:
    """FNV-1a over the first two characters."""
    hashed = 2_166_136_261
    for character in word[:2]:
        hashed = (hashed ^ ord(character)) * 16_777_619 & 0xFFFF_FFFF
    return hashed % SHARDS


def _differences(numbers: list[int]) -> list[int]:
    return [numbers[0], *(later - earlier for earlier, later in pairwise(numbers))]


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
