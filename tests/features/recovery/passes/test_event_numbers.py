from __future__ import annotations

import random

import pytest

from mcp_agent_mail.features.recovery.passes.event_numbers import (
    LOOK_BACK,
    Certainty,
    Claim,
    NumbersExhausted,
    numbered,
)


def claim(
    first: int,
    last: int,
    event: str,
    *,
    order: tuple[int, int] = (0, 0),
    certainty: Certainty = Certainty.NEEDED,
) -> Claim:
    return Claim(first=first, last=last, certainty=certainty, order=order, event=event.encode())


def test_a_line_says_all_of_a_claim() -> None:
    one = claim(3, 9, '{"a b": 1}', order=(3, 1), certainty=Certainty.SPARE)

    assert Claim.from_line(one.to_line()) == one


def claims_of(numbers: list[int], chance: random.Random) -> list[Claim]:
    """Of one archive: commits of some events each, one of which has its number for good; others are not in Git."""
    found, before = [], 0
    while numbers:
        batch, numbers = numbers[: chance.randint(1, 8)], numbers[chance.randint(1, 8) :]
        batch = [number for number in batch if number > before]
        if batch:
            fixed = chance.choice(batch)
            found.append(claim(fixed, fixed, str(fixed)))
            kept = [number for number in batch if number != fixed and chance.random() < 0.8]
            found += [claim(before + 1, batch[-1], "any") for _ in kept]
            before = batch[-1]
    return found


def test_whatever_numbers_events_had_there_are_some_that_fit() -> None:
    for seed in range(200):
        chance = random.Random(seed)
        owners = [chance.randrange(4) for _ in range(60)]
        claims = [
            one
            for archive in range(4)
            for one in claims_of([n for n, owner in enumerate(owners, start=1) if owner == archive], chance)
        ]

        given = list(numbered(sorted(claims, key=lambda one: one.first)))

        numbers = [number for number, _ in given]
        assert len(given) == len(claims), seed
        assert numbers == sorted(set(numbers)), seed
        assert all(int(event) == number for number, event in given if event != b"any"), seed


def test_lines_of_one_file_keep_their_order() -> None:
    lines = [claim(5, 5, "0", order=(5, 0)), *(claim(6, 20, str(n), order=(5, n)) for n in range(1, 6))]

    assert [event for _, event in numbered(lines)] == [b"0", b"1", b"2", b"3", b"4", b"5"]


def test_what_is_not_needed_gives_way() -> None:
    found = list(numbered([claim(1, 1, "extra", certainty=Certainty.LIKELY), claim(1, 1, "needed")]))

    assert found == [(1, b"needed")]


def test_more_than_there_are_numbers_for_is_refused() -> None:
    with pytest.raises(NumbersExhausted):
        list(numbered([claim(1, 1, "a"), claim(1, 1, "b")]))


def test_a_spare_event_gets_its_number_before_those_of_later_commits() -> None:
    spare, later = claim(1, 2, "spare", certainty=Certainty.SPARE), [claim(1, 9, "later")] * 4

    assert (2, b"spare") in list(numbered([claim(1, 2, "own"), spare, *later]))


def test_a_spare_event_gives_its_number_up_where_a_surer_one_would_have_none() -> None:
    spare = claim(1, 2, "spare", certainty=Certainty.SPARE)
    own = [claim(1, 3, "a", certainty=Certainty.LIKELY), claim(1, 3, "b"), claim(2, 3, "c")]

    assert list(numbered([spare, *own])) == [(1, b"b"), (2, b"c"), (3, b"a")]
    assert list(numbered([spare, *own[:2]])) == [(1, b"spare"), (2, b"b"), (3, b"a")]


def test_those_that_move_down_keep_their_order() -> None:
    lines = [claim(2, 5, str(n), order=(1, n)) for n in range(1, 4)]
    first = claim(1, 4, "spare", certainty=Certainty.SPARE), claim(1, 5, "any")

    given = list(numbered([*first, *lines, claim(5, 5, "last")]))

    assert [event for _, event in given if event.isdigit()] == [b"1", b"2", b"3"]
    assert b"spare" not in [event for _, event in given]


def test_a_number_given_long_ago_is_final() -> None:
    spare = claim(1, 1, "spare", certainty=Certainty.SPARE)
    many = [claim(1, 3 * LOOK_BACK, "any")] * (3 * LOOK_BACK - 1)

    assert len(list(numbered([spare, *many]))) == 3 * LOOK_BACK
    with pytest.raises(NumbersExhausted):
        list(numbered([spare, *many, claim(1, 3 * LOOK_BACK, "one more")]))


def best_of(claims: list[Claim]) -> dict[Certainty, int]:
    """How many of each could have numbers at best, the surer ones first: by paths to free numbers, one by one."""
    holders: dict[int, Claim] = {}

    def has_place(one: Claim, seen: set[int]) -> bool:
        for number in range(one.first, one.last + 1):
            if number not in seen:
                seen.add(number)
                if number not in holders or has_place(holders[number], seen):
                    holders[number] = one
                    return True
        return False

    found = dict.fromkeys(Certainty, 0)
    for one in sorted(claims, key=lambda one: one.certainty):
        found[one.certainty] += has_place(one, set())
    return found


def test_as_many_of_each_certainty_get_numbers_as_can() -> None:
    given_up = exhausted = 0
    for seed in range(1000):
        chance = random.Random(seed)
        claims = []
        for count in range(chance.randint(1, 16)):
            first = chance.randint(1, 12)
            certainty = chance.choice([Certainty.NEEDED, Certainty.LIKELY, Certainty.LIKELY, Certainty.SPARE])
            claims.append(claim(first, first + chance.randint(-1, 6), f"{count}", certainty=certainty))
        best = best_of(claims)
        wanted = sorted(claims, key=lambda one: one.first)

        if best[Certainty.NEEDED] < sum(one.certainty is Certainty.NEEDED for one in claims):
            with pytest.raises(NumbersExhausted):
                list(numbered(wanted))
            exhausted += 1
            continue
        given = dict(numbered(wanted))

        found = dict.fromkeys(Certainty, 0)
        for number, event in given.items():
            one = claims[int(event)]
            assert one.first <= number <= one.last, seed
            found[one.certainty] += 1
        assert found == best, seed
        assert len(set(given.values())) == len(given), seed
        given_up += len(claims) - len(given)
    assert given_up
    assert exhausted
