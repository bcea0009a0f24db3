from __future__ import annotations

from tests.features.macros.harness import APP, MacrosHarness, refused


async def live(team: MacrosHarness, name: str) -> list[str]:
    """The patterns that an agent holds."""
    leases = await team.services.resources.read(
        f"resource://file_reservations/{APP.replace('/', '%2F')}", team.proof(name)
    )
    return sorted(lease["path_pattern"] for lease in leases if lease["agent"] == name)


async def test_a_cycle_reserves_like_the_tool_of_its_own(team: MacrosHarness) -> None:
    await team.start("BlueLake")

    cycled = await team.cycle("BlueLake", "src/**", "docs/a.md", exclusive=False, ttl_seconds=120)

    assert [grant["path_pattern"] for grant in cycled["file_reservations"]["granted"]] == ["src/**", "docs/a.md"]
    assert [grant["reason"] for grant in cycled["file_reservations"]["granted"]] == ["macro-file_reservation"] * 2
    assert cycled["released"] is None
    assert await live(team, "BlueLake") == ["docs/a.md", "src/**"]


async def test_auto_release_gives_back_all_that_the_call_got(team: MacrosHarness) -> None:
    await team.start("BlueLake")

    cycled = await team.cycle("BlueLake", "src/**", "docs/a.md", auto_release=True)

    assert len(cycled["file_reservations"]["granted"]) == 2
    assert cycled["released"]["released"] == 2
    assert cycled["released"]["released_at"] is not None
    assert await live(team, "BlueLake") == []


async def test_auto_release_keeps_what_was_held_before(team: MacrosHarness) -> None:
    await team.start("BlueLake", file_reservation_paths=["src/**"])

    cycled = await team.cycle("BlueLake", "src/**", "docs/a.md", auto_release=True)

    assert [grant["path_pattern"] for grant in cycled["file_reservations"]["granted"]] == ["src/**", "docs/a.md"]
    assert cycled["released"]["released"] == 1
    assert await live(team, "BlueLake") == ["src/**"]


async def test_auto_release_of_nothing_says_so(team: MacrosHarness) -> None:
    await team.start("BlueLake", file_reservation_paths=["src/**"])
    await team.start("RedStone")

    cycled = await team.cycle("RedStone", "src/app.py", auto_release=True)

    assert [one["path"] for one in cycled["file_reservations"]["conflicts"]] == ["src/app.py"]
    assert cycled["released"] == {"released": 0, "released_at": None}


async def test_a_large_cycle_with_auto_release_leaves_nothing(team: MacrosHarness) -> None:
    await team.start("BlueLake")

    cycled = await team.cycle("BlueLake", *(f"src/{number}.py" for number in range(120)), auto_release=True)

    assert cycled["released"]["released"] == 120
    assert await live(team, "BlueLake") == []


async def test_a_cycle_needs_the_agents_token_where_that_is_asked_for(strict_team: MacrosHarness) -> None:
    await strict_team.start("BlueLake")
    before = strict_team.everything()

    error = await refused(strict_team.cycle("BlueLake", "src/**", auto_release=True))

    assert error.code == "AUTHENTICATION_REQUIRED"
    assert strict_team.everything() == before
