"""Whose a repository is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_agent_mail.core.git.ownership import believed_owners, is_owned_by, is_planted

OTHER = 4711


def test_we_ourselves_and_root_are_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: OTHER)

    assert believed_owners({"SUDO_UID": "5"}) == {OTHER, 0}


@pytest.mark.parametrize(
    ("said", "owners"), [("5", {0, 5}), ("", {0}), ("-5", {0}), ("x", {0}), ("٣", {0}), ("1" * 5_000, {0})]
)
def test_for_root_whoever_became_it_is_believed_too(
    said: str, owners: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)

    assert believed_owners({"SUDO_UID": said}) == owners


def test_of_a_link_both_ends_count(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    ours = frozenset((tmp_path.stat().st_uid,))
    of_the_root = frozenset((Path("/").stat().st_uid,))

    assert is_owned_by(ours, str(link))
    assert not is_owned_by(frozenset((OTHER,)), str(link))
    assert not is_owned_by(ours, str(tmp_path / "nothing"))
    assert is_owned_by(of_the_root, "/")


def test_what_lies_in_its_owners_folder_is_planted_by_nobody(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()

    assert not is_planted(frozenset((OTHER,)), str(tmp_path / ".git"))
    assert not is_planted(frozenset((OTHER,)), str(tmp_path / "nothing"))
