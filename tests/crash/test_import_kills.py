"""`kill -9` at any instant of an import: the next run goes on, and in the end nothing is doubled or missing."""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.features.doctor.verify import verify_archives
from mcp_agent_mail.features.doctor.verify_store import verify_store
from mcp_agent_mail.store.rebuild.dump import dump
from tests.crash.importing import random_store
from tests.features.importing.scripted import ScriptedReader

KILLS = 54
A_FEW = 5
_ROUNDS_OF_A_STORE = 6


def run(root: Path, seed: int, messages: int, *fate: str, after_s: float | None = None) -> subprocess.Popen[bytes]:
    root.mkdir(parents=True, exist_ok=True)
    arguments = [sys.executable, "-m", "tests.crash.importing", str(root), str(seed), str(messages), *fate]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if after_s is not None:
        time.sleep(after_s)
        process.kill()
    return process


def ended(process: subprocess.Popen[bytes]) -> tuple[int, bytes]:
    said, _ = process.communicate(timeout=300)
    return process.returncode, said


def killed_and_gone_on(root: Path, seed: int, messages: int, fates: Sequence[tuple[str, ...]]) -> int:
    """How many kills there were before it came to its end."""
    kills = 0
    for fate in fates:
        after = float(fate[1]) if fate[0] == "time" else None
        process = run(root, seed, messages, *(() if after is not None else fate), after_s=after)
        code, _ = ended(process)
        assert code in (0, -signal.SIGKILL)
        kills += code != 0
    code, said = ended(run(root, seed, messages))
    assert code == 0
    counts = json.loads(said)
    again = json.loads(ended(run(root, seed, messages))[1])
    assert {kind: added for kind, (added, _, _) in again.items() if added} == {}
    assert {kind: sum(one) for kind, one in counts.items()} == {kind: sum(one) for kind, one in again.items()}
    return kills


def faults(root: Path, reader: ScriptedReader) -> list[str]:
    """What is there twice, or not at all, or other than the archives have it."""
    database = root / "store" / "mail.sqlite3"
    with closing(sqlite3.connect(database)) as connection:
        subjects = [one for (one,) in connection.execute("SELECT subject FROM messages ORDER BY id")]
        copies = connection.execute("SELECT count(*) FROM recipients").fetchone()[0]
        agents = connection.execute("SELECT count(*) FROM agents WHERE kind = 'agent'").fetchone()[0]
        leases = connection.execute("SELECT count(*) FROM leases").fetchone()[0]
        links = connection.execute("SELECT count(*) FROM contacts").fetchone()[0]
        keys = connection.execute("SELECT count(*) FROM imported WHERE kind = 'messages'").fetchone()[0]
    expected = [one.subject for one in reader.all_messages]
    found = [] if subjects == expected else [f"{len(subjects)} messages, {len(expected)} expected, or in another order"]
    for what, there, wanted in (
        ("copies", copies, sum(len(one.recipients) for one in reader.all_messages)),
        ("agents", agents, len(reader.all_agents)),
        ("leases", leases, len(reader.all_leases)),
        ("links", links, len(reader.all_links)),
        ("keys", keys, sum(1 + len(one.also) for one in reader.all_messages)),
    ):
        found += [] if there == wanted else [f"{there} {what}, {wanted} expected"]
    report = verify_archives(root / "store", database, progress=lambda *_: None)
    return [*found, *map(str, report.findings), *map(str, verify_store(database))]


def told(root: Path) -> list[str]:
    """All that stands there, but what times and names of this very run make different."""
    return [line for line in dump(root / "store" / "mail.sqlite3") if json.loads(line)[0] in ("recipients", "contacts")]


def test_a_few_kills_double_nothing_and_lose_nothing(tmp_path: Path) -> None:
    fates: list[tuple[str, ...]] = [
        ("records", "3"),
        ("records", "40"),
        ("steps", "3"),
        ("writes", "4"),
        ("records", "70"),
    ]

    kills = killed_and_gone_on(tmp_path, 1, 60, fates)

    assert kills == A_FEW
    assert faults(tmp_path, random_store(1, 60)) == []


@pytest.mark.crash
def test_many_kills_at_any_instant_double_nothing_and_lose_nothing(tmp_path: Path) -> None:
    kills, seed = 0, 0
    chance = random.Random(20_261_127)
    while kills < KILLS:
        seed += 1
        root, messages = tmp_path / str(seed), 300
        fates = [_fate(chance) for _ in range(_ROUNDS_OF_A_STORE)]
        kills += killed_and_gone_on(root, seed, messages, fates)
        assert faults(root, random_store(seed, messages)) == [], f"seed {seed}: {fates}"
    sys.stdout.write(f"{kills} kills, {seed} stores\n")


def _fate(chance: random.Random) -> tuple[str, ...]:
    what = chance.choice(("records", "steps", "writes", "time"))
    most: dict[str, Any] = {"records": 300, "steps": 8, "writes": 12}
    return (what, f"{chance.uniform(0.5, 4.0):.2f}") if what == "time" else (what, str(chance.randint(1, most[what])))
