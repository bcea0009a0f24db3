"""Who names a file to attach: a path or link leads to nothing but what is lent.

Each secret is planted with a mark of its own: what is opened at all is read to its end, and no mark may be there.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.workspace.lent_files import LentRoots
from mcp_agent_mail.workspace.lent_places import find_folder
from tests.attack.lent_place import MINE, SECRET, Place, build_place, leaked


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return build_place(tmp_path.resolve(), monkeypatch)


OUTSIDE = (
    "/etc/passwd",
    "/etc/hostname",
    "//etc/passwd",
    "/./etc//passwd",
    "{outside}/secret",
    "{home}/.ssh/id_rsa",
    "{home}/app-secrets/secret",
    "{app}-secrets/secret",
    "{app}/../../outside/secret",
    "{app}/../app-secrets/secret",
    "../app-secrets/secret",
    "../../outside/secret",
    "../.ssh/id_rsa",
    "deep/../../app-secrets/secret",
    "deep/er/../../../../outside/secret",
    "./.././../outside/secret",
    "gone/../../../outside/secret",
    "plan.txt/../../../outside/secret",
    "../" * 40 + "etc/passwd",
    "../" * 1_300 + "etc/passwd",
    "/" + "../" * 1_300 + "etc/passwd",
    "deep/../" * 400 + "../../outside/secret",
    "~/.ssh/id_rsa",
    "~root/.bashrc",
    "$HOME/.ssh/id_rsa",
    "file:///etc/passwd",
    "file://{outside}/secret",
    "file:{outside}/secret",
    "%2e%2e/%2e%2e/outside/secret",
    "..%2f..%2foutside/secret",
    "..\\..\\outside\\secret",
    "../../outside/secret\0.png",
    "{outside}/secret\0",
    "plan.txt\0/../../../outside/secret",
    "{outside}/secret\n",
    "\ud800/../../outside/secret",
    "\u2025/\u2025/outside/secret",
    "\uff0e\uff0e/\uff0e\uff0e/outside/secret",
    "/dev/stdin",
)
NEVER = (
    "/proc/self/environ",
    "/proc/self/cmdline",
    "/proc/self/maps",
    "/proc/self/fd/0",
    "{disk}{outside}/secret",
    "/proc/self/cwd/../outside/secret",
    "/proc/thread-self/environ",
    "/proc/../proc/self/environ",
    "{proc}/environ",
    "/sys/kernel/uevent_seqnum",
    "/dev/null",
    "/dev/zero",
    "/dev/tty",
    "/dev/urandom",
    "{store}/mail.sqlite3",
    "{store}/operator.token",
    "{store}/attachments/ab/abcd",
    "{store}/projects/other/archive.json",
    "{store}/projects/app/../other/archive.json",
    "{store}/projects/app/.git/config",
    "{store}/projects/app/agents/BlueLake/inbox/1.md",
    "{store}/../.mcp_agent_mail/operator.token",
    "../other/archive.json",
    "../../operator.token",
    "../.mcp_agent_mail/operator.token",
    "{home}/backups/mail.sqlite3",
    "../backups/mail.sqlite3",
    ".git/config",
    "./.git//config",
    "deep/../.git/config",
    "{app}/.git/config",
    "../app/.git/config",
    ".GIT/config",
    "module/.git",
    "copied/.GIT/config",
    "copied/.g\u200bit/config",
    "agents/BlueLake/inbox/1.md",
    "AGENTS/BlueLake/inbox/1.md",
    "messages/2026/11/0-499/held__7.md",
    ".mcp-mail/.git",
    ".mcp-mail/agents/BlueLake/inbox/1.md",
    ".mcp-mail/../.mcp-mail/agents/BlueLake/inbox/1.md",
    "sub/.mcp-mail/messages/2026/held__7.md",
    "sub/.MCP-MAIL/Agents/BlueLake/inbox/1.md",
    ".",
    "..",
    "/",
    "",
)


@pytest.mark.parametrize("path", [*OUTSIDE, *NEVER])
def test_no_path_leads_out_or_to_what_is_never_lent(place: Place, path: str) -> None:
    assert leaked(place.spelt(path), place.roots) == b""


@pytest.mark.parametrize("path", NEVER)
def test_what_is_never_lent_is_not_where_files_may_lie_anywhere_either(place: Place, path: str) -> None:
    assert leaked(place.spelt(path), place.roots, may_be_anywhere=True) == b""


@pytest.mark.parametrize(
    "path", [path for path in (*OUTSIDE, *NEVER) if path and "\0" not in path and path[0] < "\ud800"]
)
def test_a_link_leads_to_nothing_that_a_path_may_not_name(place: Place, path: str) -> None:
    (place.app / "link").symlink_to(place.spelt(path))
    (place.app / "to-the-link").symlink_to("deep/../link")
    (place.app / "folder").symlink_to(place.spelt(path).rpartition("/")[0] or ".")
    below = f"folder/{path.rpartition('/')[2]}"

    assert [leaked(name, place.roots) for name in ("link", "to-the-link", below)] == [b""] * 3
    if path in NEVER:
        assert [leaked(name, place.roots, may_be_anywhere=True) for name in ("link", "to-the-link")] == [b""] * 2


@pytest.mark.parametrize(
    ("workspace", "path"),
    [
        ("/proc/self", "environ"),
        ("/proc", "self/environ"),
        ("{disk}", "etc/passwd"),
        ("/sys/kernel", "uevent_seqnum"),
        ("/dev", "null"),
        ("/", "etc/passwd"),
        ("{base}", "outside/secret"),
        ("{home}", ".ssh/id_rsa"),
        ("{home}", "app-secrets/secret"),
        ("{home}/app/..", "app-secrets/secret"),
        ("{store}", "operator.token"),
        ("{store}/projects", "other/archive.json"),
        ("{store}/projects/other", "archive.json"),
        ("{store}/projects/app", "agents/BlueLake/inbox/1.md"),
        ("{store}/projects/app/agents", "BlueLake/inbox/1.md"),
        ("{store}/attachments", "ab/abcd"),
        ("{home}/backups", "mail.sqlite3"),
        ("{app}/.git", "config"),
        ("{app}/copied/.GIT", "config"),
        ("{app}/.mcp-mail", "agents/BlueLake/inbox/1.md"),
        ("{app}/.mcp-mail/agents", "BlueLake/inbox/1.md"),
        ("{app}/.mcp-mail/agents/BlueLake/inbox", "1.md"),
        ("{app}/to-home", ".ssh/id_rsa"),
        ("{app}/to-git", "config"),
    ],
)
def test_a_project_of_any_directory_lends_nothing_that_is_never_lent(place: Place, workspace: str, path: str) -> None:
    (place.app / "to-home").symlink_to(place.base / "home")
    (place.app / "to-git").symlink_to(".git")
    named = Path(place.spelt(workspace))
    roots = LentRoots((find_folder(named),), place.roots.archive, place.roots.never, place.roots.apart)

    for asked in (path, f"./{path}", f"{named}/{path}"):
        for may_be_anywhere in (False, True):
            assert leaked(asked, roots, may_be_anywhere=may_be_anywhere) in {b"", MINE}


@contextmanager
def special_file(path: Path, kind: str) -> Iterator[None]:
    if kind == "fifo":
        os.mkfifo(path)
        writer = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        os.write(writer, SECRET.encode())
        try:
            yield
        finally:
            os.close(writer)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as bound:
            with chdir(path.parent):  # A socket's path is short.
                bound.bind(path.name)
            yield
    elif kind == "folder":
        path.mkdir()
        yield
    else:
        try:
            os.mknod(path, 0o20_600, os.makedev(1, 5))
        except PermissionError:
            pytest.skip("only root makes devices")
        yield


@pytest.mark.parametrize("kind", ["fifo", "socket", "device", "folder"])
@pytest.mark.parametrize("may_be_anywhere", [False, True])
def test_nothing_but_a_plain_file_is_read_and_nothing_waits(
    place: Place, kind: str, monkeypatch: pytest.MonkeyPatch, *, may_be_anywhere: bool
) -> None:
    monkeypatch.chdir(place.app)
    (place.app / "link").symlink_to("special")
    opened: list[object] = []
    enter = os.open

    def noted(path: Any, flags: int, **how: Any) -> int:
        if not flags & os.O_DIRECTORY:
            opened.append(path)
        return enter(path, flags, **how)

    with special_file(place.app / "special", kind):
        monkeypatch.setattr(os, "open", noted)
        for path in ("special", "link", f"{place.app}/special", "special/", "special/below"):
            assert leaked(path, place.roots, may_be_anywhere=may_be_anywhere) == b""

    # By a folder's manifest it is told whether that is a backup of ours; it is opened like any file, without waiting.
    assert [path for path in opened if path != "manifest.json"] == []


def test_a_fifo_that_nobody_writes_to_is_not_waited_for(place: Place) -> None:
    os.mkfifo(place.app / "pipe")

    assert leaked("pipe", place.roots) == b""


@pytest.mark.parametrize("name", ["operator.token", "mail.sqlite3"])
def test_a_second_name_of_a_file_of_the_store_is_known(place: Place, name: str) -> None:
    os.link(place.base / "home/.mcp_agent_mail" / name, place.app / "shot.png")

    assert leaked("shot.png", place.roots) == b""
    assert leaked("plan.txt", place.roots) == MINE


@pytest.mark.parametrize("links", [41, 1_000])
def test_chains_of_links_end(place: Place, links: int) -> None:
    (place.app / "link-0").symlink_to(place.base / "outside" / "secret")
    for number in range(1, links):
        (place.app / f"link-{number}").symlink_to(f"link-{number - 1}")
    (place.app / "round").symlink_to("round")
    (place.app / "ping").symlink_to("pong")
    (place.app / "pong").symlink_to("ping/../pong")

    for path in (f"link-{links - 1}", "round", "ping", "round/x"):
        for may_be_anywhere in (False, True) if path != f"link-{links - 1}" or links > 40 else (False,):
            assert leaked(path, place.roots, may_be_anywhere=may_be_anywhere) == b""
