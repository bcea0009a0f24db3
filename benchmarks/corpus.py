"""The text of generated stores: words of a made-up language, drawn as in real mail.

`VOCABULARY` words of two to five syllables, the same for everyone. The word of rank r is drawn in
proportion to 1 / (r + 2.7) (Zipf and Mandelbrot's law), so that a handful stand in nearly every body
and most words are rare. Bodies are log-normal in size as in the load's mix. Everything follows from a seed.

Planted words are of no syllable of the vocabulary, so nothing but what was planted holds them.
"""

from __future__ import annotations

import random
from itertools import accumulate

from benchmarks.mix import MAX_BODY_BYTES, MEDIAN_BODY_BYTES

VOCABULARY = 30_000
PLANTED_LETTERS = 240
CLASSES = {
    "common": ("oakcommon", "elmcommon", "ashcommon"),
    "medium": ("oakmedium", "elmmedium", "ashmedium"),
    "rare": ("oakrare", "elmrare", "ashrare"),
}
THREADS = ("PLANTED-0", "PLANTED-1", "PLANTED-2")
THREAD_LETTERS = 20
HITS = {"common": 200, "medium": 40, "rare": 4}

_BODY_SIGMA = 0.9
_SHIFT = 2.7
_PLACES = 2**20
_BYTES_PER_WORD = 7
_SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo ya zen tor mal gris plex dron ul ip".split()
_LINE_WORDS = (6, 9, 12, 15)
_LINE_STARTS = ("", "", "", "- ", "## ", "    ")
_SUBJECT_WORDS = (3, 5, 7)
_RARE_EVERY = 60
_SIXTHS = 6
_IN_SUBJECT_EVERY = 10


def _vocabulary() -> list[str]:
    pick = random.Random(11)
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        words["".join(pick.choices(_SYLLABLES, k=pick.randint(2, 5)))] = None
    return list(words)


def _in_proportion() -> list[str]:
    """Each word as often as it is drawn, the rarest three times: an even draw costs a third of a weighted one."""
    ends = list(accumulate(1 / (rank + _SHIFT) for rank in range(VOCABULARY)))
    places = [round(_PLACES * end / ends[-1]) for end in ends]
    shares = zip(_WORDS, (0, *places), places, strict=False)
    return [word for word, begin, end in shares for _ in range(begin, end)]


_WORDS = _vocabulary()
_DRAWN = _in_proportion()
COMMONEST = _WORDS[0]


class Corpus:
    """An endless source of subjects and bodies, repeatable by its seed."""

    def __init__(self, seed: object) -> None:
        self._random = random.Random(str(seed))

    def words(self, count: int) -> list[str]:
        return self._random.choices(_DRAWN, k=count)

    def subject(self) -> str:
        return " ".join(self.words(self._random.choice(_SUBJECT_WORDS)))

    def body(self) -> str:
        """Markdown of some lines: median 600 bytes, at most 8 KiB."""
        size = min(MAX_BODY_BYTES, max(20, int(self._random.lognormvariate(0, _BODY_SIGMA) * MEDIAN_BODY_BYTES)))
        words = self.words(size // _BYTES_PER_WORD + 1)
        step = self._random.choice(_LINE_WORDS)
        start = self._random.choice(_LINE_STARTS)
        return "\n".join(start + " ".join(words[at : at + step]) for at in range(0, len(words), step))[:size]


def planted_words(number: int) -> list[str]:
    """What letter `number` of the planted ones holds: each word in exactly `HITS` of its class."""
    sixth, sixtieth = number % _SIXTHS, number % _RARE_EVERY
    return [
        *(word for position, word in enumerate(CLASSES["common"]) if position != sixth),
        *(word for position, word in enumerate(CLASSES["medium"]) if position == sixth),
        *(word for position, word in enumerate(CLASSES["rare"]) if position == sixtieth),
    ]


def planted_thread(number: int) -> str | None:
    """The thread of letter `number` of the planted ones: THREAD_LETTERS in each of THREADS, far apart; else None."""
    position = number % (PLANTED_LETTERS // THREAD_LETTERS)
    return THREADS[position] if position < len(THREADS) else None


def planted_letter(number: int) -> tuple[str, str]:
    """(subject, body) of a planted letter: the same in every store, whatever its size and seed."""
    corpus = Corpus(f"planted {number}")
    subject, body = corpus.subject(), corpus.body()
    words = planted_words(number)
    if number % _IN_SUBJECT_EVERY == 0:
        subject = f"{subject} {' '.join(words)}"
    return subject, f"{' '.join(words)} {body}"
