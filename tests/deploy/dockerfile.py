"""What a Dockerfile says, and the same steps in an empty folder where no container can be run.

Not as in a container: packages of the system are those of this machine (`apt-get` is left out), the user is a number
alone (`useradd` is left out; the server runs under it where the test may do that), and the image's folders lie in the
empty one.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDERS = ("opt/mcp-agent-mail", "src", "data")
"""Of the image, which lie in the empty folder; a test holds the Dockerfile to them."""
LEFT_OUT = ("apt-get", "groupadd", "useradd", "rm -rf /var/lib/apt/lists/*")
_MAPPED = re.compile(rf"(?<![\w/.-])/({'|'.join(FOLDERS)})(?![\w-])")
_STEP_WITHIN_S = 900.0


@dataclass(frozen=True, slots=True)
class Step:
    instruction: str
    text: str

    def words(self) -> list[str]:
        """Of the exec form, or those that a shell would see."""
        return json.loads(self.text) if self.text.startswith("[") else shlex.split(self.text)


def steps_of(dockerfile: Path) -> list[Step]:
    """In their order, with continued lines joined and the defaults of ARG filled in."""
    lines = [line for line in dockerfile.read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n", " ", "\n".join(lines))
    steps, arguments = [], dict[str, str]()
    for line in filter(None, (line.strip() for line in joined.splitlines())):
        instruction, _, text = line.partition(" ")
        text = re.sub(r"\$\{(\w+)\}", lambda match: arguments.get(match[1], match[0]), text.strip())
        if instruction == "ARG":
            name, _, default = text.partition("=")
            arguments[name] = default
        steps.append(Step(instruction, text))
    return steps


def let_in_by(dockerignore: Path) -> list[str]:
    """What a context has whose ignore file leaves out all (`*`) but what it names."""
    lines = [line for line in dockerignore.read_text().splitlines() if line and not line.startswith("#")]
    assert lines[0] == "*", "everything is left out first"
    return [line[1:] for line in lines if line.startswith("!")]


@dataclass(slots=True)
class EmptyRoot:
    """`make` takes the steps; then `command` is what a container would run, in `environment`, as `user`."""

    root: Path
    context: Path
    python: str
    environment: dict[str, str] = field(default_factory=dict)
    cwd: Path = Path("/")
    user: int | None = None
    entrypoint: Sequence[str] = ()
    arguments: Sequence[str] = ()
    healthcheck: Sequence[str] = ()

    @property
    def command(self) -> list[str]:
        return [self.mapped(word) for word in (*self.entrypoint, *self.arguments)]

    def mapped(self, text: str) -> str:
        return _MAPPED.sub(lambda match: f"{self.root}/{match[1]}", text)

    def make(self, steps: Sequence[Step]) -> None:
        for step in steps:
            self._take(step)

    def _take(self, step: Step) -> None:
        match step.instruction:
            case "FROM":
                self._begin_stage()
            case "WORKDIR":
                self.cwd = Path(self.mapped(step.text))
                self.cwd.mkdir(parents=True, exist_ok=True)
            case "COPY":
                self._copy(step.words())
            case "RUN":
                self._run(step.text)
            case "ENV":
                pairs = (word.partition("=") for word in step.words())
                self.environment |= {name: self.mapped(value) for name, _, value in pairs}
            case "USER":
                self.user = int(step.text.partition(":")[0])
            case _:
                self._note(step)

    def _note(self, step: Step) -> None:
        """What is done when a container starts."""
        match step.instruction:
            case "ENTRYPOINT":
                self.entrypoint = step.words()
            case "CMD":
                self.arguments = step.words()
            case "HEALTHCHECK":
                self.healthcheck = json.loads(step.text.partition(" CMD ")[2])
            case "ARG" | "VOLUME" | "EXPOSE" | "STOPSIGNAL":
                pass
            case _:
                raise AssertionError(f"no step of this kind is known: {step}")

    def _begin_stage(self) -> None:
        """The stage before stands aside: what is not copied out of it is not there."""
        if self.root.exists():
            self.root.rename(self._earlier)
        self.root.mkdir()
        self.root.chmod(0o755)
        self.environment, self.cwd = {}, self.root

    @property
    def _earlier(self) -> Path:
        return self.root.with_name(f"{self.root.name}-build")

    def _copy(self, words: Sequence[str]) -> None:
        *sources, target = [word for word in words if not word.startswith("--")]
        is_from_build = words[0].startswith("--from=")
        base = self._earlier if is_from_build else self.context
        let_in = let_in_by(self.context / ".dockerignore")
        destination = self.cwd / self.mapped(target)
        for source in sources:
            assert is_from_build or source in let_in, f"{source} is not in the context"
            found = base / source.lstrip("/")
            if found.is_dir():
                ignored = shutil.ignore_patterns("__pycache__") if not is_from_build else None
                shutil.copytree(found, destination, symlinks=True, ignore=ignored)
            else:
                file = destination / found.name if target.endswith("/") else destination
                file.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(found, file)

    def _run(self, text: str) -> None:
        parts = [part.strip() for part in text.split("&&")]
        kept = [self._as_here(part) for part in parts if not part.startswith(LEFT_OUT)]
        script = f'set -eu; umask 022; python() {{ {shlex.quote(self.python)} "$@"; }}; {" && ".join(kept) or "true"}'
        # The index that packages come from is this machine's.
        kept_names = [name for name in os.environ if name.startswith(("PIP_", "HOME", "PATH", "SSL_", "REQUESTS_"))]
        done = subprocess.run(
            ["/bin/sh", "-c", script],
            cwd=self.cwd,
            env={name: os.environ[name] for name in kept_names},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=_STEP_WITHIN_S,
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}"

    def _as_here(self, part: str) -> str:
        mapped = self.mapped(part)
        return mapped if os.geteuid() == 0 else re.sub(r" --(owner|group)=\d+", "", mapped)

    def started(self, command: Sequence[str], more: Mapping[str, str], log: Path) -> subprocess.Popen[bytes]:
        """A process as a container has it: these variables and no others, under the image's user where we may."""
        # Any: a number, and an empty list.
        as_user: dict[str, Any] = (
            {"user": self.user, "group": self.user, "extra_groups": []} if os.geteuid() == 0 else {}
        )
        environment = {**self.environment, **more}
        program = shutil.which(command[0], path=environment["PATH"])
        assert program is not None, f"{command[0]} is not in {environment['PATH']}"
        with log.open("wb") as output:
            return subprocess.Popen(
                [program, *command[1:]],
                cwd=self.cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                **as_user,
            )

    def files_that_its_user_may_write(self) -> Iterator[Path]:
        """Below the folder of the program: in a container none can be written anyway."""
        for path in (self.root / FOLDERS[0]).rglob("*"):
            if not path.is_symlink() and (path.stat().st_uid == self.user or path.stat().st_mode & 0o022):
                yield path
