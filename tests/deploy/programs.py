"""Programs that check what lies in deploy/, where they are installed: none of them is the project's own."""

from __future__ import annotations

import shutil

import pytest


def require_program(name: str) -> str:
    """Its path; the test is skipped where there is none, and says so."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed here")
    return found
