from __future__ import annotations

from tests.cli.shell import Shell


def send(shell: Shell, subject: str, **more: object) -> int:
    answer = shell.call(
        "send_message",
        project_key=shell.context().settings.agent_mail_project,
        sender_name="BlueLake",
        to=["RedStone"],
        subject=subject,
        body_md="Text.",
        **more,
    )
    return int(answer["deliveries"][0]["payload"]["id"])


def test_a_topic_is_its_mail_newest_first(either: Shell) -> None:
    ids = [send(either, subject, topic="release") for subject in ("One", "Two")]
    send(either, "Three", topic="another")

    listed = either.am("mail", "topic", "Release")
    newest = either.am("mail", "topic", "release", "--limit", "1", "--json").json()

    assert (listed.code, [(line[0], line[2], line[5]) for line in listed.lines()]) == (
        0,
        [(str(ids[1]), "BlueLake", "Two"), (str(ids[0]), "BlueLake", "One")],
    )
    assert [one["subject"] for one in newest] == ["Two"]


def test_a_topic_without_mail_is_no_line(either: Shell) -> None:
    done = either.am("mail", "topic", "nothing-of-it")

    assert (done.code, done.out) == (0, "")


def test_what_can_be_no_topic_is_refused(either: Shell) -> None:
    done = either.am("mail", "topic", "two words")

    assert (done.code, done.err.startswith("Error (INVALID_INPUT)")) == (1, True)


def test_threads_are_listed_by_their_newest_mail(either: Shell) -> None:
    send(either, "First", thread_id="older")
    send(either, "Second", thread_id="newer")
    send(either, "Third", thread_id="older")

    listed = either.am("mail", "threads", "--limit", "2")
    as_json = either.am("mail", "threads", "--limit", "2", "--json").json()

    assert [(line[0], line[1], line[3], line[4]) for line in listed.lines()] == [
        ("older", "2", "BlueLake", "First"),
        ("newer", "1", "BlueLake", "Second"),
    ]
    assert [one["thread_id"] for one in as_json["threads"]] == ["older", "newer"]


def test_a_message_leads_to_the_thread_that_it_is_in(either: Shell) -> None:
    ids = [send(either, subject, thread_id="whole") for subject in ("One", "Two")]

    found = either.am("mail", "thread", str(ids[1]), "--json").json()

    assert (found["thread_id"], [one["id"] for one in found["messages"]]) == ("whole", ids)


def test_a_thread_called_like_a_message_stays_itself(either: Shell) -> None:
    other = send(either, "Elsewhere", thread_id="whole")
    own = send(either, "Here", thread_id=str(other))

    found = either.am("mail", "thread", str(other), "--json").json()

    assert found["thread_id"] == str(other)
    assert own in [one["id"] for one in found["messages"]]


def test_a_message_of_no_thread_is_shown_by_itself(either: Shell) -> None:
    alone = send(either, "Alone")

    found = either.am("mail", "thread", str(alone), "--json").json()

    assert [one["id"] for one in found["messages"]] == [alone]
