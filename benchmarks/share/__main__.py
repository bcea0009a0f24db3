"""What giving mail away costs, and what a bundle holds: `python -m benchmarks.share`.

The real `am share export` of generated mail with planted secrets: seconds, memory, bytes; what of the secrets is left;
`am share verify` of it as it is, and with one byte changed in each of many files; a second export after one message
more; searches in it from a plain file server. See docs/reference/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.__main__ import machine, say
from benchmarks.care import LOOK_S, peak_of
from benchmarks.pages.__main__ import percentile
from benchmarks.report import Figure, publish, table
from benchmarks.share.looks import contents_of, left_of, marks_in, places_in, runs_of
from benchmarks.share.mail import PROJECT, SECRETS, add_one, make_mail
from benchmarks.share.searches import SEARCHES, Search, file_server, how, in_browser, in_node, queries
from benchmarks.wire import Refused
from mcp_agent_mail.features.sharing.results import SharedPreset
from tests.features.sharing.planted_secrets import PlantedSecret

MAX_SEARCH_MS = 200.0
MAX_OWN_MIB = 400.0
MAX_REWRITTEN = 0.05
"""Of the files, by one message more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A command as a person runs it: its exit code, what it told as JSON, its seconds, its memory at most."""

    code: int
    told: dict[str, Any]  # `--json` of any command
    seconds: float
    own_mib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A store, whose mail is given away, and the keys of who does."""

    root: Path
    folder: Path
    secrets: Sequence[PlantedSecret]

    @property
    def key(self) -> Path:
        return self.folder / "key"

    def am(self, *arguments: str) -> Ended:
        """Runs `am share …`, whatever becomes of it."""
        command = [sys.executable, "-m", "mcp_agent_mail", "share", *arguments, "--json"]
        environment = {**os.environ, "STORAGE_ROOT": str(self.root)}
        began = time.perf_counter()
        own_mib = 0
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            with subprocess.Popen(command, env=environment, cwd=self.folder, stdout=output, stderr=errors) as process:
                while process.poll() is None:
                    own_mib = max(own_mib, peak_of(process.pid))
                    time.sleep(LOOK_S)
            seconds = time.perf_counter() - began
            output.seek(0)
            text = output.read()
        told = json.loads(text) if process.returncode == 0 else {}
        return Ended(code=process.returncode, told=told, seconds=seconds, own_mib=own_mib)

    def export(self, bundle: Path, preset: SharedPreset) -> Ended:
        ended = self.am("export", str(bundle), "--project", PROJECT, "--preset", str(preset), "--sign", str(self.key))
        if ended.code:
            raise Refused(f"am share export ended with {ended.code}")
        return ended

    def verify(self, bundle: Path) -> int:
        """The exit code."""
        return self.am("verify", str(bundle), "--key", f"{self.key}.pub").code


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.share", description=__doc__)
    parser.add_argument("--messages", type=int, default=10_000, help=f"of these {SECRETS} have a secret")
    parser.add_argument("--changes", type=int, default=50, help="files of which a byte is changed, one after the other")
    parser.add_argument("--searches", type=int, default=SEARCHES)
    parser.add_argument("--scratch", type=Path, help="keep the store and the bundles there")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/share.json"))
    return parser.parse_args(argv)


def exported(given: Given, bundle: Path, preset: SharedPreset) -> list[Figure]:
    """Of the first export, and of one after one message more is in the store."""
    ended = given.export(bundle, preset)
    told = ended.told
    return [
        Figure(name=f"{preset}: export", values=[ended.seconds], unit="s"),
        Figure(name=f"{preset}: export, messages/s", values=[told["messages"] / ended.seconds], unit="/s"),
        Figure(name=f"{preset}: memory at most", values=[ended.own_mib], unit="MiB", target=MAX_OWN_MIB),
        Figure(name=f"{preset}: files", values=[told["files"]]),
        Figure(name=f"{preset}: bytes", values=[told["bytes"] / 1e6], unit="MB"),
        Figure(
            name=f"{preset}: messages with a secret that are in it",
            values=[marks_in(bundle)],
            target=SECRETS if preset is SharedPreset.STANDARD else None,
            at_least=True,
        ),
        Figure(
            name=f"{preset}: secrets of which something is left",
            values=[len(left_of(given.secrets, runs_of(contents_of(bundle))))],
            target=0,
        ),
        Figure(name=f"{preset}: files that tell the project's path", values=[places_in(bundle)], target=0),
    ]


def again(given: Given, bundle: Path, preset: SharedPreset) -> list[Figure]:
    ended = given.export(bundle, preset)
    rewritten = ended.told["changed"] + ended.told["removed"]
    return [
        Figure(name=f"{preset}: export after one message more", values=[ended.seconds], unit="s"),
        Figure(name=f"{preset}: files written for it", values=[rewritten]),
        Figure(
            name=f"{preset}: share of the files written for it",
            values=[rewritten / ended.told["files"]],
            target=MAX_REWRITTEN,
        ),
    ]


def verified(given: Given, bundle: Path, changes: int) -> list[Figure]:
    """As it is, and with one bit of one byte changed in each of so many files of every kind."""
    began = time.perf_counter()
    code = given.verify(bundle)
    took_s = time.perf_counter() - began
    chosen = to_change(bundle, changes)
    caught = sum(_is_noticed(given, bundle, path) for path in chosen)
    return [
        Figure(name="verify", values=[took_s], unit="s"),
        Figure(name="verify of the bundle as it is: exit code", values=[code], target=0),
        Figure(name="changed bytes that verify did not notice", values=[len(chosen) - caught], target=0),
        Figure(name="verify of the bundle put back: exit code", values=[given.verify(bundle)], target=0),
    ]


def to_change(bundle: Path, count: int) -> list[Path]:
    """Of each folder and ending in turn, the manifest and its signature among them."""
    pick = random.Random(9)
    kinds: dict[tuple[str, str], list[Path]] = {}
    for path in sorted(bundle.rglob("*")):
        if path.is_file() and path.stat().st_size:
            kinds.setdefault((path.parent.name, path.suffix), []).append(path)
    for paths in kinds.values():
        pick.shuffle(paths)
    found: list[Path] = []
    while len(found) < count and any(kinds.values()):
        found += [paths.pop() for paths in kinds.values() if paths]
    return found[:count]


def _is_noticed(given: Given, bundle: Path, path: Path) -> bool:
    content = path.read_bytes()
    at = random.Random(str(path.relative_to(bundle))).randrange(len(content))
    path.write_bytes(content[:at] + bytes((content[at] ^ 1,)) + content[at + 1 :])
    try:
        return given.verify(bundle) == 1
    finally:
        path.write_bytes(content)


def searched(bundle: Path, count: int) -> tuple[list[Figure], list[Search]]:
    """From a plain file server, with each search that was made."""
    asked = queries(count)
    with file_server(bundle) as address:
        by = how()
        if by == "browser":
            firsts, others = in_browser(address, asked)
            return search_figures("searches, each the first of a page", firsts) + search_figures(
                "searches in one page", others
            ), [*firsts, *others]
        if by == "node":
            print("NO PAGE WAS SEARCHED: there is no chromium with Playwright; by the script alone")
            seen = in_node(address, bundle, asked)
            return search_figures("searches by the script alone", seen), seen
    raise Refused("neither chromium with Playwright nor Node is there to search with")


def search_figures(name: str, seen: Sequence[Search]) -> list[Figure]:
    times = [one.took_ms for one in seen]
    return [
        Figure(name=f"{name}: p50", values=[percentile(times, 0.5)], unit="ms"),
        Figure(name=f"{name}: p95", values=[percentile(times, 0.95)], unit="ms"),
        Figure(name=f"{name}: slowest", values=[max(times)], unit="ms", target=MAX_SEARCH_MS),
        Figure(name=f"{name}: most read for one", values=[max(one.bytes for one in seen) / 1e3], unit="KB"),
        Figure(
            name=f"{name}: read for one, p50", values=[percentile([one.bytes for one in seen], 0.5) / 1e3], unit="KB"
        ),
        Figure(
            name=f"{name}: that found something", values=[sum(one.found > 0 for one in seen)], target=1, at_least=True
        ),
    ]


def measure(chosen: argparse.Namespace, folder: Path) -> tuple[list[Figure], list[Search]]:
    root = folder / "store"
    root.mkdir()
    say(f"store of {chosen.messages:,} messages")
    given = Given(root=root, folder=folder, secrets=make_mail(root, chosen.messages))
    if given.am("keygen", str(given.key)).code:
        raise Refused("am share keygen failed")
    bundles = {preset: folder / str(preset) for preset in SharedPreset}
    figures = []
    for preset, bundle in bundles.items():
        say(f"export, {preset}")
        figures += exported(given, bundle, preset)
    say("searches")
    found, searches = searched(bundles[SharedPreset.STANDARD], chosen.searches)
    figures += found
    say(f"verify, and {chosen.changes} changed bytes")
    figures += verified(given, bundles[SharedPreset.STANDARD], chosen.changes)
    say("one message more")
    add_one(root, chosen.messages)
    for preset, bundle in bundles.items():
        figures += again(given, bundle, preset)
    return figures, searches


def main() -> int:
    """0, or an exit code of `benchmarks.report`."""
    chosen = parse(sys.argv[1:])
    load_before = round(os.getloadavg()[0], 2)
    if chosen.scratch is not None:
        chosen.scratch.mkdir(parents=True)
    folder = chosen.scratch or Path(tempfile.mkdtemp(prefix="agent-mail-share-"))
    try:
        figures, searches = measure(chosen, folder.resolve())
    finally:
        if chosen.scratch is None:
            shutil.rmtree(folder)
    print(table(f"A bundle of {chosen.messages:,} messages", figures))
    print(f"load average before: {load_before}")
    conditions = {"messages": chosen.messages, "load_average_before": load_before, "machine": machine()}
    shown = [
        {
            "words": one.words,
            "found": one.found,
            "took_ms": round(one.took_ms, 2),
            "files": one.files,
            "bytes": one.bytes,
        }
        for one in searches
    ]
    return publish(figures, [], chosen.json, conditions=conditions, searches=shown)


if __name__ == "__main__":
    sys.exit(main())
