"""Below a project's folder one stands in that project; in a Git work tree of its own one does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Post
from tests.cli.shell import Shell


@pytest.fixture
def below(at_post: Shell, post: Post) -> Shell:
    at_post.unset("AGENT_MAIL_PROJECT")
    folder = Path(post.project) / "src" / "lexer"
    folder.mkdir(parents=True, exist_ok=True)
    at_post.go_to(folder)
    return at_post


def test_a_folder_below_a_projects_is_in_it_for_reads_and_writes(below: Shell, post: Post) -> None:
    inbox = below.am("mail", "inbox", "RedStone", "--json").json()
    sent = below.am("mail", "send", "--to", "RedStone", "From below", "--json").json()
    agents = below.am("agents", "list")

    assert inbox["project"] == sent["deliveries"][0]["project"] == post.project
    assert "BlueLake" in agents.out


def test_a_git_work_tree_below_it_is_not(below: Shell, post: Post) -> None:
    own = Path(post.project) / "vendored"
    (own / ".git").mkdir(parents=True, exist_ok=True)
    below.go_to(own)

    done = below.am("agents", "list")

    assert (done.code, "Unknown project" in done.err) == (1, True)


def test_a_folder_that_was_named_is_the_one_that_is_meant(below: Shell, post: Post) -> None:
    done = below.am("agents", "list", "--project", f"{post.project}/src")

    assert (done.code, "Did you mean" in done.err) == (1, True)
