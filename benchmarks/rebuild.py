"""What a rebuild takes beside `am doctor verify`: `python -m benchmarks.rebuild [STORE ...]`.

Of each store `am doctor verify` and `am doctor rebuild` are run as a person runs them, with the seconds and the memory
that each took at most. A STORE that is named gets a new database, and keeps its old one as a rebuild does. Without
STORE, stores of `--messages` are made as `benchmarks.care` makes them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import care
from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.store.engine.sqlite.migrate import migrate

TARGET = 6.0
"""So many times what `am doctor verify` takes; a rebuild ends with a verify of what it made."""
MEMORY_TARGET = 4.0
"""Own memory for the largest store by that for the smallest: pages of the database are kept, mail is not."""
_PER_COMMIT = 200


def measure(root: Path, *arguments: str) -> dict[str, Any]:
    """One `am doctor …` on the store: what it says, its seconds, the memory of its own at most."""
    command = [sys.executable, "-m", "mcp_agent_mail", "doctor", *arguments, "--json"]
    began = time.perf_counter()
    environment = {**os.environ, "STORAGE_ROOT": str(root)}
    with (
        tempfile.TemporaryFile() as output,
        subprocess.Popen(command, env=environment, cwd=root, stdout=output) as process,
    ):
        own_mib = 0
        while process.poll() is None:
            own_mib = max(own_mib, care.peak_of(process.pid))
            time.sleep(care.LOOK_S)
        output.seek(0)
        told = json.loads(output.read() or b"null")
    seconds = time.perf_counter() - began
    return {"exit": process.returncode, "seconds": round(seconds, 1), "own_mib": own_mib, "told": told}


def measure_store(root: Path) -> dict[str, Any]:
    migrate(root / "mail.sqlite3", fault_hook=no_fault)
    verified = measure(root, "verify")
    rebuilt = measure(root, "rebuild")
    return {
        "messages": rebuilt["told"]["messages"],
        "verify": {key: verified[key] for key in ("exit", "seconds", "own_mib")},
        "rebuild": {key: rebuilt[key] for key in ("exit", "seconds", "own_mib")},
        "ratio": round(rebuilt["seconds"] / verified["seconds"], 2),
    }


def is_met(figures: list[dict[str, Any]]) -> bool:
    """By the largest store, and its memory beside the smallest one's."""
    smallest, largest = figures[0], figures[-1]
    grown = largest["rebuild"]["own_mib"] / max(1, smallest["rebuild"]["own_mib"])
    clean = all(one[command]["exit"] == 0 for one in figures for command in ("verify", "rebuild"))
    return clean and largest["ratio"] <= TARGET and grown <= MEMORY_TARGET


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rebuild", description=__doc__)
    parser.add_argument("stores", nargs="*", type=Path, metavar="STORE", help="folders of stores, the smallest first")
    parser.add_argument("--messages", type=int, nargs="+", default=[1_000, 100_000])
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="am-rebuild-", dir=asked.scratch) as folder:
        figures = []
        for root in asked.stores or [_made(Path(folder) / str(number), number) for number in asked.messages]:
            figures.append(measure_store(root.resolve()))
            print(json.dumps(figures[-1], indent=2), flush=True)
    return 0 if is_met(figures) else 1


def _made(root: Path, messages: int) -> Path:
    root.mkdir(parents=True)
    care.run(root, messages, _PER_COMMIT)
    return root


if __name__ == "__main__":
    sys.exit(main())
