from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.features.recovery.save import save
from tests.archive_harness import open_archive_harness
from tests.features.recovery.harness import World
from tests.features.recovery.team import Team, silent


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Made once, for copies: its store is closed."""
    root = tmp_path_factory.mktemp("played")
    with open_archive_harness(root) as harness:
        app, lib = harness.add_project("/code/app"), harness.add_project("/code/lib")
        blue, red = harness.add_agent(app, "BlueLake"), harness.add_agent(app, "RedStone")
        fox = harness.add_agent(lib, "QuietFox")
        harness.archive()
        plain = harness.send(blue, [red], carried=[b"some content"])
        harness.archive()
        harness.clock.step(3_600)
        across = harness.send(fox, [blue], bcc=[red], subject="Across")
        harness.read(app, red, plain)
        harness.read(app, red, across)
        harness.archive()
        return World(root=root, app=app.slug, lib=lib.slug, plain=plain.id, across=across.id)


@pytest.fixture
def world(played: World, tmp_path: Path) -> World:
    shutil.copytree(played.root, tmp_path / "store", symlinks=True)
    return played.at(tmp_path / "store")


@pytest.fixture(scope="session")
def team_pattern(tmp_path_factory: pytest.TempPathFactory) -> Team:
    """Made once, for copies: its store is closed."""
    with open_archive_harness(tmp_path_factory.mktemp("team") / "store") as harness:
        app, lib = harness.add_project("/code/app"), harness.add_project("/code/lib")
        blue, red = harness.add_agent(app, "BlueLake"), harness.add_agent(app, "RedStone")
        fox = harness.add_agent(lib, "QuietFox")
        first = harness.send(blue, [red], subject="Plan", carried=[b"a picture"])
        harness.send(blue, [red, fox], bcc=[blue], subject="Across")
        harness.archive()
        harness.read(app, red, first)
        harness.archive()
        return Team(harness, app, lib, blue, red, fox)


@pytest.fixture
def team(team_pattern: Team, tmp_path: Path) -> Iterator[Team]:
    shutil.copytree(team_pattern.harness.root, tmp_path / "store", symlinks=True)
    with open_archive_harness(tmp_path / "store") as harness:
        yield replace(team_pattern, harness=harness)


@pytest.fixture(scope="session")
def saved_pattern(team_pattern: Team, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved file of the team, to be read alone."""
    target = tmp_path_factory.mktemp("saved") / "team.tar"
    save(team_pattern.root, target, known=None, progress=silent)
    return target
