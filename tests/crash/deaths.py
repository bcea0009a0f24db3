"""Every way to die: at random instants and at each named one, the server, its archiver, or both."""

from __future__ import annotations

import random
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.store.engine.sqlite.migrate import shipped_migrations
from tests.crash import identity_steps
from tests.crash.actor import PROJECTS
from tests.crash.clients import CLIENTS, Agent
from tests.crash.launched import LaunchedServer
from tests.crash.record import Record
from tests.served import pause

AT_LEAST_S = 0.2
AT_MOST_S = 1.0
START_TAKES_S = 1.5
LOOKS = 3_000


@dataclass
class Scene:
    """A store with its clients. After a death the server may still run, or not."""

    server: LaunchedServer
    record: Record
    chance: random.Random
    seed: int

    def work_on(self, at_least_s: float = AT_LEAST_S, at_most_s: float = AT_MOST_S) -> None:
        """The clients have been answered, and go on for so long: what is killed or armed then dies under load, on a
        busy machine too.
        """
        before = self.record.answered.total()
        for _ in range(LOOKS):
            if self.record.answered.total() > before:
                break
            pause()
        else:
            raise AssertionError("no client was answered")
        threading.Event().wait(self.chance.uniform(at_least_s, at_most_s))

    @contextmanager
    def clients(self) -> Iterator[None]:
        """At work; afterwards they leave, unless they were killed under."""
        self.seed += 1
        agents = [Agent(self.server, self.record, number, self.seed) for number in range(CLIENTS)]
        for agent in agents:
            agent.start()
        try:
            yield
        finally:
            for agent in agents:
                agent.leave()
            for agent in agents:
                agent.join()

    def terminate(self) -> None:
        assert self.server.process is not None
        self.server.process.send_signal(signal.SIGTERM)


def die_at_random(scene: Scene) -> None:
    with scene.clients():
        scene.work_on()
        scene.server.kill()


def lose_archivers(scene: Scene) -> None:
    """The server lives on and starts a new one each time."""
    with scene.clients():
        for _ in range(scene.chance.randint(1, 2)):
            scene.work_on()
            scene.server.kill_at_once(scene.server.archivers())


def lose_image_converters(scene: Scene) -> None:
    """Once: an image whose child was killed is tried again, and given up when that one ends too."""
    with scene.clients():
        scene.server.await_image_converters()
        scene.server.kill_at_once(scene.server.image_converters())
        scene.work_on()


def die_both(scene: Scene) -> None:
    with scene.clients():
        children = scene.server.archivers()
        scene.work_on()
        if scene.chance.random() < 0.5:
            scene.server.kill_at_once(children)
        scene.server.kill()
        scene.server.kill_at_once(children)


def die_stopping(scene: Scene) -> None:
    with scene.clients():
        scene.work_on()
        scene.terminate()
        threading.Event().wait(scene.chance.uniform(0, 0.3))
        scene.server.kill()


def die_starting(scene: Scene) -> None:
    die_at_random(scene)
    scene.server.doom()
    scene.server.spawn()
    threading.Event().wait(scene.chance.uniform(0, START_TAKES_S))
    scene.server.kill()


def die_at_a_point(scene: Scene) -> None:
    """In the server's own process, under load."""
    with scene.clients():
        scene.work_on(0, 0.3)
        scene.server.arm()
        assert scene.server.await_own_end() == -signal.SIGKILL


def die_at_a_point_of_the_start(scene: Scene, **doom: Any) -> None:
    die_at_random(scene)
    scene.server.doom(**doom)
    scene.server.arm()
    scene.server.spawn()
    scene.server.await_ready()
    assert scene.server.await_own_end() == -signal.SIGKILL


def die_at_a_point_of_the_stop(scene: Scene) -> None:
    with scene.clients():
        scene.work_on()
        scene.server.arm()
        scene.terminate()
        assert scene.server.await_own_end() == -signal.SIGKILL


def lose_the_archiver_at_a_point(scene: Scene) -> None:
    """Under load. The next one dies there too, or the server dies, or all goes on."""
    before = scene.server.archivers_ended()
    with scene.clients():
        scene.server.arm()
        scene.server.await_archivers_end(before)
        _go_on_after_the_archiver(scene)


def lose_the_archiver_at_the_start(scene: Scene) -> None:
    """With what it does unasked, before and beside the mail."""
    scene.server.arm()
    before = scene.server.archivers_ended()
    scene.server.start()
    with scene.clients():
        scene.server.await_archivers_end(before)
        _go_on_after_the_archiver(scene)


def lose_the_archiver_resuming(scene: Scene) -> None:
    with scene.clients():
        scene.work_on()
        scene.server.arm()
        before = scene.server.archivers_ended()
        scene.server.kill_at_once(scene.server.archivers())
        scene.server.await_archivers_end(before + 1)
        _go_on_after_the_archiver(scene)


def lose_the_archiver_idle(scene: Scene) -> None:
    """Once the archives are quiet. New agents are new folders, for whose sake months are put away again."""
    before = scene.server.archivers_ended()
    with scene.server.connect() as connection:
        for project in PROJECTS:
            agent = connection.call("register_agent", project_key=project, **identity_steps.PROGRAM)
            identity_steps.note_registered(scene.record, project, agent)
    with scene.clients():
        scene.work_on()
        scene.server.arm()
    scene.server.await_archivers_end(before)
    _go_on_after_the_archiver(scene)


def lose_the_archiver_draining(scene: Scene) -> None:
    before = scene.server.archivers_ended()
    with scene.clients():
        scene.work_on()
        scene.server.arm()
        scene.terminate()
        scene.server.await_own_end()
    assert scene.server.archivers_ended() > before, "it was killed at the drain"


def _go_on_after_the_archiver(scene: Scene) -> None:
    if scene.chance.random() < 0.5:
        threading.Event().wait(scene.chance.uniform(0, 0.5))
        scene.server.kill()
    else:
        scene.server.disarm()


@dataclass(frozen=True)
class Death:
    """`most`: up to which reach of the point, by chance, the process is left alive."""

    name: str
    die: Callable[[Scene], None]
    point: FailPoint | None = None
    of: str = "server"
    most: int = 1
    has_old_months: bool = False
    has_old_archives: bool = False
    doom: dict[str, Any] = field(default_factory=dict)

    def doom_for(self, chance: random.Random) -> dict[str, Any]:
        return self.doom if self.point is None else {**self.doom, self.of: (self.point, chance.randint(1, self.most))}


def _archivers(point: FailPoint, die: Callable[[Scene], None], most: int, **more: Any) -> Death:
    return Death(f"archiver at {point}", die, point, "archiver", most, **more)


def _servers(point: FailPoint, die: Callable[[Scene], None], most: int) -> Death:
    return Death(f"server at {point}", die, point, "server", most)


def _starting(point: FailPoint, nth: int, **more: Any) -> Death:
    die = partial(die_at_a_point_of_the_start, server=(point, nth), **more)
    return Death(f"server at {point} {nth}", die)


RANDOM = (
    Death("server", die_at_random),
    Death("archiver", lose_archivers),
    Death("both", die_both),
    Death("server stopping", die_stopping),
    Death("server starting", die_starting),
)
CONTENTS = (
    _servers(FailPoint.CONTENT_STAGED, die_at_a_point, 8),
    _servers(FailPoint.CONTENT_NAMED, die_at_a_point, 8),
    _servers(FailPoint.CONTENT_KEPT, die_at_a_point, 8),
    Death("image converters", lose_image_converters),
)
"""While mail is made ready that carries something: before its message is stored."""
NAMED = (
    _servers(FailPoint.IN_UNIT, die_at_a_point, 40),
    _servers(FailPoint.BEFORE_COMMIT, die_at_a_point, 40),
    _servers(FailPoint.AFTER_COMMIT, die_at_a_point, 40),
    _servers(FailPoint.STOP, die_at_a_point_of_the_stop, 2),
    *(_starting(FailPoint.START, nth) for nth in (1, 2, 3, 4)),
    _starting(FailPoint.MIGRATION, 1, has_next_schema=True),
    _archivers(FailPoint.RESUME, lose_the_archiver_resuming, 2),
    _archivers(FailPoint.BEFORE_IMPORT, lose_the_archiver_at_a_point, 4),
    _archivers(FailPoint.AFTER_IMPORT, lose_the_archiver_at_a_point, 4),
    _archivers(FailPoint.BEFORE_MARK, lose_the_archiver_at_a_point, 4),
    _archivers(FailPoint.INDEX_REFRESH, lose_the_archiver_idle, 2),
    _archivers(FailPoint.INDEX_REPLACE, lose_the_archiver_idle, 2),
    _archivers(FailPoint.INDEX_REFRESHED, lose_the_archiver_idle, 2),
    _archivers(FailPoint.REPACK, lose_the_archiver_at_a_point, 2),
    _archivers(FailPoint.REPACK_DELETE, lose_the_archiver_at_a_point, 8),
    _archivers(FailPoint.THINNING, lose_the_archiver_idle, 2, has_old_months=True),
    _archivers(FailPoint.THINNED, lose_the_archiver_idle, 2, has_old_months=True),
    _archivers(FailPoint.DRAIN, lose_the_archiver_draining, 2),
)
CONVERTING = (
    _archivers(FailPoint.CONVERSION, lose_the_archiver_at_the_start, 2, has_old_archives=True),
    _archivers(FailPoint.CONVERSION_SHOWN, lose_the_archiver_at_the_start, 2, has_old_archives=True),
)
"""An archive is converted once, so a store has one of these alone, and first."""


def die_while_the_store_is_made(server: LaunchedServer, chance: random.Random) -> None:
    server.doom(server=(FailPoint.MIGRATION, chance.randint(1, len(shipped_migrations()))))
    server.arm()
    server.spawn()
    assert not server.await_ready()
    assert server.await_own_end() == -signal.SIGKILL
