from __future__ import annotations

from pathlib import Path

from tests.cli.shell import Shell


def _project(shell: Shell) -> str:
    return str(shell.context().settings.agent_mail_project)


def test_a_thread_that_is_not_there_and_an_unfit_key_are_refused_and_nothing_is_made(
    at_stopped: Shell, tmp_path: Path
) -> None:
    out = str(tmp_path / "out")
    (tmp_path / "key").write_text("noise")

    thread = at_stopped.am("share", "export", out, "-p", _project(at_stopped), "--thread", "no-such")
    key = at_stopped.am("share", "export", out, "-p", _project(at_stopped), "--sign", str(tmp_path / "key"))
    project = at_stopped.am("share", "export", out, "-p", "/code/none")
    preset = at_stopped.am("share", "export", out, "-p", _project(at_stopped), "--preset", "loose")

    assert [one.code for one in (thread, key, project, preset)] == [1, 1, 1, 2]
    assert not (tmp_path / "out").exists()


def test_strict_says_so_and_has_no_bodies(at_stopped: Shell, tmp_path: Path) -> None:
    out = tmp_path / "out"

    at_stopped.am("share", "export", str(out), "-p", _project(at_stopped), "--preset", "strict")

    assert ["preset", "strict"] in at_stopped.am("share", "verify", str(out)).lines()
    assert "I have the lexer" not in "".join(path.read_text() for path in out.rglob("*.html"))


def test_a_project_is_called_by_its_name(at_stopped: Shell, tmp_path: Path) -> None:
    done = at_stopped.am("share", "export", str(tmp_path / "out"), "-p", "shop")

    assert done.code == 0, done.err
    assert (tmp_path / "out" / "shop").is_dir()
