"""What a search in a bundle reads: small files, of which one search needs a few. `bundle.js` reads them.

`search/words….json` has words, each with the numbers of the messages that hold it, as differences. Behind `words`
stand two digits for each of the first characters of its words, as many as keep it small, so that all words that begin
alike lie together; the front page lists these. `search/messages-N.json` has what a result shows.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.escaping import visible
from mcp_agent_mail.features.sharing.manifest import BundleFile
from mcp_agent_mail.features.sharing.results import SharedMessage

MOST_SHARD_BYTES = 64 * 1024
"""Of words that a search reads at once, but for a single word that more messages hold."""
MESSAGES_OF_A_FILE = 50
ENDED = "z"
"""In the place of a digit, where a word has no character more."""
MOST_WORDS = 2_000
"""Of one message."""
LONGEST_WORD = 40

_WORD = re.compile(r"\w+")
_SEARCHED_CHARACTERS = 256 * 1024


class SearchIndex:
    """Messages are added in the order of their numbers, from 0."""

    def __init__(self) -> None:
        self._words: dict[str, list[int]] = {}
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
            self._words.setdefault(word, []).append(number)

    def shards(self) -> Mapping[str, bytes]:
        """By the digits of its words' beginnings, none of which begins another; none where there are no words."""
        entries = [(word, _entry(word, found)) for word, found in sorted(self._words.items())]
        return {path: b"{" + b",".join(those) + b"}" for path, those in _shards("", entries)}

    def messages_files(self) -> Iterator[BundleFile]:
        for number, begin in enumerate(range(0, len(self._shown), MESSAGES_OF_A_FILE)):
            rows = self._shown[begin : begin + MESSAGES_OF_A_FILE]
            yield BundleFile(path=f"search/messages-{number}.json", content=_json(rows))


def words_of(text: str) -> list[str]:
    """As the script in a bundle takes words: in small letters, each once, at most MOST_WORDS."""
    normal = unicodedata.normalize("NFKC", text[:_SEARCHED_CHARACTERS]).lower()
    found = (match.group()[:LONGEST_WORD] for match in _WORD.finditer(normal))
    words = dict.fromkeys(word for word in found if len(word) > 1 or not word.isascii())
    return list(words)[:MOST_WORDS]


def digits_of(word: str) -> str:
    """Of each character's number the last four bits as two digits from 0 to 3, and ENDED. Of four parts each is seldom
    very small, and a search that asks for many reads few files.
    """
    return "".join(f"{ord(character) >> 2 & 3}{ord(character) & 3}" for character in word) + ENDED


def shard_path(digits: str) -> str:
    return f"search/words{digits}.json"


_Entries = Sequence[tuple[str, bytes]]


def _shards(path: str, entries: _Entries) -> Iterator[tuple[str, Sequence[bytes]]]:
    """Words as they stand in the file, parted by one digit more where they are too many for one."""
    if not entries:
        return
    if path.endswith(ENDED) or sum(len(entry) + 1 for _, entry in entries) < MOST_SHARD_BYTES:
        yield path, [entry for _, entry in entries]
        return
    parts: dict[str, list[tuple[str, bytes]]] = {}
    for word, entry in entries:
        parts.setdefault(digits_of(word)[len(path)], []).append((word, entry))
    for digit, part in sorted(parts.items()):
        yield from _shards(path + digit, part)


def _entry(word: str, numbers: list[int]) -> bytes:
    return _json(word) + b":" + _json(_differences(numbers))


def _differences(numbers: list[int]) -> list[int]:
    return [numbers[0], *(later - earlier for earlier, later in pairwise(numbers))]


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
