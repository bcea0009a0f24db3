from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.cli.build_slots.context import NobodyNamed, SlotContext, cache_key, look_at_place, variables
from mcp_agent_mail.cli.gateway.port import open_gateway
from tests.cli.conftest import Post
from tests.cli.shell import Shell
from tests.workspace.code_repository import begin, git


def place_of(shell: Shell, project: str | None = None, agent: str | None = None) -> SlotContext:
    return look_at_place(project, agent, shell.context())


def test_who_runs_a_build_is_the_nearest_name_that_is_given(shell: Shell, tmp_path: Path) -> None:
    code = begin(tmp_path / "code")
    shell.go_to(code)

    shell.set(GIT_AUTHOR_NAME="Author")
    names = [place_of(shell).agent]
    git(code, "config", "agent-mail.name", "Configured")
    names.append(place_of(shell).agent)
    shell.set(AGENT_NAME="Environment")
    names += [place_of(shell).agent, place_of(shell, agent="Option").agent]

    assert names == ["Author", "Configured", "Environment", "Option"]


def test_where_nobody_is_named_the_ways_to_name_one_are_told(shell: Shell) -> None:
    with pytest.raises(NobodyNamed) as nobody:
        place_of(shell)

    assert "--agent NAME" in nobody.value.hint


def test_which_project_is_the_nearest_that_is_given(shell: Shell, tmp_path: Path) -> None:
    code = begin(tmp_path / "code")
    shell.go_to(code)
    shell.set(AGENT_NAME="BlueLake")

    keys = [place_of(shell).project_key]
    git(code, "config", "agent-mail.project", "/code/configured")
    keys.append(place_of(shell).project_key)
    shell.set(AGENT_MAIL_PROJECT="/code/environment")
    keys += [place_of(shell).project_key, place_of(shell, project="/code/option").project_key]

    assert keys == [str(code), "/code/configured", "/code/environment", "/code/option"]


def test_the_branch_is_the_work_trees_and_none_outside(shell: Shell, tmp_path: Path) -> None:
    shell.set(AGENT_NAME="BlueLake")
    outside = place_of(shell).branch
    shell.go_to(begin(tmp_path / "code"))

    assert (outside, place_of(shell).branch) == (None, "main")


def test_variables_name_everything_as_it_is_registered(at_post: Shell, post: Post) -> None:
    place = SlotContext(project_key=post.project, agent="bluelake", branch="b/1")
    with open_gateway(at_post.context()) as gateway:
        told = variables(gateway, place, None)
        named = variables(gateway, SlotContext(project_key=post.project, agent="BlueLake", branch=None), "build")
        store_id = gateway.call("health_check", {})["store"]["store_id"]

    assert told == {
        "AGENT": "BlueLake",
        "PROJECT": post.project,
        "BRANCH": "b/1",
        "CACHE_KEY": f"am.{store_id}.1.BlueLake.b%2F1",
    }
    assert (named["AM_SLOT"], named["BRANCH"]) == ("build", "")
    assert named["CACHE_KEY"] == f"am.{store_id}.1.BlueLake.~detached"


def test_a_cache_key_is_told_apart_by_each_of_its_parts() -> None:
    keys = {
        cache_key(store, {"id": number}, agent, branch)
        for store in ("s1", "s2")
        for number in (1, 11)
        for agent in ("A", "A-b")
        for branch in ("main", "b.main", "feature/x", "feature%2Fx", "detached", None)
    }

    assert len(keys) == 2 * 2 * 2 * 6
    assert not any("/" in key for key in keys)
