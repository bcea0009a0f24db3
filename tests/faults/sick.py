"""A disk that is sick for one server: looks that hang, reads that fail. See sick.c."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

SHIM = Path(__file__).with_name("sick.c")


@dataclass(frozen=True, slots=True)
class SickDisk:
    """`hang` and `fail_reads` begin at once and last until `heal`."""

    shim: Path
    below: Path
    switches: Path

    def environment(self) -> dict[str, str]:
        return {
            "LD_PRELOAD": str(self.shim),
            "SICK_BELOW": str(self.below),
            "SICK_HANGS": str(self._hangs),
            "SICK_READS": str(self._reads),
        }

    def hang(self) -> None:
        self._hangs.touch()

    def fail_reads(self) -> None:
        self._reads.touch()

    def heal(self) -> None:
        self._hangs.unlink(missing_ok=True)
        self._reads.unlink(missing_ok=True)

    @property
    def _hangs(self) -> Path:
        return self.switches / "hangs"

    @property
    def _reads(self) -> Path:
        return self.switches / "reads"


def sick_disk(folder: Path, below: Path) -> SickDisk:
    """What lies `below` can be made sick; the test is skipped, loudly, where that cannot be built."""
    if sys.platform != "linux" or shutil.which("cc") is None:
        pytest.skip("SKIPPED: no sick disk without Linux and a C compiler (cc)")
    switches = folder / "switches"
    switches.mkdir(parents=True)
    below.mkdir(parents=True, exist_ok=True)
    shim = folder / "sick.so"
    flags = ("-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-U_FORTIFY_SOURCE")
    subprocess.run(["cc", *flags, "-o", shim, SHIM, "-ldl"], check=True)
    return SickDisk(shim, below.resolve(), switches.resolve())
