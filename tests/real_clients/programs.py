"""The real agent CLIs, installed from npm in the one version that programs.toml names, and kept for the next run."""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).with_name("programs.toml")
CACHE = "REAL_CLIENTS"
"""The variable that names the folder they are kept in: the Makefile says which."""
INSTALL_WITHIN_S = 600.0
START_WITHIN_S = 60.0
_STAMP = "installed"


class NotHad(Exception):
    """This machine has not got the program, and why: no package, no npm, no index, or it does not run here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A row of programs.toml; without a package `no_package` says why."""

    client: str
    package: str = ""
    version: str = ""
    program: str = ""
    runs_scripts: bool = False
    no_package: str = ""


def programs() -> list[Program]:
    rows = tomllib.loads(DATA.read_text(encoding="utf-8"))
    return [Program(client=client, **row) for client, row in rows.items()]


def install(program: Program) -> Path:
    """The path of the program, which is put there first unless an earlier run has done it. Raises NotHad."""
    if program.no_package:
        raise NotHad(program.no_package)
    folder = _cache() / f"{program.client}-{program.version}"
    found = folder / "node_modules" / ".bin" / program.program
    if not (folder / _STAMP).exists():
        # What an installation that was killed has left is nothing to build on.
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _npm_install(program, folder)
        (folder / _STAMP).touch()
    _require_version(program, found, folder)
    return found


def environment(program: Program, home: Path) -> dict[str, str]:
    """What a program is run with: an own home, no account, and no way to its vendor. Ours is on this very machine."""
    kept = {name: value for name, value in os.environ.items() if name.lower().startswith("npm_config_")}
    # Nobody listens there, and a program that asks no proxy is told by its own name for that.
    nowhere = {"HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1,localhost"}
    # OpenCode fetches its own package from npm before it loads a plugin, and waits for minutes where it cannot.
    return {
        **kept,
        **({} if program.client == "opencode" else nowhere),
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TMPDIR": os.environ.get("TMPDIR", "/tmp"),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "COPILOT_AUTO_UPDATE": "false",
    }


def _cache() -> Path:
    named = os.environ.get(CACHE)
    assert named, f"{CACHE} does not say where the programs are kept: run `make real-clients`."
    return Path(named).absolute()


def _npm_install(program: Program, folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise NotHad("there is no npm to install it with")
    scripts = [] if program.runs_scripts else ["--ignore-scripts"]
    command = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--loglevel=error", *scripts]
    try:
        done = subprocess.run(
            [*command, f"{program.package}@{program.version}"],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=INSTALL_WITHIN_S,
            cwd=folder,
        )
    except subprocess.TimeoutExpired:
        raise NotHad(f"npm did not install it within {INSTALL_WITHIN_S:.0f} s") from None
    if done.returncode != 0:
        raise NotHad(f"npm did not install it: {_last_line(done.stderr)}")


def _require_version(program: Program, found: Path, home: Path) -> None:
    """A program that does not start here (too old a Node, another processor) is none that this machine has."""
    try:
        done = subprocess.run(
            [found, "--version"],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=START_WITHIN_S,
            env=environment(program, home),
            cwd=home,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotHad(f"it does not start here: {error}") from None
    if done.returncode != 0:
        raise NotHad(f"it does not start here: {_last_line(done.stderr or done.stdout)}")
    assert program.version in done.stdout, f"{found} is not {program.version}: {done.stdout}"


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it said nothing"
