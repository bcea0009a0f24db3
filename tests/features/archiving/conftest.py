from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.archive_harness import ArchiveHarness, open_archive_harness
from tests.features.archiving.leases import Held


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[ArchiveHarness]:
    with open_archive_harness(tmp_path) as opened:
        yield opened


@pytest.fixture
def held(harness: ArchiveHarness) -> Held:
    return Held(harness)
