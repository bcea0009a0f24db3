from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture.trees import forget_trees


def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Trees are kept for these tests alone: whoever looks for garbage later, as pytest does five times in the end,
    would walk a million nodes.
    """
    if nextitem is None or not nextitem.path.is_relative_to(Path(__file__).parent):
        forget_trees()
