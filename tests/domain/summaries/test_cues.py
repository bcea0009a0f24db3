"""What one sentence is taken for: each line of these tables is one rule."""

from __future__ import annotations

import pytest

from mcp_agent_mail.domain.summaries.cues import Cue, CueKind, is_small_talk, read_piece
from mcp_agent_mail.domain.summaries.markdown import MarkdownPiece, Section

NAMES = frozenset({"bluelake", "redstone"})
ACTION, DONE, DECISION, QUESTION = CueKind.ACTION, CueKind.DONE, CueKind.DECISION, CueKind.QUESTION
POINT, PLAIN = CueKind.POINT, CueKind.PLAIN


def read(text: str, **more: object) -> Cue:
    return read_piece(MarkdownPiece(text=text, **more), NAMES)  # type: ignore[arg-type]


@pytest.mark.parametrize(("box", "kind"), [(True, DONE), (False, ACTION)])
def test_a_checkbox_is_something_done_or_to_do_whatever_its_text_says(*, box: bool, kind: CueKind) -> None:
    assert read("Decision: use X?", box=box, section=Section.POINTS) == Cue(kind=kind, text="Decision: use X?")


@pytest.mark.parametrize(
    ("text", "cue"),
    [
        ("Decision: use X", Cue(kind=DECISION, text="use X")),
        ("Open question: which port", Cue(kind=QUESTION, text="which port")),
        ("Next steps: ship it", Cue(kind=ACTION, text="ship it")),
        ("TODO (RedStone): ship it", Cue(kind=ACTION, text="ship it", owner="RedStone")),
        ("TODO [@Somebody]: ship it", Cue(kind=ACTION, text="ship it", owner="Somebody")),
        ("TODO: @RedStone: ship it", Cue(kind=ACTION, text="ship it", owner="RedStone")),
        ("Done: the docs", Cue(kind=DONE, text="the docs")),
        ("Task 2: the docs", Cue(kind=ACTION, text="the docs")),
        ("Note: the port is 8081", Cue(kind=POINT, text="Note: the port is 8081")),
        ("Colour: blue", Cue(kind=PLAIN, text="Colour: blue")),
    ],
)
def test_a_label_says_what_follows_it(text: str, cue: Cue) -> None:
    assert read(text) == cue


@pytest.mark.parametrize(
    ("section", "cue"),
    [
        (Section.DECISIONS, Cue(kind=DECISION, text="RedStone: the docs")),
        (Section.QUESTIONS, Cue(kind=QUESTION, text="RedStone: the docs")),
        (Section.POINTS, Cue(kind=POINT, text="RedStone: the docs")),
        (Section.ACTIONS, Cue(kind=ACTION, text="the docs", owner="RedStone")),
        (Section.DONE, Cue(kind=DONE, text="the docs", owner="RedStone")),
    ],
)
def test_a_heading_says_what_stands_below_it(section: Section, cue: Cue) -> None:
    assert read("RedStone: the docs", section=section) == cue


def test_a_label_weighs_more_than_the_heading_above() -> None:
    assert read("Decision: use X", section=Section.ACTIONS).kind is DECISION


@pytest.mark.parametrize(
    ("text", "left", "owner"),
    [
        ("write the docs (RedStone)", "write the docs", "RedStone"),
        ("write the docs (owner: redstone).", "write the docs", "redstone"),
        ("write the docs -> @Stranger", "write the docs", "Stranger"),
        ("write the docs (later)", "write the docs (later)", None),
        ("write the docs (you)", "write the docs (you)", None),
        ("@RedStone, write the docs", "write the docs", "RedStone"),
        ("RedStone: write the docs", "write the docs", "RedStone"),
        ("Later: write the docs", "Later: write the docs", None),
        ("@someone, write the docs", "@someone, write the docs", None),
        ("RedStone will write the docs", "write the docs", "RedStone"),
        ("Nobody will write the docs", "Nobody will write the docs", None),
    ],
)
def test_the_owner_of_an_action_is_taken_out_of_its_text(text: str, left: str, owner: str | None) -> None:
    assert read(text, box=False) == Cue(kind=ACTION, text=left, owner=owner)


def test_who_speaks_of_itself_owns_what_it_says() -> None:
    assert read("I'll write the docs", box=False) == Cue(kind=ACTION, text="I'll write the docs", is_mine=True)


@pytest.mark.parametrize(
    ("text", "cue"),
    [
        ("Please write the docs.", Cue(kind=ACTION, text="Please write the docs.")),
        ("RedStone: please write the docs.", Cue(kind=ACTION, text="please write the docs.", owner="RedStone")),
        ("@Stranger can you write them?", Cue(kind=ACTION, text="can you write them?", owner="Stranger")),
        ("RedStone will write the docs.", Cue(kind=ACTION, text="write the docs.", owner="RedStone")),
        ("RedStone will write the docs?", Cue(kind=QUESTION, text="RedStone will write the docs?")),
        ("The tests will pass.", Cue(kind=PLAIN, text="The tests will pass.")),
        ("Please let me know.", Cue(kind=PLAIN, text="Please let me know.")),
        ("Sure, I'll write the docs.", Cue(kind=ACTION, text="write the docs.", is_mine=True)),
        ("I merged it.", Cue(kind=DONE, text="I merged it.", is_mine=True)),
        ("I have not merged it.", Cue(kind=PLAIN, text="I have not merged it.")),
        ("We agreed on X.", Cue(kind=DECISION, text="We agreed on X.")),
        ("I propose that we use X.", Cue(kind=PLAIN, text="I propose that we use X.")),
        ("Which port?", Cue(kind=QUESTION, text="Which port?")),
        ("I wonder which port it is.", Cue(kind=QUESTION, text="I wonder which port it is.")),
        ("Thoughts?", Cue(kind=PLAIN, text="Thoughts?")),
        ("It fails because of the port.", Cue(kind=POINT, text="It fails because of the port.")),
        ("The sky is blue.", Cue(kind=PLAIN, text="The sky is blue.")),
    ],
)
def test_a_sentence_is_what_its_words_say(text: str, cue: Cue) -> None:
    assert read(text) == cue


def test_an_interjection_goes_unless_there_is_nothing_else() -> None:
    assert read("Ok, so the sky above our staging server is blue.").text == "the sky above our staging server is blue."
    assert read("Thanks, great.").text == "Thanks, great."


@pytest.mark.parametrize(
    ("text", "is_it"), [("Thanks!", True), ("ok", True), ("Thanks for the port", True), ("The port is 8081", False)]
)
def test_small_talk_is_known(text: str, *, is_it: bool) -> None:
    assert is_small_talk(text) is is_it
