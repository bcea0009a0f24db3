"""Which file a caller's path opens, and what it is told of one that opens none."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.plain_files import UnfitFile
from mcp_agent_mail.domain.archive_format.layout import ARCHIVE_FILE, OWN_FOLDERS
from mcp_agent_mail.workspace.lent_files import (
    ArchivedContent,
    LentFileNotFound,
    LentRoots,
    NotLent,
    open_lent,
)
from mcp_agent_mail.workspace.lent_places import find_folder, folder_at
from tests.workspace.lending import content, folders, open_descriptors, opened


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def roots(home: Path) -> LentRoots:
    """The directory that the caller named, the project's, and its archive in the store; all in a home."""
    store = home / ".mcp_agent_mail"
    for folder in ("app/docs", "app/deep/er", ".mcp_agent_mail/projects/app/attachments/ab", "backups"):
        (home / folder).mkdir(parents=True)
    (store / "operator.token").write_text("secret")
    return LentRoots(
        workspaces=(find_folder(home / "app" / "docs"), find_folder(home / "app")),
        archive=folder_at(store / "projects" / "app"),
        never=(store,),
        apart=(home / "backups",),
    )


def test_a_path_is_looked_for_in_the_workspaces_in_order_and_then_in_the_archive(roots: LentRoots) -> None:
    docs, app = (folder.path for folder in roots.workspaces)
    assert roots.archive is not None
    for folder in (docs, app, roots.archive.path):
        (folder / "shot.png").write_text(str(folder))
    found = []

    for folder in (docs, app, roots.archive.path):
        found.append(content("shot.png", roots))
        (folder / "shot.png").unlink()

    assert found == [str(folder).encode() for folder in (docs, app, roots.archive.path)]
    with pytest.raises(LentFileNotFound, match="There is no file 'shot\\.png'"):
        open_lent("shot.png", roots, may_be_anywhere=False)


def test_an_open_file_says_where_it_lies_and_how_large_it_is(roots: LentRoots) -> None:
    app = roots.workspaces[1].path
    (app / "docs" / "plan.txt").write_text("Walls first")
    (app / "latest").symlink_to("docs/plan.txt")

    with opened("latest", roots) as lent:
        assert (lent.path, lent.size) == (app / "docs" / "plan.txt", 11)
        os.fstat(lent.descriptor)
        descriptor = lent.descriptor

    assert lent.descriptor == -1
    lent.close()
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(descriptor)


@pytest.mark.parametrize(
    "path",
    [
        "plan.txt",
        "./plan.txt",
        "deep/../plan.txt",
        "deep//er/../../plan.txt",
        "../app/plan.txt",
        "{app}/plan.txt",
        "{app}/deep/../plan.txt",
        "/nowhere/..{app}/plan.txt",
        "inside",
        "absolute",
        "out-and-in",
        "deep/up",
        "a-folder/plan.txt",
    ],
)
def test_every_way_that_ends_inside_counts(roots: LentRoots, path: str) -> None:
    app = roots.workspaces[1].path
    roots = LentRoots(workspaces=folders(app), archive=roots.archive, never=roots.never)
    (app / "plan.txt").write_text("plan")
    (app / "inside").symlink_to("deep/../plan.txt")
    (app / "absolute").symlink_to(app / "plan.txt")
    (app / "out-and-in").symlink_to("../app/plan.txt")
    (app / "deep" / "up").symlink_to("../inside")
    (app / "a-folder").symlink_to("deep/er/../..")

    assert content(path.format(app=app), roots) == b"plan"


def test_a_workspace_that_is_named_over_a_link_is_what_it_leads_to(roots: LentRoots, home: Path) -> None:
    app = roots.workspaces[1].path
    (app / "plan.txt").write_text("plan")
    (home / "alias").symlink_to(app)
    named = LentRoots(workspaces=folders(home / "alias"), archive=None, never=roots.never)

    assert [content(path, named) for path in ("plan.txt", f"{home}/alias/plan.txt", f"{app}/plan.txt")] == [b"plan"] * 3


@pytest.mark.parametrize("path", ["gone", "gone/er", "plan.txt/x", "plan.txt/", "plan.txt/.", "dangling", "~/plan.txt"])
def test_what_is_missing_inside_is_told_as_missing(roots: LentRoots, path: str) -> None:
    app = roots.workspaces[1].path
    (app / "plan.txt").touch()
    (app / "dangling").symlink_to("gone")

    for asked in (path, f"{app}/{path}"):
        with pytest.raises(LentFileNotFound) as refusal:
            open_lent(asked, roots, may_be_anywhere=False)
        assert "data: URI" in refusal.value.hint


def test_a_path_that_a_shell_or_a_browser_would_read_is_told_so(roots: LentRoots) -> None:
    for path in ("~/shot.png", "file:///etc/passwd"):
        with pytest.raises(LentFileNotFound) as refusal:
            open_lent(path, roots, may_be_anywhere=False)
        assert "taken as it stands" in refusal.value.hint


def test_outside_the_words_are_the_same_whether_something_lies_there_or_not(roots: LentRoots, tmp_path: Path) -> None:
    app = roots.workspaces[1].path
    (tmp_path / "there").write_text("secret")
    told = set()
    for name in ("there", "gone", "there/below"):
        (app / "link").symlink_to(tmp_path / name)
        for path in (f"{tmp_path}/{name}", f"../../../{name}", f"deep/../../../../{name}", "link"):
            with pytest.raises(NotLent) as refusal:
                open_lent(path, roots, may_be_anywhere=False)
            told.add((refusal.value.message.replace(repr(path), "PATH"), refusal.value.hint))
        (app / "link").unlink()

    ((message, hint),) = told
    assert message == "PATH leads out of the project's directory."
    assert "ALLOW_ABSOLUTE_ATTACHMENT_PATHS" in hint


def test_outside_the_disk_is_not_looked_at(roots: LentRoots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = roots.workspaces[1].path
    (tmp_path / "elsewhere").mkdir()
    (app / "link").symlink_to(tmp_path / "elsewhere" / "file")
    looked_at: list[str] = []

    def noted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: object, *rest: object, **more: object) -> Any:
            looked_at.append(str(path))
            return real(path, *rest, **more)

        return call

    for name in ("stat", "lstat", "open", "readlink", "scandir"):
        monkeypatch.setattr(os, name, noted(getattr(os, name)))

    for path in ("link", f"{tmp_path}/elsewhere/file", "../../../elsewhere/file"):
        with pytest.raises(NotLent):
            open_lent(path, roots, may_be_anywhere=False)

    assert "link" in looked_at
    assert not [path for path in looked_at if "elsewhere" in path]


def test_elsewhere_a_file_is_opened_where_that_is_allowed(roots: LentRoots, tmp_path: Path) -> None:
    app = roots.workspaces[1].path
    (tmp_path / "there").write_text("there")
    (app / "link").symlink_to(tmp_path / "there")
    (tmp_path / "way").symlink_to(tmp_path / "home")

    for path in (f"{tmp_path}/there", "link", "../../../there", f"{tmp_path}/way/../there", f"/../../{tmp_path}/there"):
        assert content(path, roots, may_be_anywhere=True) == b"there"
    with pytest.raises(LentFileNotFound):
        open_lent(f"{tmp_path}/gone", roots, may_be_anywhere=True)
    with pytest.raises(LentFileNotFound):
        open_lent("there", roots, may_be_anywhere=True)


def test_elsewhere_the_folder_above_is_the_one_that_the_disk_knows(roots: LentRoots, home: Path) -> None:
    (home / "app" / "plan.txt").write_text("mine")
    (home / "other" / "app").mkdir(parents=True)
    (home / "other" / "app" / "plan.txt").write_text("other")
    (home / "link").symlink_to("other/app")

    assert content(f"{home}/link/../app/plan.txt", roots, may_be_anywhere=True) == b"other"


def test_the_archive_is_lent_by_any_path_and_the_store_around_it_by_none(roots: LentRoots) -> None:
    assert roots.archive is not None
    archive = roots.archive.path
    (archive / "notes.txt").write_text("notes")
    (other := archive.with_name("other")).mkdir()
    (other / "archive.json").touch()

    for may_be_anywhere in (False, True):
        for path in ("notes.txt", f"{archive}/notes.txt"):
            assert content(path, roots, may_be_anywhere=may_be_anywhere) == b"notes"
        for path in (
            f"{other}/archive.json",
            f"{archive}/../other/archive.json",
            f"{roots.never[0]}/operator.token",
        ):
            with pytest.raises(NotLent):
                open_lent(path, roots, may_be_anywhere=may_be_anywhere)


CONTENT = "ab" * 32


def test_of_an_archive_only_what_its_owner_put_there_is_opened(roots: LentRoots) -> None:
    assert roots.archive is not None
    archive = roots.archive.path
    refused = []
    for name in (ARCHIVE_FILE, *(f"{folder}/x.json" for folder in OWN_FOLDERS), ".agent-mail-new1", ".git.set-aside"):
        (archive / name).parent.mkdir(exist_ok=True)
        (archive / name).touch()
        refused += [name, name.upper(), name.replace("/x", "/gone"), f"{archive}/{name}"]
    kept = f"attachments/ab/{CONTENT}.webp"
    refused += [f"attachments/{CONTENT}.webp", f"{kept}/x", f"attachments/../{kept}", kept.upper()]
    (roots.workspaces[1].path / "link").symlink_to(archive / kept)

    for may_be_anywhere in (False, True):
        for path in refused:
            with pytest.raises(NotLent, match="never lent"):
                open_lent(path, roots, may_be_anywhere=may_be_anywhere)
        for path in (kept, f"{archive}/{kept}", "link"):
            assert open_lent(path, roots, may_be_anywhere=may_be_anywhere) == ArchivedContent(CONTENT)


def test_an_archive_in_a_workspace_is_walked_to_like_any_folder(roots: LentRoots, home: Path) -> None:
    folder = home / "app" / ".mcp-mail"
    (folder / "agents").mkdir(parents=True)
    (folder / "notes.txt").write_text("notes")
    (folder / "agents" / "notes.txt").touch()

    assert content("notes.txt", LentRoots((), folder_at(folder), roots.never)) == b"notes"
    for unlent in (folder / "agents", home / "app" / ".git"):
        unlent.mkdir(exist_ok=True)
        (unlent / "notes.txt").touch()
        with pytest.raises(NotLent):
            open_lent("notes.txt", LentRoots((), folder_at(unlent), roots.never), may_be_anywhere=False)


@pytest.mark.parametrize("holds", ["the home", "the store", "a workspace beside"])
def test_a_workspace_around_the_store_or_the_home_lends_nothing_as_a_whole(
    roots: LentRoots, home: Path, tmp_path: Path, holds: str
) -> None:
    assert roots.archive is not None
    (home / "notes.txt").touch()
    (roots.archive.path / "kept.txt").write_text("kept")
    (home / "app" / "mine.txt").write_text("mine")
    if holds == "the store":
        archive = tmp_path / "around" / "store" / "projects" / "app"
        archive.mkdir(parents=True)
        roots = LentRoots(folders(tmp_path / "around"), folder_at(archive), (tmp_path / "around/store",))
        (tmp_path / "around" / "notes.txt").touch()
        (tmp_path / "around/store/projects/app/kept.txt").write_text("kept")
    elif holds == "the home":
        roots = LentRoots(folders(home), roots.archive, ())
    else:
        roots = LentRoots(folders(home, home / "app"), roots.archive, roots.never)
    around = roots.workspaces[0].path

    for path in ("notes.txt", f"{around}/notes.txt", "gone", f"{around}/gone"):
        for may_be_anywhere in (False, True):
            with pytest.raises(NotLent, match="lends no files"):
                open_lent(path, roots, may_be_anywhere=may_be_anywhere)

    assert content("kept.txt", roots) == b"kept"
    if holds == "a workspace beside":
        for path in ("mine.txt", f"{home}/app/mine.txt"):
            assert [content(path, roots, may_be_anywhere=anywhere) for anywhere in (False, True)] == [b"mine"] * 2


def test_a_workspace_around_what_lies_apart_lends_the_rest(roots: LentRoots) -> None:
    app = roots.workspaces[1].path
    (app / "backups").mkdir()
    (app / "backups" / "mail.sqlite3").touch()
    (app / "plan.txt").write_text("plan")
    roots = LentRoots(folders(app), None, roots.never, (app / "backups", app / "later"))

    assert content("plan.txt", roots) == b"plan"
    for path in ("backups/mail.sqlite3", "backups/gone", "later/gone", f"{app}/later"):
        with pytest.raises(NotLent, match="never lent"):
            open_lent(path, roots, may_be_anywhere=False)


def test_a_workspace_that_is_not_there_and_no_workspace_at_all_lend_nothing(roots: LentRoots, home: Path) -> None:
    for workspaces in ((), folders(home / "gone")):
        with pytest.raises(LentFileNotFound):
            open_lent("plan.txt", LentRoots(workspaces, None, roots.never), may_be_anywhere=False)
    with pytest.raises(LentFileNotFound):
        open_lent(f"{home}/gone/plan.txt", LentRoots(folders(home / "gone"), None, roots.never), may_be_anywhere=False)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", "names no file"),
        (" \t", "names no file"),
        ("a\0b", "control character"),
        ("a\nb", "control character"),
        ("\x9b", "control character"),
        ("x" * 4_097, "4,096 characters"),
        ("x" * 300, "too long"),
        ("\ud800", "no file's name has"),
        (".", "is a folder"),
        ("deep", "is a folder"),
        ("deep/", "is a folder"),
    ],
)
def test_what_is_no_path_to_a_plain_file_is_refused(roots: LentRoots, path: str, why: str) -> None:
    roots = LentRoots(roots.workspaces[1:], None, roots.never)

    for may_be_anywhere in (False, True):
        with pytest.raises(UnfitFile, match=why) as refusal:
            open_lent(path, roots, may_be_anywhere=may_be_anywhere)
        assert isinstance(refusal.value, InvalidInput)
        assert refusal.value.hint


def test_forty_links_are_followed_and_no_more(roots: LentRoots) -> None:
    app = roots.workspaces[1].path
    (app / "link-0").write_text("end")
    for number in range(1, 42):
        (app / f"link-{number}").symlink_to(f"link-{number - 1}")

    assert content("link-40", roots) == b"end"
    with pytest.raises(UnfitFile, match="more links"):
        open_lent("link-41", roots, may_be_anywhere=False)


def test_a_path_through_many_folders_ends(roots: LentRoots) -> None:
    app = roots.workspaces[1].path
    (app / "again").symlink_to("deep/../" * 500 + "again")

    with pytest.raises(UnfitFile, match="more folders"):
        open_lent("again", roots, may_be_anywhere=False)


def test_what_fails_through_no_fault_of_the_path_is_no_refusal_of_it(
    roots: LentRoots, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(*_: object, **__: object) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(os, "open", none_left)

    with pytest.raises(OSError, match="Too many"):
        open_lent("plan.txt", roots, may_be_anywhere=False)


def test_a_pipe_that_takes_a_files_place_as_it_is_opened_is_not_waited_for(
    roots: LentRoots, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_, plan = os.open, roots.workspaces[1].path / "plan.txt"
    plan.touch()

    def open_late(path: Any, *arguments: Any, **options: Any) -> int:
        if path == plan.name and plan.is_file():
            plan.unlink()
            os.mkfifo(plan)
        return open_(path, *arguments, **options)

    monkeypatch.setattr(os, "open", open_late)

    with pytest.raises(UnfitFile, match="is no plain file"):
        open_lent("plan.txt", roots, may_be_anywhere=False)
    assert plan.is_fifo()


def test_no_descriptor_is_left_open(roots: LentRoots) -> None:
    app = roots.workspaces[1].path
    (app / "plan.txt").touch()
    (app / "out").symlink_to("/etc/passwd")
    before = open_descriptors()

    for path in ("plan.txt", "deep/er/../../plan.txt", f"{app}/plan.txt"):
        opened(path, roots, may_be_anywhere=False).close()
    for path in ("gone", "out", "deep", "deep/er/gone", ".git/config"):
        with pytest.raises((LentFileNotFound, InvalidInput)):
            open_lent(path, roots, may_be_anywhere=False)

    assert open_descriptors() == before
