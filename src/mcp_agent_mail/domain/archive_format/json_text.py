"""How JSON stands in the archive: the same values always give the same bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def document(value: Mapping[str, Any]) -> bytes:
    """JSON with sorted keys, one line per top-level key, so that diffs and `grep` are useful; ends in a line break."""
    lines = [f"  {compact(key)}: {compact(value[key])}" for key in sorted(value)]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
