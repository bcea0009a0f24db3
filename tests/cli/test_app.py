"""How `am` ends: exit codes, errors as fact then hint, closed pipes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mcp_agent_mail.cli.app import ENTRIES, OLDER_NAMES
from tests.cli.command_line import am, environment
from tests.cli.scripted_server import Scripted, ScriptedServer
from tests.cli.shell import Shell


def test_an_unknown_command_is_a_usage_error_with_the_nearest_one(tmp_path: Path) -> None:
    done = am("mial", "inbox", home=tmp_path)

    assert done.returncode == 2
    assert "No such command 'mial'. Did you mean 'mail'?" in done.stderr
    assert done.stdout == ""


def test_an_unknown_option_is_a_usage_error(tmp_path: Path) -> None:
    done = am("mail", "inbox", "--unread", home=tmp_path)

    assert done.returncode == 2
    assert "No such option: --unread" in done.stderr


def test_a_word_for_a_number_is_a_usage_error(tmp_path: Path) -> None:
    done = am("mail", "read", "seven", home=tmp_path)

    assert done.returncode == 2
    assert "'seven' is no whole number." in done.stderr


def test_a_word_that_is_no_choice_is_a_usage_error_with_the_choices(tmp_path: Path) -> None:
    done = am("mail", "search", "x", "--order", "random", home=tmp_path)

    assert done.returncode == 2
    assert "'random' is not one of relevance, newest, oldest." in done.stderr


def test_without_a_store_and_a_server_the_way_out_is_told(tmp_path: Path) -> None:
    done = am("mail", "inbox", home=tmp_path, HTTP_PORT="1")

    assert done.returncode == 69
    assert done.stderr.splitlines() == [
        (
            f"Error (UNAVAILABLE): There is no store in {tmp_path}/.mcp_agent_mail yet, "
            "and no server answers at http://127.0.0.1:1."
        ),
        "Hint: Start one with: am serve",
    ]
    assert not (tmp_path / ".mcp_agent_mail").exists()


def test_bad_settings_stop_every_command_and_are_told_all_at_once(tmp_path: Path) -> None:
    done = am("mail", "inbox", home=tmp_path, HTTP_PORT="99999", AGENT_AUTH="perhaps")

    assert done.returncode == 78
    assert "2 settings cannot be used" in done.stderr
    assert "HTTP_PORT='99999' (environment)" in done.stderr
    assert "AGENT_AUTH='perhaps' (environment)" in done.stderr


def test_a_reader_that_leaves_early_is_no_error_message(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mcp_agent_mail", "config", "show", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=environment(tmp_path)
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        complaint = process.stderr.read()

    assert complaint == b""
    assert process.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no file that is always full")
def test_output_for_which_there_is_no_room_is_told_with_the_next_step(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "mcp_agent_mail", "--version"],
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(tmp_path),
            check=False,
        )

    assert done.returncode == 1
    assert done.stderr.startswith("Error: The output could not be written: No space left on device.\nHint: Send it ")


@pytest.mark.parametrize(
    ("former", "today"),
    [
        (("serve-http",), "serve"),
        (("serve-stdio",), "serve"),
        (("list-projects",), "projects list"),
        (("file_reservations",), "reservations"),
        (("file_reservations", "active"), "reservations active"),
        (("am-run",), "run"),
        (("amctl", "env"), "env"),
        (("clear-and-reset-everything",), "reset"),
        (("migrate",), "migrate"),
    ],
)
def test_an_older_name_is_the_command_of_today_with_a_line_on_stderr(
    shell: Shell, former: tuple[str, ...], today: str
) -> None:
    done = shell.am(*former, "--help")

    assert done.code == 0
    assert done.out.startswith(f"Usage: am {today} ")
    assert done.err.startswith("Notice: ")
    assert done.err.count("\n") == 1


def test_an_older_name_ends_as_the_command_does(shell: Shell) -> None:
    assert shell.am("list-projects").code == shell.am("projects", "list").code == 69
    assert shell.am("serve-stdio", "--port", "1").code == 2


def test_every_older_name_leads_to_a_command_that_is_there_or_is_unknown(shell: Shell) -> None:
    for name, former in OLDER_NAMES.items():
        done = shell.am(*name.split(), "--help")

        assert (done.code == 0) is (former.words[0] in ENTRIES), name


@pytest.mark.parametrize(
    "words", [("\udcff",), ("mail", "send", "--to", "x\udcff"), ("--\udcff",), ("status", "\udcff")]
)
def test_arguments_that_are_no_text_are_misuse(words: tuple[str, ...], shell: Shell) -> None:
    done = shell.am(*words)

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"Error: Argument {len(words)} is not UTF-8: ")
    assert done.err.rstrip().endswith(r"\xff")


def test_a_command_that_is_run_has_its_own_arguments(tmp_path: Path) -> None:
    program = "import os, sys; sys.exit(os.fsencode(sys.argv[1]) != b'\\xff')"

    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mcp_agent_mail",
            "run",
            "--anyway",
            "--agent",
            "BlueLake",
            "slot",
            "--",
            sys.executable,
            "-c",
            program,
            b"\xff",
        ],
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env=environment(tmp_path, HTTP_PORT="1"),
    )

    assert done.returncode == 0, done.stderr


def test_a_number_without_end_is_told_as_what_no_server_of_ours_answers(shell: Shell) -> None:
    with ScriptedServer(Scripted(body=b'{"next_cursor": Infinity, "messages": []}')) as server:
        shell.set(AGENT_MAIL_URL=server.url)
        done = shell.am("wait", "BlueLake")

    assert done.code == 70
    assert done.err.startswith("Error (INTERNAL): This command could not make sense of what it was told (OverflowError")
