from __future__ import annotations

import pytest

from tests.cli.shell import Shell


def test_a_thread_is_summarized_with_who_takes_part(either: Shell) -> None:
    done = either.am("mail", "summary", "parser", "--no-llm")
    as_json = either.am("mail", "summary", "parser", "--no-llm", "--json").json()

    told = dict(done.lines())
    # Other tests answer in the same thread, before this one or after it.
    assert (done.code, told["thread"], int(told["messages"]) >= 2) == (0, "parser", True)
    assert set(told["participants"].split(", ")) >= {"BlueLake", "RedStone"}
    assert (as_json["thread_id"], as_json["summary"]["total_messages"]) == ("parser", int(told["messages"]))


def test_several_threads_are_told_one_after_the_other(either: Shell) -> None:
    either.call(
        "send_message",
        project_key=either.context().settings.agent_mail_project,
        sender_name="BlueLake",
        to=["RedStone"],
        subject="Decided",
        body_md="DECISION: one lexer.",
        thread_id="lexer",
    )

    lines = either.am("mail", "summary", "parser,lexer", "--no-llm").lines()

    assert [value for name, value in lines if name == "thread"] == ["parser", "lexer"]
    assert any(name == "decision" and "one lexer" in value for name, value in lines)


def test_a_projects_summary_is_stored_and_shown_again(either: Shell) -> None:
    made = either.am("mail", "summary", "--no-llm", "--json")
    stored = either.am("mail", "summary", "--stored", "--json")
    shown = either.am("mail", "summary", "--stored")

    assert (made.code, stored.code) == (0, 0)
    assert made.json()["id"] in [one["id"] for one in stored.json()]
    assert {"from", "to", "made", "messages"} <= {line[0] for line in shown.lines()}


def test_nothing_stored_is_said(either: Shell) -> None:
    either.call("ensure_project", human_key="/code/quiet")

    done = either.am("mail", "summary", "--stored", "--project", "/code/quiet")

    assert (done.code, done.out) == (0, "No summary was stored in that time.\n")


def test_a_thread_that_nobody_wrote_in_has_no_messages(either: Shell) -> None:
    done = either.am("mail", "summary", "no-such-thread", "--no-llm")

    assert (done.code, dict(done.lines())["messages"]) == (0, "0")


@pytest.mark.parametrize("words", [("two words",), ("--stored",), ()], ids=["thread", "stored", "recent"])
def test_what_cannot_be_is_refused(either: Shell, words: tuple[str, ...]) -> None:
    done = either.am("mail", "summary", *words, "--project", "/code/nowhere")

    assert (done.code, done.out, done.err.startswith("Error (")) == (1, "", True)


def test_hours_are_of_a_projects_summary(shell: Shell) -> None:
    done = shell.am("mail", "summary", "parser", "--hours", "2")

    assert (done.code, "--hours and --stored" in done.err) == (2, True)


def test_a_message_leads_to_the_summary_of_the_thread_that_it_is_in(either: Shell) -> None:
    found = either.am("mail", "thread", "parser", "--json").json()
    last = found["messages"][-1]["id"]

    alone = either.am("mail", "summary", str(last), "--no-llm", "--json").json()
    both = either.am("mail", "summary", f"{last}, parser", "--no-llm", "--json").json()

    assert (alone["thread_id"], alone["summary"]["total_messages"]) == ("parser", found["total"])
    assert both["thread_id"] == "parser"
