"""Steps of leases: files and build slots are taken, prolonged, given back, taken away, and left to lapse."""

from __future__ import annotations

from tests.rebuild.history import HOUR, History, Somebody, Step

_PATTERNS = (
    "src/app.py",
    "src/**",
    "*.py",
    "docs/",
    "docs/*.md",
    "deep",
    "README.md",
    "tool://lint",
    "a[b-d]?.txt",
    "Größe/ß.txt",
)
_SLOTS = ("build", "deploy main", "測試")


def _who(somebody: Somebody) -> dict[str, str]:
    return {"project_key": somebody.project, "agent_name": somebody.name}


async def reserve(history: History) -> None:
    call = {
        **_who(history.anybody()),
        "paths": history.chance.sample(_PATTERNS, history.chance.randint(1, 3)),
        "ttl_seconds": int(history.chance.choice([60, HOUR, 12 * HOUR])),
        "exclusive": history.luck(0.5),
        "reason": history.chance.choice(["", "work", "zwei\nZeilen"]),
    }
    if history.luck(0.2):
        call["idempotency_key"] = f"lease-{history.chance.randint(1, 4)}"
    await history.do("file_reservation_paths", **call)


def _holder(history: History, kind: str) -> tuple[Somebody, str, int] | None:
    row = history.some(
        "SELECT a.name, p.human_key, p.slug, l.path_pattern, l.id FROM leases l JOIN agents a ON a.id = l.agent_id "
        "JOIN projects p ON p.id = l.project_id WHERE l.kind = ? AND (l.released_ts IS NULL OR ?) ORDER BY l.id",
        kind,
        history.luck(0.1),
    )
    return None if row is None else (Somebody(name=row[0], project=row[1], slug=row[2]), row[3], row[4])


async def release(history: History) -> None:
    held = _holder(history, "file")
    if held is not None:
        somebody, path, _ = held
        what = {} if history.luck(0.2) else {"paths": [path]}
        await history.do("release_file_reservations", **_who(somebody), **what)


async def renew(history: History) -> None:
    held = _holder(history, "file")
    if held is not None:
        somebody, _, lease_id = held
        await history.do(
            "renew_file_reservations", **_who(somebody), extend_seconds=3_600, file_reservation_ids=[lease_id]
        )


async def force(history: History) -> None:
    """Mostly after a long silence: it takes evidence of that."""
    held = _holder(history, "file")
    if held is None:
        return
    somebody, _, lease_id = held
    if history.luck(0.7):
        history.world.clock.step(2 * HOUR)
    other = Somebody(name=history.neighbour(somebody, elsewhere=0), project=somebody.project, slug=somebody.slug)
    await history.do("force_release_file_reservation", **_who(other), file_reservation_id=lease_id, note="it is idle")


async def hold_for_a_moment(history: History) -> None:
    await history.do(
        "macro_file_reservation_cycle",
        **_who(history.anybody()),
        paths=[history.chance.choice(_PATTERNS)],
        auto_release=history.luck(0.7),
    )


async def acquire(history: History) -> None:
    slot = history.chance.choice(_SLOTS)
    await history.do("acquire_build_slot", **_who(history.anybody()), slot=slot, exclusive=history.luck(0.5))


async def prolong(history: History) -> None:
    held = _holder(history, "slot")
    if held is not None:
        await history.do("renew_build_slot", **_who(held[0]), slot=held[1])


async def give_back(history: History) -> None:
    held = _holder(history, "slot")
    if held is not None:
        await history.do("release_build_slot", **_who(held[0]), slot=held[1])


async def sweep(history: History) -> None:
    await history.act("sweep", history.world.services.leases.sweeper.sweep())


STEPS = (
    Step(("file_reservation_paths",), 9, reserve),
    Step(("release_file_reservations",), 4, release),
    Step(("renew_file_reservations",), 3, renew),
    Step(("force_release_file_reservation",), 2, force),
    Step(("macro_file_reservation_cycle",), 2, hold_for_a_moment),
    Step(("acquire_build_slot",), 4, acquire),
    Step(("renew_build_slot",), 2, prolong),
    Step(("release_build_slot",), 2, give_back),
    Step(("sweep",), 3, sweep),
)
