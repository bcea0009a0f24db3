from __future__ import annotations

import random

import pytest

from mcp_agent_mail.features.recovery.event_numbers import Claim, NumbersExhausted, numbered


def claim(first: int, last: int, event: str, *, order: tuple[int, int] = (0, 0), needed: bool = True) -> Claim:
    return Claim(first=first, last=last, order=order, needed=needed, event=event.encode())


def test_a_line_says_all_of_a_claim() -> None:
    one = claim(3, 9, '{"a b": 1}', order=(3, 1), needed=False)

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
    found = list(numbered([claim(1, 1, "extra", needed=False), claim(1, 1, "needed")]))

    assert found == [(1, b"needed")]


def test_more_than_there_are_numbers_for_is_refused() -> None:
    with pytest.raises(NumbersExhausted):
        list(numbered([claim(1, 1, "a"), claim(1, 1, "b")]))


def test_what_is_spare_gets_what_no_other_could_have() -> None:
    def claim(first: int, last: int, event: bytes, *, is_spare: bool = False) -> Claim:
        return Claim(first=first, last=last, order=(0, 0), needed=False, event=event, is_spare=is_spare)

    spare, own = claim(1, 2, b"spare", is_spare=True), (claim(1, 3, b"a"), claim(1, 3, b"b"))

    assert list(numbered([spare, *own])) == [(1, b"a"), (2, b"b")]
    assert list(numbered([spare, own[0]])) == [(1, b"a"), (2, b"spare")]
    assert Claim.from_line(spare.to_line()) == spare
