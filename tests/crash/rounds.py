"""One store through many deaths: after each a start without any doing of a person, and the full examination."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_agent_mail.archive.known_version import CONVERSION_NOTE
from mcp_agent_mail.domain.archive_format.versions import FORMAT_VERSION
from tests.crash.checks import am_verify, faults_after, verify_here
from tests.crash.clients import set_up
from tests.crash.deaths import LOOKS, Death, Scene, die_while_the_store_is_made
from tests.crash.identity_steps import is_revoked_long_ago
from tests.crash.launched import LaunchedServer
from tests.crash.lease_steps import OF_THE_TIME
from tests.crash.mail_steps import repeat_keyed
from tests.crash.record import Record
from tests.served import pause

MONTHS_AGO_DAYS = 100
FEW_FILES = 50


@dataclass(frozen=True)
class Survived:
    """What a store went through."""

    kills: int
    record: Record
    seconds: float

    def __str__(self) -> str:
        counted = self.record.answered
        listed = ", ".join(f"{tool} {n}" for tool, n in sorted(counted.items()) if tool != "fetch_inbox")
        return (
            f"{self.kills} kills in {self.seconds:.0f} s, "
            f"{self.operations} operations acknowledged, none lost ({listed}; "
            f"{sum(len(sent.carried) for sent in self.record.sent)} attachments)"
        )

    @property
    def operations(self) -> int:
        return sum(n for tool, n in self.record.answered.items() if tool != "fetch_inbox")


def live_through(root: Path, deaths: Sequence[Death], seed: int) -> Survived:
    """Die while the store is made, then of each of these in turn."""
    began = time.monotonic()
    chance, record = random.Random(seed), Record()
    has_old_months = any(death.has_old_months for death in deaths)
    has_old_archives = any(death.has_old_archives for death in deaths)
    server = LaunchedServer(root, files=FEW_FILES if has_old_months else None)
    scene = Scene(server, record, chance, seed * 1_000)
    die_while_the_store_is_made(server, chance)
    try:
        _begin(scene, has_old_months=has_old_months, has_old_archives=has_old_archives)
        for number, death in enumerate(deaths, start=1):
            _start(scene, death, chance)
            before = sum(record.answered.values())
            death.die(scene)
            _examine(scene, death, f"{number}. {death.name}", is_last=number == len(deaths))
            assert sum(record.answered.values()) > before, f"{death.name}: the clients got something done"
    finally:
        if server.process is not None:
            server.kill()
    return Survived(len(deaths) + 1, record, time.monotonic() - began)


def await_converted(server: LaunchedServer) -> set[int]:
    """The versions of the archives, once all are whole or time is up."""
    versions: set[int] = set()
    for _ in range(LOOKS):
        versions = {json.loads(file.read_bytes())["format"] for file in server.root.glob("projects/*/archive.json")}
        if versions == {FORMAT_VERSION} and not list(server.root.glob(f"projects/*/{CONVERSION_NOTE}")):
            break
        pause()
    return versions


def _begin(scene: Scene, *, has_old_months: bool, has_old_archives: bool) -> None:
    """Some mail, of months ago where months are to be put away, in archives of the version before where such are to be
    converted.
    """
    scene.server.doom(days_ago=MONTHS_AGO_DAYS if has_old_months else 0, begins_old_archives=has_old_archives)
    scene.server.start()
    set_up(scene.server, scene.record)
    if has_old_archives:
        with scene.clients():
            scene.work_on()
        scene.server.await_drained()
        scene.server.stop()
    if has_old_months:
        with scene.clients():
            scene.work_on()
        with scene.server.connect() as connection:
            repeat_keyed(connection, scene.record)
        scene.server.stop()
        scene.record.forget(lambda cell, last: cell[0] in OF_THE_TIME or is_revoked_long_ago(cell, last))
        scene.record.keyed.clear()  # Months later a key is a new one.


def _start(scene: Scene, death: Death, chance: random.Random) -> None:
    doom = death.doom_for(chance)
    if scene.server.process is not None and doom:
        scene.server.stop()
    scene.server.doom(**doom)
    if scene.server.process is None and not death.has_old_archives:
        scene.server.start()


def _examine(scene: Scene, death: Death, what: str, *, is_last: bool) -> None:
    if scene.server.process is None:
        scene.server.doom()
        scene.server.start()
    with scene.server.connect() as connection:
        repeat_keyed(connection, scene.record)
    scene.server.await_drained()
    if death.has_old_archives:
        assert await_converted(scene.server) == {FORMAT_VERSION}, what
    verify = am_verify if is_last else verify_here
    faults = list(dict.fromkeys(faults_after(scene.server, scene.record, verify=verify)))
    assert faults == [], f"{what}: {len(faults)} faults: {faults[:20]}"
