"""Cuts a recorded run at many instants and makes, of each, a store as a loss of power may leave it."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.crash.record import Record, Sent
from tests.power.disk import Disk, OrderedDisk
from tests.power.log import Entry, Kind, read_log
from tests.power.recorder import Recording

NEAR = 12
"""Entries of the log before and after an instant that count as near to it."""

Answered = dict[str, Any]

CHANCES = (0.0, 0.0, 0.3, 0.6, 0.9, 1.0)


@dataclass(frozen=True, slots=True)
class Loss:
    """`instant`: what was going on. `at`: after how many entries of the log the power went."""

    instant: str
    at: int
    seed: int

    def __str__(self) -> str:
        return f"{self.instant} at {self.at} (seed {self.seed})"


def choose_losses(recording: Recording, count: int, seed: int) -> list[Loss]:
    """Every kind of instant in turn, by the order of the log."""
    chance = random.Random(seed)
    instants = _instants(read_log(recording.log, recording.root))
    names = sorted(instants)
    losses = [
        Loss(names[number % len(names)], chance.choice(instants[names[number % len(names)]]), seed + number)
        for number in range(count)
    ]
    return sorted(losses, key=lambda loss: loss.at)


def _instants(entries: Iterator[Entry]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    paths: dict[int, str] = {}
    total = 0
    is_starting = True
    for total, entry in enumerate(entries, start=1):
        if entry.kind is Kind.OPENED and entry.first is not None:
            paths[entry.inode] = entry.first
        name = _instant(entry, paths)
        if name is not None:
            near = range(max(1, total - NEAR), total + NEAR)
            found[name] += [total] if name == "just answered" else near
        is_starting = (is_starting and entry.kind is not Kind.ANSWERED) or entry.kind is Kind.MARKED
        if is_starting:
            found["start or stop"].append(total)
    found["any"] = list(range(1, total + 1))
    return {name: [at for at in places if at <= total] for name, places in found.items()}


_INSTANTS: dict[str, Callable[[Entry, str, str | None], bool]] = {
    "just answered": lambda entry, _target, _file: entry.kind is Kind.ANSWERED,
    "between fast-import and mark": lambda entry, target, _file: (
        entry.kind is Kind.RENAMED and target.endswith("refs/heads/main")
    ),
    "refresh of the index": lambda entry, target, _file: entry.kind is Kind.RENAMED and target.endswith(".git/index"),
    "putting months away": lambda entry, target, _file: (
        entry.kind is Kind.RENAMED and target.endswith(("info/sparse-checkout", "agent-mail/months"))
    ),
    "joining packs": lambda entry, target, _file: entry.kind is Kind.UNLINKED and target.endswith(".pack"),
    "new archive": lambda entry, target, _file: (
        entry.kind in (Kind.DIR_MADE, Kind.RENAMED) and target.endswith((".git.new", "/.git"))
    ),
    "checkpoint": lambda entry, _target, file: (
        entry.kind is Kind.WRITTEN and file in ("mail.sqlite3", "mail.sqlite3.new")
    ),
}
"""Each by its sign in the log: an entry, the path it leads to, the file it is about."""


def _instant(entry: Entry, paths: dict[int, str]) -> str | None:
    target = entry.second or entry.first or ""
    file = paths.get(entry.inode)
    return next((name for name, is_it in _INSTANTS.items() if is_it(entry, target, file)), None)


def simulate(recording: Recording, losses: list[Loss], folder: Path) -> Iterator[tuple[Loss, Path, list[Answered]]]:
    """For each loss the store it left and what had been answered before it. Every second disk is the milder one."""
    entries = read_log(recording.log, recording.root)
    disks = (Disk(), OrderedDisk())
    for disk in disks:
        disk.load(recording.before, recording.inodes)
    answers: list[Answered] = []
    for number, loss in enumerate(losses):
        while disks[0].count < loss.at:
            entry = next(entries)
            if entry.kind is Kind.ANSWERED:
                answers.append(json.loads(entry.data))
            for disk in disks:
                disk.feed(entry)
        chance = random.Random(loss.seed)
        disk = disks[loss.seed % 2]
        root = folder / f"loss-{number}" / "store"
        image = disk.after_loss(chance, names_kept=chance.choice(CHANCES), data_kept=chance.choice(CHANCES))
        image.build(root)
        yield loss, root, answers


def record_of(answers: list[Answered]) -> Record:
    """The record of the kill rounds, of these answers alone."""
    record = Record()
    for answer in answers:
        fields = dict(answer)
        what = fields.pop("what")
        if what == "sent":
            record.add_sent(Sent(**(fields | {name: tuple(fields[name]) for name in ("recipients", "carried")})))
        elif what == "read":
            record.add_read(*fields["key"])
        elif what == "acknowledged":
            record.add_acknowledged(*fields["key"])
        else:
            note = {"begun": record.begin, "settled": record.settle}[what]
            note(tuple(fields["cell"]), fields["value"])
    return record
