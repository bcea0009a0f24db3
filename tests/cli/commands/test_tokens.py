from __future__ import annotations

from mcp_agent_mail.cli.commands.tokens import not_rebuilt_rows
from mcp_agent_mail.features.recovery.rebuild import NOT_REBUILT
from tests.cli.conftest import Post
from tests.cli.shell import Shell


def test_a_lost_token_is_replaced_and_the_old_one_is_void(at_post: Shell, post: Post) -> None:
    with post.server.connect() as connection:
        connection.call("register_agent", project_key=post.project, name="LostKey", program="tester", model="scripted")
        status = {"project_key": post.project, "agent_name": "LostKey", "status": "busy"}

        token = at_post.am("token", "reissue", "LostKey", "--json").json()["registration_token"]
        again = dict(at_post.am("token", "reissue", "LostKey").lines())

        old = connection.rpc("set_status", status, **{"X-Agent-Token": token})
        new = connection.rpc("set_status", status, **{"X-Agent-Token": again["registration_token"]})
    assert again["agent"] == "LostKey"
    assert (old.error_type, new.error_type) == ("PERMISSION_DENIED", "OK")


def test_the_next_command_for_tokens_is_told_where_none_came_along() -> None:
    named, step = not_rebuilt_rows(NOT_REBUILT)

    assert named == ("not rebuilt", "; ".join(NOT_REBUILT))
    assert step[0] == "next"
    assert [name for name, _ in not_rebuilt_rows(["windows"])] == ["not rebuilt"]
    assert not_rebuilt_rows(()) == []
