"""Wheel and sdist, built and then installed into an empty environment of each Python that is here: `python -m
tests.packages`.

Each is tried by `am --version`, `am demo --fast`, `mcp_agent_mail.asgi` and what pages are made of, in an empty folder
and an empty HOME, with what the package index gives today. Prints a line for each, says which Pythons
were not here, and ends with 1 where one failed.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
ROOT = Path(__file__).parents[2]
INSTALL_WITHIN_S = 900
TRY_WITHIN_S = 180
READ_IN_GIT = "commits in Git, newest first:"
"""Above what the demo reads back from the archive in the end."""
_PAGES = """
from mcp_agent_mail.web.assets import asset_set
from mcp_agent_mail.web.render.environment import environment
made = environment()
for name in made.list_templates():
    made.get_template(name)
print(sorted(asset_set().assets), made.list_templates())
"""
PARTS_OF_PAGES = ("frame.css", "app.js", "inter.woff2", "icons.svg", "page.html", "inbox.html", "sign_in.html")


class PackageFailed(Exception):
    """What was run, and the end of what it said."""


def run(command: list[str], *, cwd: Path, within_s: int) -> str:
    """Standard output; in `cwd`, which is HOME too. Raises PackageFailed."""
    env = {"HOME": str(cwd), "PATH": f"{Path(command[0]).parent}:/usr/bin:/bin", "LANG": "C.UTF-8"}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=within_s, check=False)
    if done.returncode:
        raise PackageFailed(f"{' '.join(command)}: {done.returncode}\n{(done.stdout + done.stderr)[-2_000:]}")
    return done.stdout


def version_of(python: str) -> str | None:
    """None where nothing of that name runs."""
    path = shutil.which(python)
    told = [path or "", "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"]
    asked = path and subprocess.run(told, capture_output=True, text=True, check=False)
    return asked.stdout.strip() if asked and asked.returncode == 0 else None


def built(folder: Path) -> list[Path]:
    """The sdist and the wheel, by the build backend itself."""
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(folder)], cwd=ROOT, check=True)
    return sorted(folder.iterdir())


def try_out(package: Path, python: str, folder: Path) -> None:
    """Raises PackageFailed."""
    folder.mkdir()
    run([shutil.which(python) or python, "-m", "venv", str(folder / "venv")], cwd=folder, within_s=TRY_WITHIN_S)
    own = folder / "venv" / "bin"
    install = [str(own / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(package)]
    run(install, cwd=folder, within_s=INSTALL_WITHIN_S)
    run([str(own / "am"), "--version"], cwd=folder, within_s=TRY_WITHIN_S)
    told = run([str(own / "am"), "demo", "--fast", "--no-keep"], cwd=folder, within_s=TRY_WITHIN_S)
    if READ_IN_GIT not in told:
        raise PackageFailed(f"am demo told nothing:\n{told}")
    run([str(own / "python"), "-c", "from mcp_agent_mail.asgi import app"], cwd=folder, within_s=TRY_WITHIN_S)
    pages = run([str(own / "python"), "-c", _PAGES], cwd=folder, within_s=TRY_WITHIN_S)
    if missing := [name for name in PARTS_OF_PAGES if name not in pages]:
        raise PackageFailed(f"of the pages these are missing: {missing}")


def rounds(pythons: list[str], scratch: Path) -> Iterator[tuple[str, str | None]]:
    """What was tried, and what failed of it."""
    packages = built(scratch / "dist")
    for number, python in enumerate(pythons):
        for package in packages:
            kind = "wheel" if package.suffix == ".whl" else "sdist"
            try:
                try_out(package, python, scratch / f"{kind}-{number}")
                failed = None
            except (PackageFailed, subprocess.TimeoutExpired) as error:
                failed = str(error)
            yield f"{kind} on Python {version_of(python)}", failed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.packages", description=__doc__.partition(":")[0])
    parser.add_argument("--python", action="append", default=[], metavar="PROGRAM", help="one more Python to try")
    wanted = [*(f"python{version}" for version in VERSIONS), *parser.parse_args().python]
    here = {version: python for python in wanted if (version := version_of(python)) is not None}
    faults = 0
    with tempfile.TemporaryDirectory() as scratch:
        for what, failed in rounds(list(here.values()), Path(scratch)):
            faults += failed is not None
            sys.stdout.write(f"{what}: {failed or 'installed, and am demo played'}\n")
            sys.stdout.flush()
    missing = [version for version in VERSIONS if not any(one.startswith(f"{version}.") for one in here)]
    sys.stdout.write(f"not here, and not tried: {', '.join(missing) or 'none'}\n")
    return 1 if faults or not here else 0


if __name__ == "__main__":
    sys.exit(main())
