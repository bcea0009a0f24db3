"""What a page asks its reader to type: its fenced blocks of one language, in their order."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FENCED = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks_of(page: Path, *languages: str) -> list[tuple[str, str]]:
    """Language and text of each block in one of `languages`."""
    found = [(block["language"], block["text"]) for block in _FENCED.finditer(page.read_text())]
    return [(language, text) for language, text in found if language in languages]


def calls_of(text: str) -> list[tuple[str, str]]:
    """The tool calls of a JSON block as the tutorials write them: a tool's name, then its arguments."""
    starts = [match.start() for match in re.finditer(r"^\w+ +\{", text, re.MULTILINE)]
    calls = [text[start:end].strip() for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    return [(call.split(maxsplit=1)[0], call.split(maxsplit=1)[1]) for call in calls]
