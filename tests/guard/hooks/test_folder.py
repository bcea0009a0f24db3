"""Folders opened once, and files in them that are looked at only if they are ordinary."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_agent_mail.guard.hooks.folder import (
    MAX_HOOK_BYTES,
    HookFile,
    HookFolder,
    NothingPlainThere,
    open_folder_of_others,
    open_git_directory,
)


def _nowhere(path: Path) -> HookFile:
    return HookFolder(path=path, descriptor=None).file("pre-commit")


def test_in_a_folder_that_is_not_there_nothing_lies(tmp_path: Path) -> None:
    with open_folder_of_others(tmp_path / "gone") as folder:
        hook = folder.file("pre-commit")

        assert (folder.names(), hook.mode(), hook.lies_here(), hook.content()) == ([], None, False, None)
        assert (hook.is_link(), hook.is_runnable(), hook.is_ordinary()) == (False, False, False)
        hook.unlink()


def test_nothing_is_written_into_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=f"{tmp_path} is not there"):
        _nowhere(tmp_path).write(b"text")


def test_a_dangling_link_lies_there_and_is_no_hook(tmp_path: Path) -> None:
    (tmp_path / "pre-commit").symlink_to("nowhere")

    with open_folder_of_others(tmp_path) as folder:
        hook = folder.file("pre-commit")

        assert (hook.lies_here(), hook.is_link(), hook.link_target()) == (True, True, "nowhere")
        assert (hook.is_ordinary(), hook.is_runnable(), hook.content(), hook.content(follow=False)) == (
            *(False, False),
            *(None, None),
        )


def test_what_is_too_large_or_no_file_is_not_looked_into(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "large").write_bytes(b"x" * (MAX_HOOK_BYTES + 1))
    (tmp_path / "hook").write_bytes(b"#!/bin/sh\n")

    with open_folder_of_others(tmp_path) as folder:
        contents = {name: folder.file(name).content() for name in folder.names()}

    assert contents == {"folder": None, "hook": b"#!/bin/sh\n", "large": None, "pipe": None}


def test_a_hook_is_written_over_a_link_and_not_through_it(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_bytes(b"precious")
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "pre-commit").symlink_to(theirs)
    (hooks / "pre-commit.agent-mail-new").symlink_to(theirs)

    with open_folder_of_others(hooks) as folder:
        hook = folder.file("pre-commit")
        hook.write(b"ours")

        assert (hook.is_link(), hook.is_runnable(), hook.content()) == (False, True, b"ours")
    assert theirs.read_bytes() == b"precious"
    assert [path.name for path in hooks.iterdir()] == ["pre-commit"]


def test_a_link_given_a_second_name_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "script").write_bytes(b"")
    (tmp_path / "pre-commit").symlink_to("script")

    with open_folder_of_others(tmp_path) as folder:
        hook = folder.file("pre-commit")
        hook.name_too(hook.beside(".former"))

    assert (tmp_path / "pre-commit.former").readlink() == Path("script")


def test_folders_are_made_only_where_that_is_asked_for(tmp_path: Path) -> None:
    with open_git_directory(tmp_path) as git_dir:
        missing = git_dir.folder("agent-mail", "hooks")
        assert (missing.path, missing.descriptor) == (tmp_path / "agent-mail" / "hooks", None)
        assert list(tmp_path.iterdir()) == []

        made = git_dir.folder("agent-mail", "hooks", make=True)
        made.file("pre-commit").write(b"ours")

    assert (tmp_path / "agent-mail" / "hooks" / "pre-commit").read_bytes() == b"ours"


@pytest.mark.parametrize("kind", ["link", "file", "pipe"])
def test_what_is_no_folder_of_the_repository_is_refused_by_name(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "hooks"
    if kind == "link":
        place.symlink_to("/")
    elif kind == "file":
        place.touch()
    else:
        os.mkfifo(place)

    with open_git_directory(tmp_path) as git_dir, pytest.raises(NothingPlainThere) as refused:
        git_dir.folder("hooks", make=True)

    what = "a symbolic link" if kind == "link" else "no folder"
    assert refused.value.message.startswith(f"{place} is {what}, and the guard writes only into ordinary")


def test_a_git_directory_reached_through_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    with pytest.raises(NothingPlainThere, match="is a symbolic link"), open_git_directory(tmp_path / "link"):
        pass


def test_only_an_empty_folder_is_removed(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    (tmp_path / "empty").mkdir()

    with open_git_directory(tmp_path) as git_dir:
        for name in ("full", "empty", "gone"):
            git_dir.remove_if_empty(name)

    assert [path.name for path in tmp_path.iterdir()] == ["full"]
