"""Who can write to a project's directory, and exchanges a file or folder while somebody attaches it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.attack.lent_place import MINE, SECRET, Place, build_place, leaked

TRIES = 1_000


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return build_place(tmp_path.resolve(), monkeypatch)


def to_link(place: Place) -> None:
    (place.app / "plan.txt").unlink()
    (place.app / "plan.txt").symlink_to(place.base / "outside" / "plan.txt")


def to_fifo(place: Place) -> None:
    (place.app / "plan.txt").unlink()
    os.mkfifo(place.app / "plan.txt")
    os.write(os.open(place.app / "plan.txt", os.O_RDWR | os.O_NONBLOCK), SECRET.encode())


def to_device(place: Place) -> None:
    (place.app / "plan.txt").unlink()
    (place.app / "plan.txt").symlink_to("/dev/zero")


def folder_to_link(place: Place) -> None:
    (place.app / "deep").rename(place.app / "kept")
    (place.app / "deep").symlink_to(place.base / "outside")


def folder_to_git(place: Place) -> None:
    (place.app / "deep").rename(place.app / "kept")
    (place.app / "deep").symlink_to(".git")


def folder_away(place: Place) -> None:
    (place.app / "deep" / "er").rename(place.base / "outside" / "er")


def workspace_to_link(place: Place) -> None:
    place.app.rename(place.app.with_name("kept"))
    place.app.symlink_to(place.base / "outside")


def above_to_link(place: Place) -> None:
    (place.base / "outside" / "app").mkdir()
    (place.base / "outside" / "app" / "plan.txt").write_text(SECRET)
    (place.base / "home").rename(place.base / "kept")
    (place.base / "home").symlink_to(place.base / "outside")


@pytest.mark.parametrize(
    ("exchange", "path", "seen"),
    [
        (to_link, "plan.txt", "plan.txt"),
        (to_link, "deep/../plan.txt", "deep"),
        (to_fifo, "plan.txt", "plan.txt"),
        (to_device, "plan.txt", "plan.txt"),
        (folder_to_link, "deep/plan.txt", "deep"),
        (folder_to_link, "deep/plan.txt", "plan.txt"),
        (folder_to_git, "deep/config", "deep"),
        (folder_away, "deep/er/../plan.txt", "er"),
        (folder_away, "deep/er/../../plan.txt", "er"),
        (folder_away, "deep/er/../er/../secret", "er"),
        (workspace_to_link, "plan.txt", "app"),
        (workspace_to_link, "plan.txt", "plan.txt"),
        (workspace_to_link, "{app}/plan.txt", "home"),
        (above_to_link, "plan.txt", "home"),
        (above_to_link, "plan.txt", "app"),
        (above_to_link, "{app}/plan.txt", "plan.txt"),
    ],
)
def test_what_is_exchanged_right_after_it_was_looked_at_leads_nowhere(
    place: Place, exchange: Callable[[Place], None], path: str, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = os.stat
    exchanged: list[str] = []

    def looked(name: Any, **how: Any) -> os.stat_result:
        found = look(name, **how)
        if name == seen and "dir_fd" in how and not exchanged:
            exchanged.append(name)
            exchange(place)
        return found

    monkeypatch.setattr(os, "stat", looked)

    assert leaked(place.spelt(path), place.roots) in {b"", MINE}
    assert exchanged == [seen]


@pytest.mark.parametrize("path", ["deep/er/../plan.txt", "deep/er/../secret", "deep/er/../er/../secret"])
def test_a_folder_that_is_moved_away_right_after_it_was_opened_leads_nowhere(
    place: Place, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter = os.open
    moved: list[str] = []

    def entered(name: Any, flags: int, **how: Any) -> int:
        descriptor = enter(name, flags, **how)
        if name == "er" and not moved:
            moved.append(name)
            folder_away(place)
        return descriptor

    monkeypatch.setattr(os, "open", entered)

    assert leaked(path, place.roots) in {b"", MINE}
    assert moved == ["er"]


def swap_link(place: Place, turn: int) -> None:
    """A file and a link to a secret, each by one rename."""
    fresh = place.app / "fresh"
    if turn % 2:
        fresh.symlink_to(place.base / "outside" / "secret")
    else:
        fresh.write_bytes(MINE)
    fresh.replace(place.app / "plan.txt")


def swap_target(place: Place, turn: int) -> None:
    fresh = place.app / "fresh"
    fresh.symlink_to(
        ("deep/plan.txt", place.base / "outside" / "plan.txt", ".git/config", "../app-secrets/secret")[turn % 4]
    )
    fresh.replace(place.app / "plan.txt")


def swap_folder(place: Place, turn: int) -> None:
    deep, kept = place.app / "deep", place.app / "kept"
    if turn % 2:
        deep.rename(kept)
        deep.symlink_to(place.base / "outside")
    else:
        deep.unlink()
        kept.rename(deep)


def swap_way_out(place: Place, turn: int) -> None:
    inner, away = place.app / "deep" / "er", place.base / "outside" / "er"
    (inner.rename(away)) if turn % 2 else (away.rename(inner))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("swap", "paths"),
    [
        (swap_link, ("plan.txt", "{app}/plan.txt", "deep/../plan.txt")),
        (swap_target, ("plan.txt", "{app}/plan.txt")),
        (swap_folder, ("deep/plan.txt", "deep/er/plan.txt", "deep/er/../plan.txt")),
        (swap_way_out, ("deep/er/../plan.txt", "deep/er/../../plan.txt", "deep/er/../secret")),
    ],
)
def test_nothing_leaks_while_somebody_exchanges_links_all_the_time(
    place: Place, swap: Callable[[Place, int], None], paths: tuple[str, ...]
) -> None:
    is_over = threading.Event()

    def exchange() -> None:
        turn = 0
        while not is_over.is_set() or turn % 2:
            turn += 1
            swap(place, turn)

    attacker = threading.Thread(target=exchange)
    attacker.start()
    try:
        found = {leaked(place.spelt(path), place.roots) for _ in range(TRIES) for path in paths}
    finally:
        is_over.set()
        attacker.join()

    assert found <= {b"", MINE}


@pytest.mark.parametrize("is_link", [True, False])
@pytest.mark.parametrize("folder", ["app", ".mcp_agent_mail/projects/app"])
def test_what_has_taken_the_place_of_a_folder_that_was_found_lends_nothing(
    place: Place, folder: str, *, is_link: bool
) -> None:
    taken, other = place.base / "home" / folder, place.base / "outside"
    taken.rename(place.base / "aside")
    taken.symlink_to(other) if is_link else other.rename(taken)

    assert [leaked(path, place.roots) for path in ("secret", f"{taken}/secret")] == [b"", b""]


_IN_A_NAMESPACE = """
import os, subprocess, sys
from pathlib import Path
from mcp_agent_mail.core.errors import InvalidInput, NotFound
from mcp_agent_mail.workspace.lent_files import LentRoots, open_lent
from mcp_agent_mail.workspace.lent_places import find_folder, folder_at
home = Path(sys.argv[1])
os.environ["HOME"] = str(home)
store, app = home / ".mcp_agent_mail", home / "app"
def mount(*arguments):
    subprocess.run(["mount", *arguments], check=True)
(app / "mounted").mkdir()
(app / "token").touch()
(app / "processes").mkdir()
mount("--bind", str(store), str(app / "mounted"))
mount("--bind", str(store / "operator.token"), str(app / "token"))
mount("-t", "proc", "proc", str(app / "processes"))
roots = LentRoots((find_folder(app),), folder_at(store / "projects" / "app"), (store,))
for path in sys.argv[2:]:
    for may_be_anywhere in (False, True):
        try:
            with open_lent(path, roots, may_be_anywhere=may_be_anywhere) as lent:
                print(path, os.read(lent.descriptor, 100).decode())
        except (InvalidInput, NotFound) as refusal:
            print(path, refusal.code)
"""


def test_a_mount_of_the_store_or_of_processes_in_a_project_lends_nothing(place: Place) -> None:
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-m", "mount", "--make-rprivate", "/"], check=False).returncode:
        pytest.skip("nobody may mount here")

    refused = ["mounted/operator.token", "mounted/gone", "token", "processes/self/environ", "processes/version"]
    done = subprocess.run(
        [unshare, "-m", sys.executable, "-c", _IN_A_NAMESPACE, place.base / "home", "plan.txt", *refused],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        *["plan.txt mine"] * 2,
        *(f"{path} INVALID_INPUT" for path in refused for _ in (False, True)),
    ]
