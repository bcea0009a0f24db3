"""What each question of an agent's shell is answered, by a real server."""

from __future__ import annotations

import json
import time

import pytest

from mcp_agent_mail.cli.robot import answers
from mcp_agent_mail.cli.robot.line import MAX_BYTES
from tests.cli.robot.conftest import AGENT, PEER, RobotPost
from tests.cli.shell import Shell
from tests.server.jwt.issuing import AUDIENCE, ISSUER, SECRET, claims, new_key, signed


def unread(post: RobotPost) -> int:
    with post.server.connect() as connection:
        counts = connection.call("fetch_inbox", project_key=post.project, agent_name=AGENT, limit=0)
    return int(counts["unread_count"])


def test_status_tells_of_the_server_the_mail_and_the_reservations(at_shell: Shell, robot_post: RobotPost) -> None:
    robot_post.send("Plan", importance="urgent", ack_required=True)
    with robot_post.server.connect() as connection:
        for name, path in ((AGENT, "src/**"), (PEER, "docs/**"), (PEER, "tests/**")):
            given = {"agent_name": name, "paths": [path]}
            connection.call("file_reservation_paths", project_key=robot_post.project, **given)

    done = at_shell.am("robot", "status")

    answer = done.json()
    assert (done.code, done.err) == (0, "")
    assert answer.pop("version")
    assert answer.pop("pending_events") >= 0
    assert answer == {
        "server": "ok",
        "agent": AGENT,
        "project": robot_post.project,
        "total": 1,
        "unread_count": 1,
        "ack_pending": 1,
        "urgent_unread": 1,
        "reservations": {"own": 1, "others": 2},
    }


def test_status_counts_all_reservations_or_says_that_there_are_more(
    at_shell: Shell, robot_post: RobotPost, monkeypatch: pytest.MonkeyPatch
) -> None:
    with robot_post.server.connect() as connection:
        for name, folders in ((PEER, 3), (AGENT, 2)):
            for folder in range(folders):
                paths = [f"{name}/{folder}/{number}.py" for number in range(50)]
                given = {"agent_name": name, "paths": paths}
                connection.call("file_reservation_paths", project_key=robot_post.project, **given)

    at_once = at_shell.am("robot", "status").json()["reservations"]
    monkeypatch.setattr(answers, "_COUNTED_AT_ONCE", 50)
    in_parts = at_shell.am("robot", "status").json()["reservations"]
    monkeypatch.setattr(answers, "_COUNTS", 4)
    bounded = at_shell.am("robot", "status").json()["reservations"]

    assert at_once == in_parts == {"own": 100, "others": 150}
    assert bounded == {"own": 50, "others": 150, "more": True}


def test_status_says_that_no_server_runs(at_shell: Shell, robot_post: RobotPost) -> None:
    robot_post.server.stop()

    done = at_shell.am("robot", "status")

    assert done.code == 0
    assert done.json()["server"] == "none"


def test_whoami_says_whether_a_token_proved_it(at_shell: Shell) -> None:
    proven = at_shell.am("robot", "whoami").json()
    at_shell.unset("AGENT_MAIL_AGENT_TOKEN")
    named = at_shell.am("robot", "whoami").json()

    assert proven == {**named, "verified": True}
    assert named["verified"] is False
    assert (named["agent"], named["program"], named["model"]) == (AGENT, "tester", "scripted")


@pytest.mark.parametrize("mode", ["open", "strict"])
def test_verified_is_who_the_server_says_is_proven(mode: str, at_shell: Shell, robot_post: RobotPost) -> None:
    at_shell.unset("AGENT_MAIL_AGENT_TOKEN")
    told = {}
    with robot_post.served_with(AGENT_AUTH=mode) as post:
        shown = {
            "none": {},
            "own": {"AGENT_MAIL_AGENT_TOKEN": post.token},
            "own as bearer": {"AGENT_MAIL_TOKEN": post.token},
            "issued": {"AGENT_MAIL_TOKEN": post.issue(AGENT)},
            "issued and own": {"AGENT_MAIL_TOKEN": post.issue(AGENT), "AGENT_MAIL_AGENT_TOKEN": post.token},
            "issued and another's": {"AGENT_MAIL_TOKEN": post.issue(AGENT), "AGENT_MAIL_AGENT_TOKEN": post.peers_token},
            "issued to nobody": {"AGENT_MAIL_TOKEN": post.issue(None)},
            "an operator's": {"AGENT_MAIL_TOKEN": post.issue(None, role="operator")},
            "an operator's and own": {
                "AGENT_MAIL_TOKEN": post.issue(None, role="operator"),
                "AGENT_MAIL_AGENT_TOKEN": post.token,
            },
            "issued to another": {"AGENT_MAIL_TOKEN": post.issue(PEER)},
            "issued, in the wrong place": {"AGENT_MAIL_AGENT_TOKEN": post.issue(AGENT)},
            "another's": {"AGENT_MAIL_AGENT_TOKEN": post.peers_token},
            "wrong": {"AGENT_MAIL_AGENT_TOKEN": "amt_wrong"},
            "wrong bearer": {"AGENT_MAIL_TOKEN": "wrong"},
            "wrong issued": {"AGENT_MAIL_TOKEN": "amk_wrong"},
        }
        for case, settings in shown.items():
            at_shell.set(**settings)
            answer = at_shell.am("robot", "whoami").json()
            told[case] = answer["error"]["type"] if "error" in answer else answer["verified"]
            at_shell.unset(*settings)

    unproven = False if mode == "open" else "AUTHENTICATION_REQUIRED"
    assert told == {
        "none": unproven,
        "own": True,
        "own as bearer": True,
        "issued": True,
        "issued and own": True,
        "issued and another's": "PERMISSION_DENIED",
        "issued to nobody": unproven,
        "an operator's": "PERMISSION_DENIED",
        "an operator's and own": True,
        "issued to another": "PERMISSION_DENIED",
        "issued, in the wrong place": "PERMISSION_DENIED",
        "another's": "PERMISSION_DENIED",
        "wrong": "PERMISSION_DENIED",
        "wrong bearer": "PERMISSION_DENIED",
        "wrong issued": "AUTHENTICATION_REQUIRED",
    }


def test_a_jwt_proves_the_agents_that_it_names(at_shell: Shell, robot_post: RobotPost) -> None:
    at_shell.unset("AGENT_MAIL_AGENT_TOKEN")
    jwts = {"HTTP_JWT_ENABLED": "true", "HTTP_JWT_AUDIENCE": AUDIENCE, "HTTP_JWT_ISSUER": ISSUER}
    now_s = int(time.time())
    told = {}
    with robot_post.served_with(HTTP_JWT_SECRET=SECRET, **jwts):
        for agents in (None, AGENT, [PEER, AGENT], PEER):
            said = claims(role="writer", agent=agents, iat=now_s, exp=now_s + 900)
            at_shell.set(AGENT_MAIL_TOKEN=signed(said, key=new_key("HS256")))
            answer = at_shell.am("robot", "whoami").json()
            told[str(agents)] = answer["error"]["type"] if "error" in answer else answer["verified"]

    assert told == {"None": False, AGENT: True, str([PEER, AGENT]): True, PEER: "PERMISSION_DENIED"}


def test_nothing_is_asked_with_the_operators_right(at_shell: Shell, robot_post: RobotPost) -> None:
    robot_post.send("Hello")
    at_shell.unset("AGENT_MAIL_AGENT_TOKEN")
    now_s = int(time.time())
    jwt = signed(claims(role="operator", agent=None, iat=now_s, exp=now_s + 900), key=new_key("HS256"))
    jwts = {"HTTP_JWT_ENABLED": "true", "HTTP_JWT_AUDIENCE": AUDIENCE, "HTTP_JWT_ISSUER": ISSUER}
    refused = []
    with robot_post.served_with(HTTP_JWT_SECRET=SECRET, AGENT_AUTH="strict", **jwts) as post:
        for bearer in (jwt, post.issue(None, role="operator")):
            at_shell.set(AGENT_MAIL_TOKEN=bearer)
            asked = (("status",), ("inbox",), ("thread", "1"), ("search", "Hello"), ("reservations",))
            refused += [at_shell.am("robot", *words) for words in asked]

    errors = [ended.json()["error"] for ended in refused]
    assert {ended.code for ended in refused} == {1}
    assert {error["message"].partition(":")[0] for error in errors} == {
        "AGENT_MAIL_TOKEN gives the operator's right, which proves no agent"
    }
    assert f"am token create --agent {AGENT}" in errors[0]["hint"]


def test_the_inbox_is_unread_mail_and_stays_unread(at_shell: Shell, robot_post: RobotPost) -> None:
    first = robot_post.send("Older")
    second = robot_post.send("Newer", "the text", importance="high", thread_id="plan")
    with robot_post.server.connect() as connection:
        given = {"agent_name": AGENT, "message_id": first}
        connection.call("mark_message_read", project_key=robot_post.project, **given)

    new = at_shell.am("robot", "inbox").json()
    whole = at_shell.am("robot", "inbox", "--all", "--bodies").json()

    (item,) = new["messages"]
    assert item.pop("age_s") >= 0
    assert item == {"id": second, "from": PEER, "subject": "Newer", "thread_id": "plan", "importance": "high"}
    assert [(one["id"], one.get("unread"), one["body_md"]) for one in whole["messages"]] == [
        (second, True, "the text"),
        (first, None, "text"),
    ]
    assert "more" not in new
    assert unread(robot_post) == 1


def test_urgent_mail_alone_is_counted_for_itself(at_shell: Shell, robot_post: RobotPost) -> None:
    robot_post.send("Plain")
    urgent = [robot_post.send("Now " * 60, importance="urgent") for _ in range(12)]

    found = at_shell.am("robot", "inbox", "--urgent").json()

    shown = [one["id"] for one in found["messages"]]
    assert shown == urgent[::-1][: len(shown)]
    assert found["more"] == len(urgent) - len(shown) > 0


@pytest.mark.parametrize("form", ["json", "toon"])
def test_many_letters_are_two_kibibytes_unless_a_number_is_given(
    form: str, at_shell: Shell, robot_post: RobotPost
) -> None:
    for number in range(60):
        robot_post.send(f"Number {number}", "x" * 100)

    done = at_shell.am("robot", "inbox", "--bodies", "--format", form)
    whole = at_shell.am("robot", "inbox", "--bodies", "--limit", "60").json()
    some = at_shell.am("robot", "inbox", "--limit", "3").json()

    assert len(done.out.encode()) <= MAX_BYTES
    assert "more" in done.out
    assert [len(whole["messages"]), whole.get("more")] == [60, None]
    assert [len(some["messages"]), some["more"]] == [3, 57]


def test_a_thread_is_read_page_by_page_and_a_long_text_whole(at_shell: Shell, robot_post: RobotPost) -> None:
    long = "word " * 2_000
    ids = [robot_post.send("One", "short", thread_id="plan"), robot_post.send("Two", long, thread_id="plan")]
    ids.append(robot_post.send("Three", "end", thread_id="plan"))

    first = at_shell.am("robot", "thread", "plan").json()
    cut = at_shell.am("robot", "thread", "plan", "--after", str(first["next_after_id"])).json()
    whole = at_shell.am("robot", "thread", "plan", "--after", str(ids[0]), "--limit", "1").json()
    last = at_shell.am("robot", "thread", "plan", "--after", str(ids[1]), "--heads").json()

    assert [[one["id"] for one in page["messages"]] for page in (first, cut, last)] == [[one] for one in ids]
    assert (first["more"], first["next_after_id"], first["messages"][0]["body_md"]) == (2, ids[0], "short")
    assert cut["cut"] is True
    assert cut["messages"][0]["body_md"].startswith("word word")
    assert whole["messages"][0]["body_md"] == long
    assert "body_md" not in last["messages"][0]
    assert unread(robot_post) == 3


def test_a_message_is_read_by_its_id(at_shell: Shell, robot_post: RobotPost) -> None:
    message_id = robot_post.send("Alone", "the whole text")

    found = at_shell.am("robot", "thread", str(message_id)).json()

    assert [one["body_md"] for one in found["messages"]] == ["the whole text"]


def test_long_lists_of_recipients_are_counted(at_shell: Shell, robot_post: RobotPost) -> None:
    names = [f"Agent{number}" for number in range(14)]
    with robot_post.server.connect() as connection:
        for name in names:
            given = {"name": name, "program": "tester", "model": "scripted"}
            connection.call("register_agent", project_key=robot_post.project, **given)
    robot_post.send("All", thread_id="all", cc=names)

    (message,) = at_shell.am("robot", "thread", "all").json()["messages"]

    assert message["to"] == [AGENT, *names[:9]]
    assert message["more_recipients"] == 5


def test_search_finds_by_words(at_shell: Shell, robot_post: RobotPost) -> None:
    message_id = robot_post.send("Parser", "the lexer waits")
    robot_post.send("Other")

    found = at_shell.am("robot", "search", "lexer").json()

    (item,) = found["messages"]
    assert (item["id"], item["from"], item["subject"]) == (message_id, PEER, "Parser")
    assert "lexer" in item["snippet"]


def test_own_reservations_come_first(at_shell: Shell, robot_post: RobotPost) -> None:
    with robot_post.server.connect() as connection:
        for name, path, exclusive in ((PEER, "docs/**", False), (AGENT, "src/**", True)):
            given = {"agent_name": name, "paths": [path], "exclusive": exclusive, "reason": "work"}
            connection.call("file_reservation_paths", project_key=robot_post.project, **given)

    both = at_shell.am("robot", "reservations").json()["reservations"]
    mine = at_shell.am("robot", "reservations", "--mine").json()["reservations"]

    assert [(one.get("mine"), one.get("agent"), one["path_pattern"], one.get("shared")) for one in both] == [
        (True, None, "src/**", None),
        (None, PEER, "docs/**", True),
    ]
    assert [one["id"] for one in mine] == [both[0]["id"]]
    assert 3_000 < mine[0]["expires_in_s"] <= 3_600


def test_an_answer_is_one_line(at_shell: Shell, robot_post: RobotPost) -> None:
    robot_post.send("A\u2028B", "one\ntwo\r\nthree", thread_id="lines")

    asked = ("status", "whoami", "inbox", "reservations", "thread lines", "search one")
    texts = [at_shell.am("robot", *one.split()).out for one in asked]

    assert [len(text.splitlines()) for text in texts] == [1] * len(asked)
    assert all(isinstance(json.loads(text), dict) for text in texts)


def test_a_message_leads_to_the_thread_that_it_is_in(at_shell: Shell, robot_post: RobotPost) -> None:
    first = robot_post.send("One", thread_id="plan")
    second = robot_post.send("Two", thread_id="plan")

    found = at_shell.am("robot", "thread", str(second)).json()
    behind = at_shell.am("robot", "thread", str(second), "--after", str(first)).json()

    assert (found["thread_id"], [one["id"] for one in found["messages"]]) == ("plan", [first, second])
    assert (behind["thread_id"], [one["id"] for one in behind["messages"]]) == ("plan", [second])


def test_a_thread_called_like_a_message_stays_itself(at_shell: Shell, robot_post: RobotPost) -> None:
    alone = robot_post.send("Elsewhere", thread_id="plan")
    there = robot_post.send("In it", thread_id=str(alone))

    found = at_shell.am("robot", "thread", str(alone)).json()

    assert found["thread_id"] == str(alone)
    assert there in [one["id"] for one in found["messages"]]
