"""Where the protocol testers are: Node beside the interpreter, npm packages in `<venv>/npm`, put there by `make`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

WITHIN_S = 300


class NotInstalled(Exception):
    """A tester is missing; the message says how to get it."""


@dataclass(frozen=True, slots=True)
class Testers:
    """`run` starts one of them in a home folder of its own, so that it neither finds nor leaves anything there."""

    node: str
    packages: Path
    home: Path

    @classmethod
    def installed(cls, packages: Path, home: Path) -> Testers:
        path = os.pathsep.join([str(Path(sys.prefix) / "bin"), os.environ.get("PATH", "")])
        node = shutil.which("node", path=path)
        if node is None or not (packages / "node_modules").is_dir():
            raise NotInstalled(f"No Node, or no packages in {packages}: run `make inspector` or `make conformance`.")
        return cls(node, packages, home)

    def run(self, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `node_modules/<script>`."""
        return subprocess.run(
            [self.node, str(self.packages / "node_modules" / script), *arguments],
            env={**os.environ, "HOME": str(self.home)},
            capture_output=True,
            text=True,
            check=False,
            timeout=WITHIN_S,
            cwd=self.home,
        )
