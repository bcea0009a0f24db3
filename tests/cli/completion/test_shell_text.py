from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from mcp_agent_mail.cli.completion.shell_text import SCRIPTS, ShellName, as_read_by
from mcp_agent_mail.cli.completion.words import SuggestedWord
from tests.cli.command_line import environment

WITHIN_S = 60.0
BASH, ZSH, FISH = (shutil.which(shell) for shell in SCRIPTS)


@pytest.fixture
def surroundings(tmp_path: Path) -> dict[str, str]:
    """Where `am` is a program on PATH, as it is for people."""
    program = tmp_path / "bin" / "am"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mcp_agent_mail "$@"\n')
    program.chmod(0o755)
    told = environment(tmp_path)
    return {**told, "PATH": f"{program.parent}:{told['PATH']}", "ZDOTDIR": str(tmp_path)}


def run(shell: str | None, script: str, surroundings: dict[str, str]) -> list[str]:
    assert shell
    done = subprocess.run(
        [shell, "-c", script],
        capture_output=True,
        text=True,
        env=surroundings,
        cwd=surroundings["HOME"],
        timeout=WITHIN_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.skipif(BASH is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("am", "conf"), ["config"]),
        (("am", "config", "s"), ["show", "show-port", "set-port"]),
        (("am", "mail", "search", "--order", "=", "n"), ["newest"]),
        (("am", "nothing", ""), []),
        (("am", "doctor", "$(touch made)"), []),
    ],
)
def test_bash_gets_the_words(surroundings: dict[str, str], words: Sequence[str], found: list[str]) -> None:
    quoted = " ".join(f"'{word}'" for word in words)
    script = (
        'eval "$(am completion bash)"\n'
        f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}\n"
        "_am_completion am\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )

    assert run(BASH, script, surroundings) == (found or [""])
    assert not (Path(surroundings["HOME"]) / "made").exists()


@pytest.mark.skipif(BASH is None, reason="there is no bash")
def test_tab_in_bash_completes_the_word(surroundings: dict[str, str]) -> None:
    assert BASH
    person, terminal = pty.openpty()
    with subprocess.Popen(
        [BASH, "--norc", "--noprofile", "-i"],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=surroundings["HOME"],
        env={**surroundings, "PS1": "$ "},
        start_new_session=True,
    ):
        os.close(terminal)
        os.write(person, b'eval "$(am completion bash)"; echo it is re""ady\n')
        read_until(person, "it is ready")
        os.write(person, b"am config set-\t\x01echo \n")

        shown = read_until(person, "\nam config set-port")
        os.write(person, b"exit\n")

    os.close(person)
    assert "\nam config set-port" in shown


def read_until(person: int, wanted: str) -> str:
    """What the shell has shown by then, or when it says nothing more."""
    shown = ""
    while wanted not in shown and select.select([person], [], [], WITHIN_S)[0]:
        shown += os.read(person, 65_536).decode(errors="replace").replace("\r", "")
    return shown


@pytest.mark.skipif(ZSH is None, reason="there is no zsh")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("am", "comp"), ["completion:TAB for bash, zsh, fish."]),
        (("am", "mail", "search", "--order", ""), ["relevance", "newest", "oldest"]),
        (("am", "nothing", ""), ["files"]),
    ],
)
def test_zsh_gets_the_words_with_what_they_are(
    surroundings: dict[str, str], words: Sequence[str], found: list[str]
) -> None:
    quoted = " ".join(f"'{word}'" for word in words)
    script = (
        "compdef() { : }; _files() { print files }; _describe() { print -l -- ${(P)2} }\n"
        'eval "$(am completion zsh)"\n'
        f"words=({quoted}); CURRENT={len(words)}\n"
        "_am_completion"
    )

    assert run(ZSH, script, surroundings) == found


@pytest.mark.skipif(FISH is None, reason="there is no fish")
def test_fish_gets_the_words(surroundings: dict[str, str]) -> None:
    found = run(FISH, 'am completion fish | source\ncomplete -C "am config s"', surroundings)

    assert sorted(line.split("\t")[0] for line in found) == ["set-port", "show", "show-port"]


@pytest.mark.parametrize("shell", SCRIPTS)
def test_each_script_names_both_programs_and_asks_in_its_own_words(shell: ShellName) -> None:
    script = SCRIPTS[shell]

    assert f"completion {shell} -- " in script
    assert "mcp-agent-mail" in script
    assert script.count("{") == script.count("}")
    assert script.endswith("\n")


def test_each_shell_reads_a_candidate_in_its_own_form() -> None:
    found = [SuggestedWord(word="a:b", summary="What it is."), SuggestedWord(word="plain")]

    assert as_read_by("bash", found) == "a:b\nplain\n"
    assert as_read_by("zsh", found) == "a\\:b:What it is.\nplain\n"
    assert as_read_by("fish", found) == "a:b\tWhat it is.\nplain\n"
