"""Agents' names: fit, reserved, generated."""

from __future__ import annotations

import random
import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.domain.identity.name_words import ADJECTIVES, NOUNS
from mcp_agent_mail.domain.identity.names import (
    KnownNames,
    NameEnforcement,
    NamesExhausted,
    NameTaken,
    UnfitName,
    candidate_names,
    first_free,
    flaw_of,
    is_generated_form,
    mistaken_for,
    name_from_hint,
    name_key,
    name_to_register,
    nearest,
    recipient_name,
    require_fit,
)

NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,63}", fullmatch=True)
PAIRS = [adjective + noun for adjective, noun in product(ADJECTIVES, NOUNS)]

# Parts of words that must appear nowhere in a generated name, not even across its two words.
OFFENSIVE = re.compile(
    "anal|anus|arse|boob|cock|coon|crap|cum|cunt|damn|dead|dick|dyke|fag|fairy|fuck|gook|hate|kike|kill|kkk|nazi|nigg|"
    "paki|pansy|penis|perv|piss|porn|pussy|rape|sex|shag|shit|slut|spic|titty|turd|vagin|wank|whor"
)
# Words that are fine alone and a slogan, a slur or worse beside some other one.
NEVER_IN_LISTS = (
    "black brown white yellow hard stiff wet moist hot naked bare thick tiny little big huge man woman boy girl monkey "
    "ape pig dog rat snake beaver wood pole shaft rod power pride dawn sun star cross order guard front army party "
    "wolf eagle panther rose hood hole crack ball balls nut nuts cherry melon shower bush root"
).split()


def test_there_are_at_least_forty_thousand_generated_names() -> None:
    assert len({pair.lower() for pair in PAIRS}) == len(ADJECTIVES) * len(NOUNS) >= 40_000


def test_no_generated_name_offends() -> None:
    assert [pair for pair in PAIRS if OFFENSIVE.search(pair.lower())] == []
    assert {word.lower() for word in (*ADJECTIVES, *NOUNS)} & set(NEVER_IN_LISTS) == set()


def test_every_generated_name_is_fit_and_known_as_generated() -> None:
    assert [pair for pair in PAIRS if flaw_of(pair) is not None or not is_generated_form(pair)] == []


@given(NAMES)
def test_a_name_of_the_pattern_is_fit_or_refused_for_what_it_names(name: str) -> None:
    flaw = flaw_of(name)

    assert flaw is None or flaw.split()[0] in ("is", "names")
    assert flaw is None or "letter followed" not in flaw


@given(st.text(max_size=80).filter(lambda text: not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,63}", text)))
def test_a_text_beyond_the_pattern_is_never_a_name(text: str) -> None:
    assert flaw_of(text) == "is not a letter followed by at most 63 letters, digits, `-` or `_`"


@pytest.mark.parametrize(
    "name", ["all", "Everyone", "BROADCAST", "human", "Human", "HumanOverseer", "human-overseer", "System", "Sys_tem"]
)
def test_reserved_words_are_refused(name: str) -> None:
    with pytest.raises(UnfitName, match="reserved word"):
        require_fit(name)


@pytest.mark.parametrize("name", ["claude", "Claude-Code", "codex", "codex-cli", "Cursor", "gemini_cli", "copilot"])
def test_names_of_programs_are_refused(name: str) -> None:
    with pytest.raises(UnfitName, match="names a program"):
        require_fit(name)


@pytest.mark.parametrize(
    "name",
    [
        "gpt-5",
        "GPT5-codex",
        "opus-4-1",
        "claude-opus-4-5-20251101",
        "o3",
        "o4-mini",
        "sonnet",
        "llama3-70b",
        "nova-pro",
    ],
)
def test_names_of_models_are_refused(name: str) -> None:
    with pytest.raises(UnfitName, match="names a model"):
        require_fit(name)


@pytest.mark.parametrize("name", ["BlueLake", "api-reviewer", "Nova", "claude-reviewer", "x", "A" * 64, "planner_2"])
def test_other_names_are_fit(name: str) -> None:
    assert require_fit(f" {name} ") == name


def test_the_callers_own_program_and_model_are_no_names() -> None:
    with pytest.raises(UnfitName, match="names a program"):
        require_fit("MyTool", program="mytool", model="m1")
    with pytest.raises(UnfitName, match="names a model"):
        require_fit("m1", program="mytool", model="M1")


def test_a_hostile_name_is_judged_at_once() -> None:
    for name in ("claude" + "1b" * 28 + "z", "claude" + "1" * 57 + "z", "claude" + "k1k1" * 14 + "-z"):
        flaw_of(name[:64])  # a pattern that tries its ways over and over does not come back from these


@given(NAMES)
def test_names_are_compared_ignoring_case_and_outer_blanks(name: str) -> None:
    assert name_key(f" {name.upper()}\n") == name_key(name)


@pytest.mark.parametrize(
    ("given_name", "name"), [("HumanOverseer", "Human"), ("human", "Human"), (" BlueLake ", "BlueLake")]
)
def test_the_overseers_other_name_is_human(given_name: str, name: str) -> None:
    assert recipient_name(given_name) == name


FREE, COERCE, STRICT, AUTO = NameEnforcement


@pytest.mark.parametrize(
    ("mode", "asked", "name"),
    [
        (FREE, "reviewer", "reviewer"),
        (FREE, "BlueLake", "BlueLake"),
        (FREE, None, None),
        (COERCE, "reviewer", None),
        (COERCE, "bluelake", "bluelake"),
        (COERCE, "all", None),
        (STRICT, "BlueLake", "BlueLake"),
        (STRICT, None, None),
        (AUTO, "BlueLake", None),
        (AUTO, "all", None),
    ],
)
def test_each_mode_takes_or_replaces_a_name(mode: NameEnforcement, asked: str | None, name: str | None) -> None:
    assert name_to_register(asked, mode, program="p", model="m") == name


@pytest.mark.parametrize(("mode", "asked"), [(FREE, "all"), (FREE, "a b"), (STRICT, "all"), (STRICT, "reviewer")])
def test_free_and_strict_refuse_where_they_do_not_take(mode: NameEnforcement, asked: str) -> None:
    with pytest.raises(UnfitName):
        name_to_register(asked, mode, program="p", model="m")


@pytest.mark.parametrize(
    ("mode", "hint", "name"),
    [
        (FREE, "reviewer", "reviewer"),
        (FREE, "Taken", None),
        (FREE, "all", None),
        (FREE, None, None),
        (COERCE, "reviewer", None),
        (COERCE, "BlueLake", "BlueLake"),
        (STRICT, "BlueLake", "BlueLake"),
        (AUTO, "BlueLake", None),
    ],
)
def test_a_hint_is_taken_when_it_is_fit_and_free(mode: NameEnforcement, hint: str | None, name: str | None) -> None:
    assert name_from_hint(hint, mode, program="p", model="m", is_taken="Taken".__eq__) == name


def test_strict_refuses_a_hint_that_is_taken_or_unfit() -> None:
    with pytest.raises(NameTaken):
        name_from_hint("BlueLake", STRICT, program="p", model="m", is_taken=lambda _: True)
    with pytest.raises(UnfitName):
        name_from_hint("reviewer", STRICT, program="p", model="m", is_taken=lambda _: False)


def test_the_first_free_candidate_is_taken() -> None:
    candidates = candidate_names(random.Random(1).choice)

    assert len(candidates) == 64
    assert first_free(candidates, lambda name: name in candidates[:5]) == candidates[5]


def test_when_all_candidates_are_taken_the_caller_is_asked_for_a_name() -> None:
    with pytest.raises(NamesExhausted, match="all taken"):
        first_free(candidate_names(random.Random(1).choice), lambda _: True)


def test_the_nearest_names_come_best_first_as_they_are_written() -> None:
    assert nearest("bluelakee", ["RedStone", "BlueLark", "BlueLake"]) == ["BlueLake", "BlueLark"]
    assert nearest("x" * 10_000, ["BlueLake"]) == []


@pytest.mark.parametrize(
    "written",
    ["@BlueLake", "blue-lake", "Blue Lake", "/agents/BlueLake", "BlueLake@app", "app#bluelake", "BlueLake (claude)"],
)
def test_a_name_in_another_spelling_or_within_a_path_or_an_address_is_the_only_one_near(written: str) -> None:
    assert nearest(written, ["BlueLark", "BlueLake", "Claude1"]) == ["BlueLake"]


def test_of_a_path_the_last_part_and_of_an_address_the_name_comes_first() -> None:
    assert nearest("/RedStone/BlueLake", ["RedStone", "BlueLake"]) == ["BlueLake", "RedStone"]
    assert nearest("RedStone@BlueLake", ["BlueLake", "RedStone"]) == ["RedStone", "BlueLake"]


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        ("Redston", "RedStone"),
        ("red-stone", "RedStone"),
        ("RedStome", "RedStone"),
        ("worker-2", None),
        ("ui-reviewer", None),
        ("GreenField", None),
    ],
)
def test_a_new_name_is_mistaken_for_one_that_differs_by_a_slip_alone(wanted: str, meant: str | None) -> None:
    assert mistaken_for(wanted, ["Human", "worker-1", "api-reviewer", "RedStone", "GrayStone"]) == meant


@pytest.mark.parametrize(
    ("wanted", "found", "told"),
    [
        ("BlueHerron", ["BlueHeron"], ["BlueHeron (retired)"]),
        ("BlueLarks", ["BlueLark", "BlueLake"], ["BlueLark (retired)", "BlueLake"]),
        ("blue-heron", ["BlueHeron"], ["BlueHeron (retired)"]),
        ("/agents/BlueHeron", ["BlueHeron"], ["BlueHeron (retired)"]),
        ("BlueLakes", ["BlueLake"], ["BlueLake"]),
        ("GreenHero", [], []),
        ("worker-9", ["worker-1"], ["worker-1"]),
    ],
)
def test_a_retired_one_is_found_only_where_it_must_have_been_meant_and_is_told_so(
    wanted: str, found: list[str], told: list[str]
) -> None:
    known = KnownNames(["BlueLake", "worker-1"], retired=["BlueHeron", "BlueLark", "worker-2"])

    near = known.nearest(wanted)

    assert near == found
    assert known.told(near) == told
