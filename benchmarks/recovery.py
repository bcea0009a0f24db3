"""What recovery costs: `python -m benchmarks.recovery`.

First p99 of twenty writers, alone and beside `am doctor backup`, in alternating pairs. Then `am archive save` of stores
of `--messages` and `am archive restore` of the files into empty folders: seconds, and the memory that the whole tree of
processes had at most. See docs/reference/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks import care
from benchmarks.kernel import process_tree
from benchmarks.load import drive
from benchmarks.mix import Pool
from benchmarks.processes import Server
from benchmarks.scenarios import populate, sends, wait_drained
from benchmarks.stand import Stand
from benchmarks.wire import Refused, Rpc

WRITERS = 20
P99_TARGET = 2.0
"""So many times what writers wait for without a backup."""
MEMORY_TARGET = 1.2
"""The largest store's by the smallest one's."""
_PER_COMMIT = 200
_LOOK_S = 0.05


def am(root: Path, *arguments: str) -> dict[str, Any]:
    """One command on the store: what it says, its seconds, and the memory of it with all that it started, at most."""
    command = [sys.executable, "-m", "mcp_agent_mail", *arguments, "--json"]
    environment = {**os.environ, "STORAGE_ROOT": str(root)}
    began = time.perf_counter()
    with (
        tempfile.TemporaryFile() as output,
        subprocess.Popen(command, env=environment, cwd=root.parent, stdout=output) as process,
    ):
        tree_mib = own_mib = 0.0
        while process.poll() is None:
            sizes = anonymous_mib(process.pid)
            tree_mib = max(tree_mib, sum(sizes.values()))
            own_mib = max(own_mib, care.peak_of(process.pid))
            time.sleep(_LOOK_S)
        output.seek(0)
        told = json.loads(output.read() or b"null")
    seconds = round(time.perf_counter() - began, 1)
    return {
        "exit": process.returncode,
        "seconds": seconds,
        "tree_mib": round(tree_mib),
        "own_mib": round(own_mib),
        "told": told,
    }


def anonymous_mib(pid: int) -> dict[int, float]:
    """What each process of the tree has for itself alone, in MiB (Linux): pages of files that are mapped, as Git maps
    its packs, go when somebody else needs room.
    """
    sizes = {}
    for member in process_tree(pid):
        with suppress(OSError):
            for line in Path(f"/proc/{member}/smaps_rollup").read_text().splitlines():
                if line.startswith("Anonymous:"):
                    sizes[member] = int(line.split()[1]) / 1024
    return sizes


def p99_ms(stand: Stand, server: Server, pool: Pool, seed: int, seconds: float) -> float:
    """Of twenty writers, each with one send at a time."""
    with stand.phase(f"writers {seed}", server):
        sample = drive(server.port, sends(Rpc, WRITERS, 2, pool, seed=seed), seconds)
    if sample.failures:
        raise Refused(f"{sample.failures} sends failed: {sample.first_failure}")
    return sample.percentile(0.99)


@contextmanager
def backing_up(root: Path, target: Path, others_on: frozenset[int]) -> Iterator[list[dict[str, Any]]]:
    """One backup after the other while the block runs; what each of them said."""
    made: list[dict[str, Any]] = []
    until = threading.Event()

    def back_up() -> None:
        if others_on:
            os.sched_setaffinity(0, others_on)
        while not until.is_set():
            made.append(am(root, "doctor", "backup", "--to", str(target), "--keep", "1"))

    beside = threading.Thread(target=back_up)
    beside.start()
    try:
        yield made
    finally:
        until.set()
        beside.join()


def measure_writers(stand: Stand, chosen: argparse.Namespace) -> list[dict[str, float]]:
    """Pairs of p99, alone and beside backups; odd pairs in reverse order."""
    root = stand.scratch / "written" / "store"
    root.mkdir(parents=True)
    server = stand.ours(root, Rpc())
    populate(server, chosen.before)
    pool, pairs = Pool(seed=2), []
    for number in range(chosen.pairs):
        pair: dict[str, float] = {}
        for way in ("alone", "beside") if number % 2 == 0 else ("beside", "alone"):
            wait_drained(server)
            if way == "alone":
                pair[way] = p99_ms(stand, server, pool, 2 * number, chosen.seconds)
                continue
            with backing_up(root, stand.scratch / "backups", stand.others_on) as made:
                pair[way] = p99_ms(stand, server, pool, 2 * number + 1, chosen.seconds)
            if failed := [one for one in made if one["exit"]]:
                raise Refused(f"a backup failed: {failed[0]}")
            pair["backups"] = len(made)
        print(f"pair {number + 1}: {pair}", file=sys.stderr, flush=True)
        pairs.append(pair)
    stand.stop(server)
    return pairs


def made(root: Path, messages: int) -> Path:
    root.mkdir(parents=True)
    care.run(root, messages, _PER_COMMIT)
    return root


def measure_saved(folder: Path, root: Path) -> dict[str, Any]:
    """The store at `root` saved in `folder`, listed, restored elsewhere there, and verified."""
    elsewhere, file = folder / "elsewhere", folder / "saved.tar"
    folder.mkdir(exist_ok=True)
    done = {
        "save": am(root, "archive", "save", str(file)),
        "list": am(root, "archive", "list", str(file)),
        "restore": am(elsewhere, "archive", "restore", str(file)),
        "verify": am(elsewhere, "doctor", "verify"),
    }
    return {
        "messages": sum(project["messages"] for project in done["list"]["told"]["projects"]),
        "bytes": file.stat().st_size,
        **{name: {key: value for key, value in one.items() if key != "told"} for name, one in done.items()},
    }


def is_met(pairs: Sequence[dict[str, float]], saved: Sequence[dict[str, Any]]) -> bool:
    """By the median pair, and by the largest store beside the smallest."""
    slower = statistics.median(pair["beside"] / pair["alone"] for pair in pairs) if pairs else 0.0
    clean = all(one[name]["exit"] == 0 for one in saved for name in ("save", "list", "restore", "verify"))
    grown = [saved[-1][name]["tree_mib"] / max(1, saved[0][name]["tree_mib"]) for name in ("save", "restore") if saved]
    return clean and slower <= P99_TARGET and all(one <= MEMORY_TARGET for one in grown)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recovery", description=__doc__)
    parser.add_argument("--pairs", type=int, default=6, help="of writers alone and beside backups; 0: none")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each phase")
    parser.add_argument("--before", type=int, default=2_000, help="messages that are there when writers begin")
    parser.add_argument("--messages", type=int, nargs="*", default=[1_000, 100_000], help="stores that are saved")
    parser.add_argument(
        "--stores", nargs="*", type=Path, metavar="STORE", help="stores that are there, instead of made"
    )
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()))
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="am-recovery-", dir=chosen.scratch) as scratch:
        pairs: list[dict[str, float]] = []
        if chosen.pairs:
            with Stand(Path(scratch)) as stand:
                pairs = measure_writers(stand, chosen)
                print(json.dumps({"p99_ms": pairs, "objections": stand.objections}, indent=2), flush=True)
        saved = []
        stores = chosen.stores or [made(Path(scratch) / f"store-{number}", number) for number in chosen.messages]
        for number, root in enumerate(stores):
            saved.append(measure_saved(Path(scratch) / f"saved-{number}", root.resolve()))
            print(json.dumps(saved[-1], indent=2), flush=True)
    return 0 if is_met(pairs, saved) else 1


if __name__ == "__main__":
    sys.exit(main())
