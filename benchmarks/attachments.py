"""What attachments cost, and those who send none: `python -m benchmarks.attachments --before REVISION`.

Fifty senders attach one picture of a mebibyte: how often it lies on disk and in Git. Then the CPU of the server per
send without attachments, against a version from before there were any, in alternating pairs. See
docs/reference/benchmarks.md.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from benchmarks.load import run_all
from benchmarks.mix import Pool, agent_names
from benchmarks.processes import Server
from benchmarks.report import Figure, publish, table
from benchmarks.scenarios import call, populate, sends, wait_drained
from benchmarks.stand import Stand
from benchmarks.versions import Version, check_out_both
from benchmarks.wire import Refused, Rpc

TARGET = 1.02
SENDERS = 50
CLIENTS = 8
RECIPIENTS = 2
MIB = 1 << 20
_SIDE = 591
"""Noise of three bytes a pixel, which no format makes smaller: a mebibyte."""


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.attachments", description=__doc__)
    parser.add_argument("--before", default="ea1356c", metavar="REVISION", help="the version without attachments")
    parser.add_argument("--rounds", type=int, default=6, help="times that both servers start; 0: pictures alone")
    parser.add_argument("--pairs", type=int, default=8, help="alternating pairs of each round")
    parser.add_argument("--sends", type=int, default=400, help="of each phase")
    parser.add_argument("--messages", type=int, default=500, help="stored before it begins")
    parser.add_argument("--same", action="store_true", help="the work tree against itself: how far the method strays")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/attachments.json"))
    return parser.parse_args(argv)


def cpu_of_process_s(pid: int) -> float:
    """All threads of a process, those that ended too; to the nanosecond (Linux: the clock of a process by its id)."""
    return time.clock_gettime((~pid << 3) | 2)


class PictureSender:
    """One agent that attaches the same file to each of its messages."""

    def __init__(self, project: Path, me: str, other: str, *, converts: bool) -> None:
        self._arguments = {
            "project_key": str(project),
            "sender_name": me,
            "to": [other],
            "subject": "A picture",
            "body_md": "See the picture.",
            "attachment_paths": ["picture.png"],
            "convert_images": converts,
        }

    def next(self) -> tuple[str, str, dict[str, Any]]:
        return "send", "send_message", self._arguments

    def answered(self, kind: str, body: bytes) -> None:
        """Nothing follows from an answer."""


def make_picture(folder: Path) -> Path:
    """A PNG of a mebibyte, not a byte less."""
    folder.mkdir(parents=True)
    path = folder / "picture.png"
    Image.frombytes("RGB", (_SIDE, _SIDE), random.Random(1).randbytes(3 * _SIDE * _SIDE)).save(path)
    assert path.stat().st_size >= MIB
    return path


def send_pictures(stand: Stand, *, converts: bool) -> dict[str, float]:
    """What fifty senders of one picture leave on disk and in Git, and what it took."""
    name = "converted" if converts else "as it is"
    root, folder = stand.scratch / name, stand.scratch / f"{name} code"
    size = make_picture(folder).stat().st_size
    server = stand.ours(root, Rpc())
    call(server, "ensure_project", human_key=str(folder))
    names = agent_names(SENDERS)
    for one in names:
        call(server, "register_agent", project_key=str(folder), program="bench", model="none", name=one)
    pairs = [
        (Rpc(), PictureSender(folder, one, names[number - 1], converts=converts)) for number, one in enumerate(names)
    ]
    sample = run_all(server.port, pairs, SENDERS)
    if sample.failures:
        raise Refused(f"{sample.failures} sends failed: {sample.first_failure}")
    wait_drained(server)
    memory = peak_mib(server)
    stand.stop(server)
    (archive,) = (place.parent for place in root.glob("projects/*/archive.json"))
    return {
        "sends": SENDERS,
        "picture_bytes": size,
        "p50_ms": round(sample.percentile(0.5), 1),
        "p99_ms": round(sample.percentile(0.99), 1),
        "contents_on_disk": len([path for path in root.glob("attachments/??/*") if path.is_file()]),
        "files_of_the_archive": len(_listed(archive, "ls-tree", "-r", "--name-only", "HEAD", "attachments/")),
        "large_blobs_in_git": len(_large_blobs(archive)),
        "server_peak_mib": memory,
    }


def peak_mib(server: Server) -> float:
    """Of the server's own process, since its start."""
    lines = Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


def _large_blobs(archive: Path) -> list[str]:
    asked = ("cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectsize) %(objectname)")
    rows = [line.split() for line in _listed(archive, *asked)]
    return [name for kind, size, name in rows if kind == "blob" and int(size) > MIB // 8]


def _listed(archive: Path, *arguments: str) -> list[str]:
    done = subprocess.run(["git", "-C", archive, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def cpu_us_per_send(stand: Stand, server: Server, name: str, pool: Pool, seed: int, count: int) -> float:
    """Of the server's process alone: the archiver's work waits for no sender."""
    pairs = sends(Rpc, CLIENTS, RECIPIENTS, pool, seed=seed)
    wait_drained(server)
    with stand.phase(name, server):
        before = cpu_of_process_s(server.process.pid)
        sample = run_all(server.port, pairs, count)
        used_s = cpu_of_process_s(server.process.pid) - before
    if sample.failures:
        raise Refused(f"{sample.failures} sends failed: {sample.first_failure}")
    return 1e6 * used_s / sample.counted


def measure(stand: Stand, versions: Sequence[Version], chosen: argparse.Namespace) -> list[dict[str, float]]:
    """Both get the same sends in each pair; odd pairs run in reverse order. Each round has new servers, started in the
    other order: of two equal ones the first was seen to need two per cent more.
    """
    pairs: list[dict[str, float]] = []
    for turn in range(chosen.rounds):
        order = list(versions) if turn % 2 == 0 else list(reversed(versions))
        pairs += _round(stand, order, turn, chosen)
    return pairs


def _round(stand: Stand, versions: Sequence[Version], turn: int, chosen: argparse.Namespace) -> list[dict[str, float]]:
    servers: dict[str, Server] = {}
    for version in versions:
        servers[version.name] = stand.ours(stand.scratch / version.name / f"store{turn}", Rpc(), **version.environment)
        populate(servers[version.name], chosen.messages)
    pools = {name: Pool(seed=2) for name in servers}
    pairs = []
    for number in range(chosen.pairs):
        order = list(servers) if number % 2 == 0 else list(reversed(servers))
        used = {name: cpu_us_per_send(stand, servers[name], name, pools[name], number, chosen.sends) for name in order}
        share = used["now"] / used["before"]
        print(f"round {turn + 1}, pair {number + 1}: {used} {share:.3f}", file=sys.stderr, flush=True)
        pairs.append(used)
    for server in servers.values():
        stand.stop(server)
    return pairs


def figures_of(pairs: Sequence[dict[str, float]]) -> list[Figure]:
    """Of the CPU per send; none without pairs."""
    if not pairs:
        return []
    return [
        Figure(
            name="CPU of the server per send without attachments, now against before",
            values=[pair["now"] / pair["before"] for pair in pairs],
            target=TARGET,
        ),
        Figure(name="CPU of the server per send, now", values=[pair["now"] for pair in pairs], unit="us"),
        Figure(name="CPU of the server per send, before", values=[pair["before"] for pair in pairs], unit="us"),
    ]


def main() -> int:
    chosen = parse(sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="agent-mail-attachments-") as scratch, Stand(Path(scratch)) as stand:
        os.sync()
        pictures = {name: send_pictures(stand, converts=name == "converted") for name in ("as it is", "converted")}
        for name, found in pictures.items():
            print(f"{SENDERS} senders of one picture, {name}: {found}")
        versions = check_out_both(None if chosen.same else chosen.before, stand.scratch)
        pairs = measure(stand, versions, chosen)
    figures = figures_of(pairs)
    blobs = [found[key] for found in pictures.values() for key in ("contents_on_disk", "large_blobs_in_git")]
    figures.append(Figure(name="blobs of fifty sends of one picture, on disk and in Git", values=blobs, target=1))
    print(table(f"Sends over /rpc, {CLIENTS} clients (median of {len(pairs)} pairs, range)", figures))
    if pairs:
        means = [statistics.fmean(pair[name] for pair in pairs) for name in ("now", "before")]
        print(f"ratio of the means: {means[0] / means[1]:.3f}")
    commits = {version.name: version.commit for version in versions}
    return publish(figures, stand.seen, chosen.json, pairs=pairs, pictures=pictures, versions=commits)


if __name__ == "__main__":
    sys.exit(main())
