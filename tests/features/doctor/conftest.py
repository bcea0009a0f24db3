from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.archive_harness import open_archive_harness
from tests.features.doctor.harness import Archived


@pytest.fixture(scope="session")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> Archived:
    """Made once, for copies: its store is closed."""
    with open_archive_harness(tmp_path_factory.mktemp("pattern")) as harness:
        project = harness.add_project("/code/app")
        blue, red = harness.add_agent(project, "BlueLake"), harness.add_agent(project, "RedStone")
        message = harness.send(blue, [red])
        harness.read(project, red, message)
        harness.archive()
        return Archived(harness, project, blue, red, message)


@pytest.fixture
def archived(pattern: Archived, tmp_path: Path) -> Iterator[Archived]:
    shutil.copytree(pattern.harness.root, tmp_path, dirs_exist_ok=True)
    with open_archive_harness(tmp_path) as harness:
        yield replace(pattern, harness=harness)
