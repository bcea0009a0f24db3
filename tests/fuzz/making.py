"""Makes inputs that nobody sends on purpose, of one seed: the same number makes the same input anywhere."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any, TypeVar

T = TypeVar("T")

LONG = 8_000
"""Characters of a text that is long: as much as a target, a header or a question may have."""

_LETTERS = "abcXYZ019 _-./@:,;=&?#%+*[]{}()!\\'\"<>|~^$`"
_STRANGE = (
    *(
        "\0",
        "\n",
        "\r\n",
        "\t",
        "\x0b",
        "\x1b[2J",
        "\x7f",
        "\x85",
        "\xa0",
        "\xad",
        "\xff",
        "ß",
        "İ",
        "\u0131",
        "\u200b",
    ),
    *("\u202e", "\u2028", "\ufeff", "\ufffd", "\ufffe", "e\u0301", "한", "\U0001f600", "\U000e0041", "\U0010ffff"),
    *("..", "../", "//", "/./", "%00", "%2e%2e%2f", "%c0%ae", "%", "%zz", "${x}", "{{x}}", "' OR '1'='1", "--", "/*"),
    *(
        "-1",
        "0",
        "1e999",
        "NaN",
        "1" * 40,
        "true",
        "null",
        "None",
        "[]",
        "{}",
        "amt_",
        "amk_",
        "@",
        "**",
        "[!",
        "[z-a]",
    ),
)
_NUMBERS: Sequence[Any] = (
    *(0, -1, 1, 2**31, 2**53, 2**63 - 1, 2**63, 2**64, 10**40, -(10**40), 0.1, -0.0, 1e308, 1e-320, 1.5),
    *(True, False, None),
)


class Maker:
    """`pick` one, `text` of letters and what is strange, `json_value` of any kind, what `damaged` bytes become."""

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)

    def is_so(self, likely: float) -> bool:
        return self.random.random() < likely

    def pick(self, among: Sequence[T]) -> T:
        return among[int(self.random.random() * len(among))]

    def text(self, most: int = 12, words: Sequence[str] = ()) -> str:
        """Of at most so many pieces; now and then one of them a thousand times, or all of them many times."""
        random = self.random
        pieces = []
        for _ in range(int(random.random() * (most + 1))):
            chance = random.random()
            if words and chance < 0.4:
                pieces.append(self.pick(words))
            elif chance < 0.8:
                pieces.append(self.pick(_LETTERS))
            else:
                pieces.append(self.pick(_STRANGE))
        if pieces and random.random() < 0.01:
            pieces.append(pieces[0] * 1_000)
        whole = "".join(pieces)
        return whole * (LONG // len(whole)) if whole and random.random() < 0.002 else whole

    def content(self, most: int = 12, words: Sequence[str] = ()) -> bytes:
        """Bytes as a header may have them."""
        return self.text(most, words).encode("utf-8", "surrogatepass" if self.is_so(0.5) else "replace")

    def json_value(self, depth: int = 3, words: Sequence[str] = ()) -> Any:
        chance = self.random.random()
        if depth <= 0 or chance < 0.3:
            return self.text(6, words)
        if chance < 0.6:
            return self.pick(_NUMBERS)
        several = range(int(self.random.random() * 4))
        if chance < 0.8:
            return [self.json_value(depth - 1, words) for _ in several]
        return {self.text(3, words): self.json_value(depth - 1, words) for _ in several}

    def written(self, value: Any) -> bytes:
        """As JSON, now and then in another encoding, nested deeper, or damaged."""
        content = json.dumps(value, ensure_ascii=self.is_so(0.5)).encode("utf-8", "replace")
        chance = self.random.random()
        if chance < 0.7:
            return content
        if chance < 0.75:
            return content.decode().encode(self.pick(("utf-16", "utf-8-sig", "utf-32-le")))
        if chance < 0.8:
            deep = self.pick((10, 200, 300, 1_100, 3_000))
            opening, closing = self.pick(((b"[", b"]"), (b'{"a":', b"}")))
            nested = opening * deep + (content if self.is_so(0.5) else b"1") + closing * deep
            return b'{"params":' + nested + b"}" if self.is_so(0.5) else nested
        return self.damaged(content)

    def damaged(self, content: bytes) -> bytes:
        """Cut, doubled, or with other bytes in it."""
        for _ in range(1 + int(self.random.random() * 3)):
            at = int(self.random.random() * (len(content) + 1))
            to = min(len(content), at + int(self.random.random() * 8))
            content = self.pick(
                (
                    content[:at],
                    content[:at] + content[to:],
                    content[:at] + content[at:to] * 2 + content[to:],
                    content[:at] + self.content(3) + content[at:],
                    content[:at] + bytes([int(self.random.random() * 256)]) + content[to:],
                )
            )
        return content
