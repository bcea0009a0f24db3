"""What was probably meant by a value of the wrong form: for hints only, nothing is accepted by it."""

from __future__ import annotations

import json
import re

from mcp_agent_mail.core.lazy.pattern import lazy_pattern

_LONGEST = 400
_LONGEST_SHOWN = 100
_ALL = frozenset({"all", "*", "any", "everything"})
_IDS = lazy_pattern(r"\s*#?[0-9]{1,18}(?:(?:\s*[,;]\s*|\s+)#?[0-9]{1,18})+\s*[,;]?\s*")


def ids_in(text: str) -> list[int]:
    """The ids of a text that lists several (`1,2`, `1 2`, `#1; #2`), in its order; nothing where it is no such list, or
    an endless one.
    """
    is_list = len(text) <= _LONGEST and _IDS.fullmatch(text) is not None
    return [int(number) for number in re.findall(r"[0-9]+", text)] if is_list else []


def means_all(text: str) -> bool:
    return text.strip().lower() in _ALL


def text_in(value: object) -> str:
    """The text that a list of one or an object with a name holds, as JSON writes it; else what is to be sent, in
    words.
    """
    inner = value[0] if isinstance(value, list) and len(value) == 1 else value
    inner = inner.get("name") if isinstance(inner, dict) else inner
    is_short = isinstance(inner, str) and len(inner) <= _LONGEST_SHOWN
    return json.dumps(inner, ensure_ascii=False) if is_short else "a JSON string"


def joined_in(value: object) -> str | None:
    """The texts of a list with commas between them, as JSON writes it; in general where they are long. None for what is
    no list of several.
    """
    if not isinstance(value, list) or len(value) < 2:
        return None
    is_plain = all(isinstance(one, str | int) and not isinstance(one, bool) for one in value)
    text = ",".join(map(str, value)) if is_plain and len(value) <= _LONGEST_SHOWN else ""
    is_short = 0 < len(text) <= _LONGEST_SHOWN and text.count(",") == len(value) - 1
    return json.dumps(text if is_short else "a,b", ensure_ascii=False)
