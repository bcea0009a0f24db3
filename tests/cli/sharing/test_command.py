from __future__ import annotations

import shlex
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


def test_threads_without_mail_are_told_with_the_command_that_lists_threads(at_stopped: Shell, tmp_path: Path) -> None:
    export = ("share", "export", str(tmp_path / "out"), "-p", _project(at_stopped))

    refused = at_stopped.am(*export, "--thread", "NOPE")

    command = f"am mail threads --project {shlex.quote(_project(at_stopped))}"
    assert command in " ".join(refused.err.split())
    assert at_stopped.am(*shlex.split(command)[1:]).code == 0


def test_a_bundle_loses_projects_and_its_signature_only_where_that_is_said(at_stopped: Shell, tmp_path: Path) -> None:
    out, key, other = tmp_path / "out", str(tmp_path / "key"), str(tmp_path / "annex")
    at_stopped.call("ensure_project", human_key=other)
    at_stopped.am("share", "keygen", key)
    export = ("share", "export", str(out), "-p", _project(at_stopped))
    both = at_stopped.am(*export, "-p", other, "--sign", key)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}

    fewer = at_stopped.am(*export, "--sign", key)
    unsigned = at_stopped.am(*export, "-p", other)
    after = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    replaced = at_stopped.am(*export, "--replace")

    assert [one.code for one in (both, fewer, unsigned, replaced)] == [0, 1, 1, 0]
    assert "has annex too" in " ".join(fewer.err.split())
    assert "signed" not in fewer.err
    assert "is signed" in " ".join(unsigned.err.split())
    assert "annex" not in unsigned.err
    assert "--replace" in fewer.err
    assert "--replace" in unsigned.err
    assert after == before
    assert ["signed", "no"] in replaced.lines()
    assert not (out / "annex").exists()


def test_strict_says_so_and_has_no_bodies(at_stopped: Shell, tmp_path: Path) -> None:
    out = tmp_path / "out"

    at_stopped.am("share", "export", str(out), "-p", _project(at_stopped), "--preset", "strict")

    assert ["preset", "strict"] in at_stopped.am("share", "verify", str(out)).lines()
    assert "I have the lexer" not in "".join(path.read_text() for path in out.rglob("*.html"))


def test_a_project_is_called_by_its_name(at_stopped: Shell, tmp_path: Path) -> None:
    done = at_stopped.am("share", "export", str(tmp_path / "out"), "-p", "shop")

    assert done.code == 0, done.err
    assert (tmp_path / "out" / "shop").is_dir()
