from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.store.transaction import View, open_view
from tests.features.history.past_store import PastStore, make_past_store


@pytest.fixture(scope="session")
def past(tmp_path_factory: pytest.TempPathFactory) -> PastStore:
    """Made once, to be read."""
    return make_past_store(tmp_path_factory.mktemp("past"))


@pytest.fixture
def own_past(past: PastStore, tmp_path: Path) -> PastStore:
    """A copy for one test, to be broken."""
    shutil.copytree(past.root, tmp_path / "store", symlinks=True)
    return replace(past, root=tmp_path / "store")


@pytest.fixture
def view(past: PastStore) -> Iterator[View]:
    with open_view(past.database) as view:
        yield view
