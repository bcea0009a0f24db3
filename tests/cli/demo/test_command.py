from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.command_line import am


@dataclass(frozen=True, slots=True)
class Played:
    """A demo that was kept: what it printed and left, and where the person's own store would be."""

    home: Path
    folder: Path
    done: subprocess.CompletedProcess[str]

    @property
    def store(self) -> Path:
        return self.folder / "store"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    home = tmp_path_factory.mktemp("home")
    token = "a-server-token-of-the-person"
    real = home / "real"
    done = am("demo", "--fast", home=home, TMPDIR=str(home), STORAGE_ROOT=str(real), HTTP_BEARER_TOKEN=token)
    assert done.returncode == 0, done.stderr
    (folder,) = home.glob("am-demo-*")
    return Played(home=home, folder=folder, done=done)


def test_the_demo_tells_the_conversation_and_where_it_is_in_git(played: Played) -> None:
    text = played.done.stdout
    (archive,) = (path for path in (played.store / "projects").iterdir() if path.is_dir())

    log = subprocess.run(["git", "-C", str(archive), "log", "--stat"], capture_output=True, text=True, check=True)

    assert "BlueLake -> RedStone: price() rounds 2.675 to 2.67" in text
    assert "BlueLake -> RedStone, Human (cc): Re: price() rounds" in text
    assert f"git -C {archive} log --stat" in text
    assert "agents/RedStone" in log.stdout
    letter = Path(next(line for line in text.splitlines() if line.startswith("  cat ")).split()[1])
    assert "invoices are a cent short" in letter.read_text()


def test_the_demo_leaves_no_server_and_a_store_that_verifies(played: Played) -> None:
    status = am("status", home=played.home, STORAGE_ROOT=str(played.store))
    verified = am("doctor", "verify", home=played.home, STORAGE_ROOT=str(played.store))

    assert status.stdout.startswith("server\tnot running")
    assert verified.stdout.startswith("result\tclean")


def test_no_setting_of_the_person_reaches_the_demo(played: Played) -> None:
    assert not (played.home / "real").exists()


def test_the_demo_takes_its_mail_away_when_told(tmp_path: Path) -> None:
    done = am("demo", "--fast", "--no-keep", home=tmp_path, TMPDIR=str(tmp_path))

    assert done.returncode == 0
    assert list(tmp_path.glob("am-demo-*")) == []
    assert "RedStone's commits in Git" in done.stdout
    assert [line for line in done.stdout.splitlines() if str(tmp_path) in line] == [
        next(line for line in done.stdout.splitlines() if line.endswith(" is removed."))
    ]
