from __future__ import annotations

from tests.cli.shell import Shell


def test_am_mail_alone_is_the_inbox_with_its_options(at_post: Shell) -> None:
    alone = at_post.am("mail", "--limit", "1", "--json").json()

    assert (alone["agent"], alone["count"]) == ("Human", 1)


def test_help_is_the_groups(shell: Shell) -> None:
    assert "Commands:" in shell.am("mail", "--help").out
