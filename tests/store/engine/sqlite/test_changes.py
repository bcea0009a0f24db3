"""What a commit changed goes to those who listen to it, each on its own."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.seeded_store import open_seeded_store


async def test_each_kind_of_change_goes_to_its_own_listeners(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        told: dict[str, list[int]] = {"mail": [], "copies": [], "rights": []}
        seeded.store.on_mail_change(lambda changed: told["mail"].append(len(changed)))
        seeded.store.on_copy_change(lambda changed: told["copies"].append(len(changed)))
        seeded.store.on_right_change(lambda changed: told["rights"].append(len(changed)))

        await seeded.store.write(lambda tx: tx.agents.set_token_hash(seeded.red.id, b"another"))
        await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))
        await asyncio.sleep(0)

    assert (told["rights"], told["mail"]) == ([1], [1])
    assert len(told["copies"]) == 1


async def test_a_listener_that_fails_keeps_no_other_from_being_told(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        told: list[int] = []
        reported: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))

        def fails(_: object) -> None:
            raise ValueError("a bug")

        seeded.store.on_right_change(fails)
        seeded.store.on_right_change(lambda changed: told.append(len(changed)))
        await seeded.store.write(lambda tx: tx.agents.set_token_hash(seeded.red.id, b"another"))
        await asyncio.sleep(0)

    assert (told, [str(one) for one in reported]) == ([1], ["a bug"])
