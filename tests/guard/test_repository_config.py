"""The guard's entries in a repository's own configuration: all or none, and never over another program's writing."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.guard.hooks.folder import HookFolder, NothingPlainThere, open_folder_of_others
from mcp_agent_mail.guard.repository_config import ConfigLocked, edit_config, require_plain_config

_BEFORE = "[core]\n\tbare = false\n# a person's words\n[agent-mail]\n\tproject = /code\n"


@pytest.fixture
def root(tmp_path: Path) -> Iterator[HookFolder]:
    (tmp_path / "config").write_text(_BEFORE)
    with open_folder_of_others(tmp_path) as folder:
        yield folder


def test_edits_are_made_together_and_the_rest_stays_as_it_is(root: HookFolder) -> None:
    edit_config(root, [("--unset-all", "agent-mail.project"), ("agent-mail.name", "BlueLake")])

    assert root.file("config").content() == (
        b"[core]\n\tbare = false\n# a person's words\n[agent-mail]\n\tname = BlueLake\n"
    )
    assert root.names() == ["config"]


def test_no_edit_touches_nothing(root: HookFolder) -> None:
    (root.path / "config.lock").touch()

    edit_config(root, [])

    assert (root.path / "config").read_text() == _BEFORE


def test_the_mode_stays(root: HookFolder) -> None:
    (root.path / "config").chmod(0o640)

    edit_config(root, [("agent-mail.name", "BlueLake")])

    assert stat.S_IMODE((root.path / "config").stat().st_mode) == 0o640


def test_a_repository_without_a_configuration_gets_one(root: HookFolder) -> None:
    (root.path / "config").unlink()

    edit_config(root, [("agent-mail.name", "BlueLake")])

    assert (root.path / "config").read_text() == "[agent-mail]\n\tname = BlueLake\n"
    assert stat.S_IMODE((root.path / "config").stat().st_mode) == 0o644


def test_while_another_program_writes_it_is_left_alone(root: HookFolder) -> None:
    (root.path / "config.lock").write_text("another's")

    with pytest.raises(ConfigLocked, match=r"config.lock is there: another program is writing"):
        edit_config(root, [("agent-mail.name", "BlueLake")])

    assert ((root.path / "config").read_text(), (root.path / "config.lock").read_text()) == (_BEFORE, "another's")


def test_an_edit_that_fails_leaves_nothing_half_done(root: HookFolder) -> None:
    with pytest.raises(GitFailed):
        edit_config(root, [("agent-mail.name", "BlueLake"), ("no-name-at-all", "x")])

    assert (root.names(), (root.path / "config").read_text()) == (["config"], _BEFORE)


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_what_is_no_plain_file_is_refused_before_and_at_the_edit(root: HookFolder, kind: str) -> None:
    config = root.path / "config"
    config.rename(root.path / "theirs")
    if kind == "link":
        config.symlink_to("theirs")
    else:
        os.mkfifo(config)

    refused = pytest.raises(NothingPlainThere, match=r"config is (a symbolic link|no file of configuration)")
    with refused:
        require_plain_config(root)
    with refused:
        edit_config(root, [("agent-mail.name", "x")])

    assert root.names() == ["config", "theirs"]
