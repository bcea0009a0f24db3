"""What a child process of ours inherits of the environment: enough to run, none of the secrets."""

from __future__ import annotations

import os

_KEPT = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE", "PYTHONPATH", "PYTHONHOME")


def plain_environment() -> dict[str, str]:
    """Tokens and settings reach a child, where it needs them, over its standard input."""
    return {name: os.environ[name] for name in _KEPT if name in os.environ}
