"""A path that nothing is held of by itself: whether a wider reservation covers it, and what to do then."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.features.reservations.claims import Claims, open_claims

NOTHING = "you hold no live reservation of exactly this pattern"


@pytest.fixture
async def claims(tmp_path: Path) -> AsyncIterator[Claims]:
    async with open_claims(tmp_path) as opened:
        yield opened


async def reason(claims: Claims, path: str) -> str:
    answer = await claims.release("BlueLake", paths=[path])
    assert answer["released"] == 0
    (refused,) = answer["not_released"]
    assert refused["path"] == path
    return str(refused["reason"])


@pytest.mark.parametrize(
    ("held", "path"),
    [
        ("src/**", "src/a.py"),
        ("src/**", "src/api/*.py"),
        ("src/", "src"),
        ("src/**", "src/"),
        ("*.py", "src/a.py"),
        ("**", "README.md"),
        ("src/*/x.py", "src/api/x.py"),
        ("**", "*.py"),
    ],
)
async def test_a_path_that_a_wider_reservation_covers_names_it_and_how_to_narrow_it(
    claims: Claims, held: str, path: str
) -> None:
    await claims.hold("BlueLake", "docs/")
    await claims.hold("BlueLake", held)

    assert await reason(claims, path) == (
        f"your reservation 2 ({held}) covers it: release that one by its id, and reserve the narrower path"
    )


@pytest.mark.parametrize(
    ("held", "path"), [("src/*.py", "src/**"), ("src/a.py", "src"), ("tests/", "src/a.py"), ("*.py", "src/*.py")]
)
async def test_what_is_not_covered_as_a_whole_has_no_wider_one(claims: Claims, held: str, path: str) -> None:
    await claims.hold("BlueLake", held)

    told = await reason(claims, path)
    assert told.startswith(NOTHING)
    assert "covers" not in told


async def test_neither_anothers_nor_an_expired_reservation_is_a_wider_one(claims: Claims) -> None:
    await claims.hold("RedStone", "src/**")
    await claims.hold("BlueLake", "docs/**", ttl_seconds=60)
    claims.seeded.clock.step(61)

    assert await reason(claims, "src/a.py") == "you hold no live reservation"
    assert await reason(claims, "docs/a.md") == "you hold no live reservation"


async def test_a_renewal_names_the_wider_one_too(claims: Claims) -> None:
    await claims.hold("BlueLake", "src/**")

    answer = await claims.renew("BlueLake", paths=["src/a.py"])

    assert answer["not_renewed"][0]["reason"] == "your reservation 1 (src/**) covers it: renew that one by its id"


async def test_several_paths_in_one_text_are_told_as_that(claims: Claims) -> None:
    await claims.hold("BlueLake", "src/a.py", "src/b.py")

    assert await reason(claims, "src/a.py,src/b.py") == "it is 2 paths in one text: give a list"


async def test_beyond_the_bound_on_work_no_wider_one_is_named(claims: Claims) -> None:
    await claims.add_agents(1)
    blue = claims.seeded.blue
    await claims.fill(blue, [f"s*{number}/x/*.py" for number in range(900)])
    await claims.hold("BlueLake", "src/**")

    answer = await claims.release("BlueLake", paths=["src/a.md"])

    told = answer["not_released"][0]["reason"]
    assert told.startswith(f"{NOTHING}, but of s*0/x/*.py")


async def test_a_wider_one_is_found_among_many_that_begin_otherwise(claims: Claims) -> None:
    await claims.fill(claims.seeded.blue, [f"docs/{number}/*.md" for number in range(900)])
    await claims.hold("BlueLake", "src/**")

    assert (await reason(claims, "src/a.py")).startswith("your reservation 901 (src/**) covers it")


async def test_a_wider_one_that_ignores_letter_case_is_found(claims: Claims) -> None:
    await claims.fill(claims.seeded.blue, ["SRC/**"], ignore_case=True)

    assert (await reason(claims, "src/a.py")).startswith("your reservation 1 (SRC/**) covers it")


async def test_reading_lists_of_paths_counts_as_work_too(claims: Claims) -> None:
    await claims.hold("BlueLake", "src/**")
    lists = [f"docs/{number}.md,{'d' * 500}/x.md" for number in range(40)]

    answer = await claims.release("BlueLake", paths=[*lists, "src/a.py"])

    reasons = [one["reason"] for one in answer["not_released"]]
    assert reasons[0] == "it is 2 paths in one text: give a list"
    assert reasons[-2:] == [NOTHING] * 2, "the bound on work was reached, and the first alone are compared"


async def test_what_is_long_or_one_of_hundreds_is_neither_compared_nor_shown(claims: Claims) -> None:
    blue = claims.seeded.blue
    await claims.fill(blue, [f"{'d' * 201}/*.md", *(f"docs/{number}/*.md" for number in range(99)), "src/lexer.py"])

    assert await reason(claims, "src/lexr.py") == (
        f"{NOTHING}, but of docs/0/*.md, docs/1/*.md, docs/2/*.md and 98 more"
    )


async def test_where_the_call_itself_gives_back_all_no_other_is_told(claims: Claims) -> None:
    await claims.hold("BlueLake", "src/a.py")

    answer = await claims.release("BlueLake", paths=["src/a.py", "Makefile"])

    assert answer["not_released"][0]["reason"] == NOTHING


async def test_a_misspelt_path_is_told_the_near_one_and_another_what_there_is(claims: Claims) -> None:
    await claims.hold("BlueLake", "src/lexer.py", "docs/**", "*.md", "tests/", "a.txt")

    assert await reason(claims, "src/lexr.py") == f"{NOTHING}: did you mean src/lexer.py?"
    assert await reason(claims, "Makefile") == f"{NOTHING}, but of src/lexer.py, docs/**, *.md and 2 more"


@pytest.mark.parametrize("text", ["all", "ALL", "*", "**", "."])
async def test_a_word_for_all_is_told_how_all_are_meant(claims: Claims, text: str) -> None:
    await claims.hold("BlueLake", "src/a.py")

    assert await reason(claims, text) == f"{NOTHING}: leave paths out to mean all that you hold"
    renewed = await claims.renew("BlueLake", paths=[text])
    assert renewed["not_renewed"][0]["reason"] == f"{NOTHING}: leave paths out to mean all that you hold"


async def test_what_the_call_itself_gives_back_is_not_told_as_held(claims: Claims) -> None:
    await claims.hold("BlueLake", "src/a.py", "src/b.py", "docs/")

    answer = await claims.release("BlueLake", paths=["src/a.py", "src/b.py", "Makefile"])

    assert answer["not_released"][0]["reason"] == f"{NOTHING}, but of docs/"


async def test_of_many_paths_the_first_are_compared(claims: Claims) -> None:
    await claims.hold("BlueLake", "docs/")

    answer = await claims.release("BlueLake", paths=[f"src/{number}.py" for number in range(8)])

    reasons = [one["reason"] for one in answer["not_released"]]
    assert reasons == [f"{NOTHING}, but of docs/"] * 5 + [NOTHING] * 3
