from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Post
from tests.cli.shell import Shell
from tests.workspace.code_repository import begin

ECHO = 'echo "$AM_SLOT|$AGENT|$PROJECT|$BRANCH|$CACHE_KEY"'


@pytest.fixture
def as_blue(at_post: Shell) -> Shell:
    at_post.set(AGENT_NAME="bluelake")
    return at_post


def test_env_prints_lines_that_a_shell_reads_back(as_blue: Shell, tmp_path: Path) -> None:
    code = begin(tmp_path / "it's $HOME; code")
    as_blue.call("ensure_project", human_key=str(code))
    as_blue.call("register_agent", project_key=str(code), name="BlueLake", program="t", model="t")
    as_blue.set(AGENT_MAIL_PROJECT=str(code))
    lines = as_blue.am("env", "a 'slot'").out

    read_back = subprocess.run(
        ["sh", "-c", f"{lines}\n{ECHO}"], capture_output=True, text=True, check=True, env={"PATH": os.environ["PATH"]}
    )

    assert read_back.stdout.split("|")[:3] == ["a 'slot'", "BlueLake", str(code)]


def test_env_as_json_names_the_agent_as_it_is_registered(as_blue: Shell, post: Post) -> None:
    told = as_blue.am("env", "--json").json()

    assert list(told) == ["AGENT", "PROJECT", "BRANCH", "CACHE_KEY"]
    assert (told["AGENT"], told["PROJECT"], told["BRANCH"]) == ("BlueLake", post.project, "")


def test_env_holds_no_slot(as_blue: Shell, post: Post) -> None:
    as_blue.am("env", "not-held")

    taken = as_blue.call("acquire_build_slot", project_key=post.project, agent_name="RedStone", slot="not-held")
    as_blue.call("release_build_slot", project_key=post.project, agent_name="RedStone", slot="not-held")
    assert taken["granted"] is not None


def test_without_a_name_nothing_is_printed_and_the_ways_to_give_one_are_said(at_post: Shell) -> None:
    done = at_post.am("env")

    assert (done.code, done.out) == (1, "")
    assert "--agent NAME" in done.err
