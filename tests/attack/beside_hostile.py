"""What a running server, its image children and its other callers feel of hostile attachments: `make hostile`.

`python -m tests.attack.beside_hostile` prints peak memories, the p99 of plain sends alone and beside hostile images in
alternation, and how many bytes of planted secrets lie among the contents after hostile paths were asked for, links
exchanged while they were opened among them. See docs/reference/benchmarks.md.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from benchmarks.load import drive
from benchmarks.mix import Pool
from benchmarks.processes import Server
from benchmarks.report import Figure, publish, table
from benchmarks.scenarios import call, populate, sends, wait_drained
from benchmarks.stand import Stand
from benchmarks.wire import Rpc
from mcp_agent_mail.features.attachments.image_protocol import MEMORY_BYTES
from tests.attack.hostile_images import long_images, quick_images
from tests.attack.lent_place import SECRET, build_place
from tests.attack.test_attached_paths import NEVER, OUTSIDE
from tests.attack.test_hostile_images import memory_mib
from tests.served import children_of

TARGET = 1.5
CLIENTS = 4
AT_ONCE = 3
"""So many hostile senders: one more than there are image children."""
SWAPS_WITHIN_S = 5.0
_CONVERTER = b"mcp_agent_mail.image_converter"
_LOOK_S = 0.02


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.attack.beside_hostile", description=__doc__)
    parser.add_argument("--pairs", type=int, default=8, help="alternating pairs")
    parser.add_argument("--seconds", type=float, default=4.0, help="measured time of each phase")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/hostile.json"))
    return parser.parse_args(argv)


def tell(text: str) -> None:
    print(text, flush=True)  # noqa: T201  # for a person


def send(server: Server, project: Path, paths: Sequence[str], **more: Any) -> tuple[int, Any]:  # JSON
    """Status and answer of a send with attachments, refused or not."""
    arguments = {
        "project_key": str(project),
        "sender_name": "Hostile",
        "to": ["Victim"],
        "subject": "x",
        "body_md": "x",
        "attachment_paths": list(paths),
        **more,
    }
    asked = urllib.request.Request(  # our own server
        f"http://127.0.0.1:{server.port}/rpc/send_message",
        data=json.dumps(arguments).encode(),
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(asked, timeout=120) as answer:  # our own server
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.load(refused)


def settle(server: Server, project: Path) -> None:
    call(server, "ensure_project", human_key=str(project))
    for name in ("Hostile", "Victim"):
        call(server, "register_agent", project_key=str(project), program="attack", model="none", name=name)


class Weigher(threading.Thread):
    """The most that each image child had of address space and memory, in MiB, by process id."""

    def __init__(self, server: Server) -> None:
        super().__init__(daemon=True)
        self._pid = server.process.pid
        self._ended = threading.Event()
        self.spaces: dict[int, float] = {}
        self.resident: dict[int, float] = {}

    def run(self) -> None:
        known: dict[int, bool] = {}
        while not self._ended.wait(_LOOK_S):
            for pid in children_of(self._pid):
                if pid not in known:
                    known[pid] = _CONVERTER in _command(pid)
                if known[pid]:
                    self.spaces[pid] = max(self.spaces.get(pid, 0.0), memory_mib(pid, "VmPeak"))
                    self.resident[pid] = max(self.resident.get(pid, 0.0), memory_mib(pid, "VmHWM"))

    def end(self) -> None:
        self._ended.set()
        self.join()


def _command(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


@contextmanager
def hostile_senders(server: Server, project: Path, images: Iterator[str], told: Counter[str]) -> Iterator[None]:
    """Each image in turn, from several senders at once, until the end of the block."""
    ended, lock = threading.Event(), threading.Lock()

    def attack() -> None:
        while not ended.is_set():
            with lock:
                name = next(images)
            status, answer = send(server, project, [name])
            told[f"{status} {answer.get('error', {}).get('type', '')}".strip()] += 1

    attackers = [threading.Thread(target=attack, daemon=True) for _ in range(AT_ONCE)]
    for attacker in attackers:
        attacker.start()
    try:
        yield
    finally:
        ended.set()
        for attacker in attackers:
            attacker.join()


def beside_images(stand: Stand, chosen: argparse.Namespace) -> dict[str, Any]:
    """Plain sends, alone and beside, in alternation; each hostile image is sent once at least."""
    project = stand.scratch / "code"
    project.mkdir()
    images = [*long_images(), *quick_images()]
    for number, (_, content) in enumerate(images):
        (project / str(number)).write_bytes(content)
    server = stand.ours(stand.scratch / "images", Rpc())
    populate(server, 500)
    settle(server, project)
    before = memory_mib(server.process.pid, "VmHWM")
    weigher, told, pool = Weigher(server), Counter[str](), Pool(seed=2)
    weigher.start()
    turns = itertools.cycle(str(number) for number in range(len(images)))
    pairs = []
    for number in range(chosen.pairs):
        pair = {}
        for name in ("alone", "beside") if number % 2 == 0 else ("beside", "alone"):
            load = sends(Rpc, CLIENTS, 2, pool, seed=number)
            if name == "alone":
                pair[name] = drive(server.port, load, chosen.seconds).percentile(0.99)
            else:
                with hostile_senders(server, project, turns, told):
                    pair[name] = drive(server.port, load, chosen.seconds).percentile(0.99)
        tell(f"pair {number + 1}: {pair}")
        pairs.append(pair)
    while told.total() < len(images):
        told[str(send(server, project, [next(turns)])[0])] += 1
    wait_drained(server)
    weigher.end()
    return {
        "images": len(images),
        "sent": told.total(),
        "told": dict(told),
        "pairs": pairs,
        "children": len(weigher.spaces),
        "child_address_space_mib": round(max(weigher.spaces.values()), 1),
        "child_resident_mib": round(max(weigher.resident.values()), 1),
        "server_before_mib": round(before, 1),
        "server_peak_mib": round(memory_mib(server.process.pid, "VmHWM"), 1),
    }


def ask_for_paths(stand: Stand) -> dict[str, Any]:
    """Every hostile path, as it is and through a link, and links that are exchanged meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        place = build_place(stand.scratch.resolve() / "place", patch)
        store = place.base / "home/.mcp_agent_mail"
        (store / "mail.sqlite3").unlink()  # the server makes a real one
        (store / "operator.token").unlink()
        store.chmod(0o700)
        archives = (store / "projects").rename(place.base / "archives")  # none is begun over them
        server = stand.ours(store, Rpc())
        (store / "projects").mkdir(exist_ok=True)
        for archive in archives.iterdir():
            archive.rename(store / "projects" / archive.name)
    settle(server, place.app)
    paths = [path for path in (*OUTSIDE, *NEVER) if path != "\ud800/../../outside/secret"]
    told: Counter[int] = Counter()
    for path in paths:
        told[send(server, place.app, [place.spelt(path)], convert_images=False)[0]] += 1
        if path and "\0" not in path:
            link = place.app / "link"
            link.unlink(missing_ok=True)
            with suppress(OSError):
                link.symlink_to(place.spelt(path))
                told[send(server, place.app, ["link"], convert_images=False)[0]] += 1
    swapped = exchanged_in_the_call(place.app, lambda: send(server, place.app, ["swapped"], convert_images=False)[0])
    contents = [path.read_bytes() for path in store.glob("attachments/??/*") if len(path.name) == 64]
    return {
        "paths": len(paths),
        "asked": told.total(),
        "told": {str(status): count for status, count in told.items()},
        "asked_while_links_changed": dict(swapped),
        "bytes_leaked": sum(len(content) for content in contents if SECRET.encode() in content),
        "contents": len(contents),
    }


def exchanged_in_the_call(app: Path, ask: Callable[[], int]) -> dict[str, int]:
    """A link that names now a plan, now a secret, exchanged as fast as it goes."""
    ended = threading.Event()

    def exchange() -> None:
        for target in itertools.cycle(("plan.txt", "../../outside/secret", ".git/config", "deep/plan.txt")):
            if ended.is_set():
                return
            (app / "next").symlink_to(target)
            (app / "next").replace(app / "swapped")

    exchanger = threading.Thread(target=exchange, daemon=True)
    exchanger.start()
    told: Counter[int] = Counter()
    ending = threading.Timer(SWAPS_WITHIN_S, ended.set)
    ending.start()
    while not ended.is_set():
        told[ask()] += 1
    exchanger.join()
    return {str(status): count for status, count in told.items()}


def main() -> int:
    chosen = parse(sys.argv[1:])
    # Not bound: what is asked is how a server and its children share the cores there are.
    with (
        tempfile.TemporaryDirectory(prefix="agent-mail-hostile-") as scratch,
        Stand(Path(scratch), is_bound=False) as stand,
    ):
        paths = ask_for_paths(stand)
        tell(f"paths: {paths}")
        images = beside_images(stand, chosen)
    tell(f"images: {images}")
    pairs = images["pairs"]
    figures = [
        Figure(
            name="p99 of plain sends beside hostile images against alone",
            values=[pair["beside"] / pair["alone"] for pair in pairs],
            target=TARGET,
        ),
        Figure(name="p99 of plain sends, alone", values=[pair["alone"] for pair in pairs], unit="ms"),
        Figure(name="p99 of plain sends, beside", values=[pair["beside"] for pair in pairs], unit="ms"),
        Figure(
            name="address space of an image child at most",
            values=[images["child_address_space_mib"]],
            unit="MiB",
            target=MEMORY_BYTES >> 20,
        ),
        Figure(name="memory of the server at most", values=[images["server_peak_mib"]], unit="MiB"),
        Figure(name="bytes of secrets among the contents", values=[paths["bytes_leaked"]], target=0),
    ]
    tell(table(f"{CLIENTS} plain senders, {AT_ONCE} hostile ones (median of {len(pairs)} pairs, range)", figures))
    medians = [statistics.median(pair[name] for pair in pairs) for name in ("beside", "alone")]
    tell(f"ratio of the medians: {medians[0] / medians[1]:.3f}")
    return publish(figures, stand.seen, chosen.json, images=images, paths=paths)


if __name__ == "__main__":
    sys.exit(main())
