"""What later mail does to what was asked before."""

from __future__ import annotations

import pytest

from mcp_agent_mail.domain.summaries.cues import Cue, CueKind
from mcp_agent_mail.domain.summaries.ledger import Ledger, stems_of


def action(text: str, *, owner: str | None = None, is_mine: bool = False, is_done: bool = False) -> Cue:
    return Cue(kind=CueKind.DONE if is_done else CueKind.ACTION, text=text, owner=owner, is_mine=is_mine)


def ledger_of(*asked: tuple[str, str | None]) -> Ledger:
    """Actions that Blue asked for, each in a message of its own, with their owners."""
    ledger = Ledger()
    for message, (text, owner) in enumerate(asked, start=1):
        ledger.add_action(action(text, owner=owner), "Blue", message)
    return ledger


def states(ledger: Ledger) -> list[tuple[str, str | None, bool]]:
    return [(one.text, one.owner, one.is_done) for one in ledger.actions]


def questions_of(text: str, asker: str = "Blue") -> Ledger:
    ledger = Ledger()
    ledger.ask(text, asker, 1)
    return ledger


def is_open(ledger: Ledger) -> bool:
    (question,) = ledger.questions
    return not question.is_answered


def reply(ledger: Ledger, first: str, *, sender: str = "Red", message: int = 2, quotes: tuple[str, ...] = ()) -> bool:
    """Whether the question is still open after it."""
    ledger.hear_reply(first, sender, quotes=quotes, message=message, body_md=first)
    return is_open(ledger)


def test_the_words_that_carry_the_meaning_are_compared_without_their_endings() -> None:
    assert stems_of("Please migrate the tables") == stems_of("migrating tables") == {"migra", "table"}


def test_an_action_is_its_senders_when_it_speaks_of_itself() -> None:
    ledger = Ledger()

    ledger.add_action(action("write the docs", is_mine=True), "Red", 1)
    ledger.add_action(action("fix the port", owner="Green", is_done=True), "Red", 1)

    assert states(ledger) == [("write the docs", "Red", False), ("fix the port", "Green", True)]


def test_the_same_text_is_the_same_action_and_its_newest_state_counts() -> None:
    ledger = ledger_of(("Write the docs!", None))

    ledger.add_action(action("write the docs", owner="Red", is_done=True), "Green", 2, is_box=True)
    ledger.add_action(action("write the docs", owner="Green"), "Green", 3, is_box=True)

    assert states(ledger) == [("Write the docs!", "Red", False)]


def test_nearly_the_same_text_is_the_same_action_but_of_checkboxes() -> None:
    ledger = ledger_of(("migrate the user tables", "Red"))

    ledger.add_action(action("migrate those user tables", owner="red"), "Blue", 2)
    ledger.add_action(action("migrate user table", owner="Red"), "Blue", 3, is_box=True)

    assert [text for text, *_ in states(ledger)] == ["migrate the user tables", "migrate user table"]


@pytest.mark.parametrize(
    ("text", "owner"),
    [("migrate the user tables", "Green"), ("migrate user views, indexes, triggers", "Red"), ("migrate", "Red")],
)
def test_an_action_of_somebody_else_or_with_few_words_in_common_is_another(text: str, owner: str) -> None:
    ledger = ledger_of(("migrate all user tables", "Red"))

    ledger.add_action(action(text, owner=owner), "Blue", 2)

    assert len(ledger.actions) == 2


@pytest.mark.parametrize("owner", [None, "red"])
def test_who_reports_most_of_an_actions_words_has_done_it(owner: str | None) -> None:
    ledger = ledger_of(("fix the port", None), ("migrate the user tables", owner))

    assert ledger.report_done("I migrated the user tables.", "Red")
    assert states(ledger)[1] == ("migrate the user tables", owner or "Red", True)
    assert not states(ledger)[0][2]


def test_the_action_that_fits_best_is_the_one_that_was_done() -> None:
    ledger = ledger_of(("migrate tables of sales", None))
    ledger.add_action(action("migrate tables of users"), "Blue", 2, is_box=True)

    assert ledger.report_done("I migrated the tables of users.", "Red")
    assert [is_done for *_, is_done in states(ledger)] == [False, True]


def test_one_word_in_common_is_enough_only_where_it_is_all() -> None:
    assert ledger_of(("deploy", None)).report_done("I deployed yesterday", "Red")
    assert not ledger_of(("deploy backend", None)).report_done("I deployed yesterday", "Red")
    assert not ledger_of(("do it", None)).report_done("I deployed yesterday", "Red")


def test_what_somebody_else_owns_is_not_done_by_a_report() -> None:
    assert not ledger_of(("migrate the user tables", "Green")).report_done("I migrated the user tables.", "Red")


def test_what_was_done_is_not_done_again() -> None:
    ledger = ledger_of(("migrate the user tables", None))
    ledger.report_done("I migrated the user tables.", "Red")

    assert not ledger.report_done("I migrated the user tables.", "Green")
    assert states(ledger)[0][1] == "Red"


@pytest.mark.parametrize("text", ["Done.", "I have finished it.", "That's merged"])
def test_a_bare_report_ticks_the_one_action_of_ones_own(text: str) -> None:
    ledger = ledger_of(("write the docs", "Red"), ("fix the port", None))

    assert ledger.report_done(text, "red")
    assert [is_done for *_, is_done in states(ledger)] == [True, False]


def test_a_bare_report_ticks_the_one_action_that_waits_for_anybody() -> None:
    ledger = ledger_of(("write the docs", "Green"), ("fix the port", None))

    assert ledger.report_done("Done.", "Red")
    assert states(ledger) == [("write the docs", "Green", False), ("fix the port", "Red", True)]


def test_a_bare_report_of_two_possible_actions_ticks_none() -> None:
    ledger = ledger_of(("write the docs", None), ("fix the port", None))

    assert not ledger.report_done("Done.", "Red")
    assert not ledger_of(("write the docs", None)).report_done("Done.", "Blue")
    assert not ledger_of(("write the docs", None)).report_done("The weather was fixed", "Red")


def test_a_question_asked_twice_is_one() -> None:
    ledger = questions_of("Which port?")

    ledger.ask("which port", "Red", 2)

    assert [(one.text, one.asker) for one in ledger.questions] == [("Which port?", "Blue")]


@pytest.mark.parametrize(
    ("text", "sender", "answers"),
    [
        ("The staging port is 8081.", "Red", True),
        ("The staging port is 8081.", "blue", False),
        ("The port is open.", "Red", False),
        ("The weather is fine.", "Red", False),
    ],
)
def test_a_statement_answers_what_it_shares_most_words_with(text: str, sender: str, *, answers: bool) -> None:
    ledger = questions_of("Which port does staging use?")

    ledger.hear(text, sender)

    assert is_open(ledger) is not answers


def test_a_long_question_needs_half_of_its_words() -> None:
    ledger = questions_of("Which port does staging offer behind nginx proxies lately?")

    ledger.hear("The staging port is 8081.", "Red")

    assert is_open(ledger)


def test_a_question_is_answered_once_and_stays_so() -> None:
    ledger = questions_of("Which port does staging use?")
    ledger.hear("The staging port is 8081.", "Red")

    ledger.hear("The staging port is 8082.", "Green")
    ledger.hear_reply("Yes", "Red", quotes=["Which port does staging use?"], message=2, body_md="Yes")

    assert not is_open(ledger)


def test_without_questions_nothing_is_answered() -> None:
    ledger = Ledger()

    ledger.hear("The staging port is 8081.", "Red")
    ledger.hear_reply("Yes.", "Red", quotes=(), message=2, body_md="Yes.")

    assert ledger.questions == []


@pytest.mark.parametrize(
    ("question", "first", "answers"),
    [
        ("Shall we ship?", "Yes, we can.", True),
        ("Which port does it use?", "8081, as the port is free.", True),
        ("Shall we use red or green?", "Green.", True),
        ("Red, what is that thing?", "A cow.", True),
        ("Who takes over?", "I do.", True),
        ("Who takes over?", "A cow.", False),
        ("What is that thing?", "I do.", False),
        ("Which port does it use?", "Which port do you mean?", False),
        ("Which port does it use?", "I don't know the port.", False),
        ("Shall we ship?", "A cow.", False),
    ],
)
def test_the_next_message_answers_a_lone_question_when_it_begins_as_an_answer(
    question: str, first: str, *, answers: bool
) -> None:
    assert reply(questions_of(question), first) is not answers


def test_only_the_next_message_of_somebody_else_is_a_reply() -> None:
    assert reply(questions_of("Shall we ship?"), "Yes.", message=3)
    assert reply(questions_of("Shall we ship?"), "Yes.", sender="BLUE")


def test_a_reply_may_quote_the_question_and_say_yes() -> None:
    assert not reply(questions_of("Shall we ship?"), "Yes.", quotes=("Shall we ship?",))


def test_of_two_questions_a_yes_answers_none() -> None:
    ledger = questions_of("Shall we ship?")
    ledger.ask("Shall we wait?", "Blue", 1)

    ledger.hear_reply("Yes.", "Red", quotes=(), message=2, body_md="Yes.")

    assert [one.is_answered for one in ledger.questions] == [False, False]


@pytest.mark.parametrize(
    ("question", "quote", "answers"),
    [
        ("Why?", "why", True),
        ("Why?", "I asked why", False),
        ("Which port does staging use?", "As I said: which port does staging use? Hm.", True),
        ("Which port does staging use?", "Which port", False),
    ],
)
def test_a_quoted_question_is_answered_whenever_the_reply_comes(question: str, quote: str, *, answers: bool) -> None:
    assert reply(questions_of(question), "8081.", message=9, quotes=(quote,)) is not answers


@pytest.mark.parametrize(
    ("first", "sender", "message", "owner"),
    [
        ("Will do.", "Red", 2, "Red"),
        ("Will do.", "blue", 2, None),
        ("Will do.", "Red", 3, None),
        ("Why me?", "Red", 2, None),
    ],
)
def test_who_says_yes_to_the_request_before_takes_it(first: str, sender: str, message: int, owner: str | None) -> None:
    ledger = ledger_of(("write the docs", None))

    ledger.accept(first, sender, message)

    assert states(ledger) == [("write the docs", owner, False)]


def test_a_yes_to_two_requests_to_an_owned_or_to_a_done_one_takes_none() -> None:
    two, owned, done = Ledger(), ledger_of(("write the docs", "Green")), ledger_of(("write the docs", None))
    for text in ("write the docs", "fix the port"):
        two.add_action(action(text), "Blue", 1)
    done.add_action(action("write the docs", is_done=True), "Blue", 1)

    for ledger in (two, owned, done):
        ledger.accept("Will do.", "Red", 2)

    assert [owner for ledger in (two, owned, done) for _, owner, _ in states(ledger)] == [None, None, "Green", None]
