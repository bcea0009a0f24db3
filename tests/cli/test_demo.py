from __future__ import annotations

import subprocess
from pathlib import Path

from tests.cli.command_line import am


def test_the_demo_tells_the_conversation_and_where_it_is_in_git(tmp_path: Path) -> None:
    done = am("demo", "--fast", home=tmp_path, TMPDIR=str(tmp_path))

    (folder,) = tmp_path.glob("am-demo-*")
    (archive,) = (folder / "store" / "projects").iterdir()
    log = subprocess.run(["git", "-C", str(archive), "log", "--stat"], capture_output=True, text=True, check=True)
    assert done.returncode == 0, done.stderr
    assert "BlueLake -> RedStone: price() rounds 2.675 to 2.67" in done.stdout
    assert "BlueLake -> RedStone, Human (cc): Re: price() rounds" in done.stdout
    assert f"git -C {archive} log --stat" in done.stdout
    assert "agents/RedStone" in log.stdout
    letter = Path(next(line for line in done.stdout.splitlines() if line.startswith("  cat ")).split()[1])
    assert "invoices are a cent short" in letter.read_text()


def test_the_demo_leaves_no_server_and_a_store_that_verifies(tmp_path: Path) -> None:
    am("demo", "--fast", home=tmp_path, TMPDIR=str(tmp_path))

    (folder,) = tmp_path.glob("am-demo-*")
    store = str(folder / "store")
    assert am("status", home=tmp_path, STORAGE_ROOT=store).stdout.startswith("server\tnot running")
    assert am("doctor", "verify", home=tmp_path, STORAGE_ROOT=store).stdout.startswith("result\tclean")


def test_the_demo_takes_its_mail_away_when_told(tmp_path: Path) -> None:
    done = am("demo", "--fast", "--no-keep", home=tmp_path, TMPDIR=str(tmp_path))

    assert done.returncode == 0
    assert list(tmp_path.glob("am-demo-*")) == []


def test_no_setting_of_the_person_reaches_the_demo(tmp_path: Path) -> None:
    real = tmp_path / "real"

    done = am("demo", "--fast", home=tmp_path, TMPDIR=str(tmp_path), STORAGE_ROOT=str(real), HTTP_BEARER_TOKEN="x" * 20)

    assert done.returncode == 0
    assert not real.exists()
