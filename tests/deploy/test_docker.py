"""The image: what its Dockerfile and its compose file promise, and its very steps in an empty folder."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.dockerfile import FOLDERS, EmptyRoot, Step, let_in_by, steps_of
from tests.deploy.programs import require_program
from tests.pages.blocks import ROOT
from tests.served import Connection, pause

DOCKERFILE = ROOT / "deploy" / "docker" / "Dockerfile"
COMPOSE = ROOT / "deploy" / "docker" / "compose.yaml"
STEPS = steps_of(DOCKERFILE)
TOKEN = "a-token-of-more-than-sixteen"
_FOLDER = re.compile(r"(?<![\w/.-])/(opt/[\w-]+|src|data)\b")


def of(instruction: str) -> list[Step]:
    return [step for step in STEPS if step.instruction == instruction]


def test_the_image_is_installed_from_the_lock_and_runs_as_a_user_of_its_own() -> None:
    installs = [part for step in of("RUN") for part in step.text.split("&&") if "pip install" in part]
    last_user = max(index for index, step in enumerate(STEPS) if step.instruction == "USER")

    assert ["--require-hashes" in part and "requirements/main.txt" in part for part in installs] == [True, False]
    assert all("--no-deps" in part for part in installs)
    assert "--no-build-isolation" in installs[1]
    assert STEPS[last_user].text == "10001:10001"
    assert not [step for step in STEPS[last_user:] if step.instruction in ("RUN", "COPY", "ADD")]
    assert [step.text for step in of("VOLUME")] == ["/data"]
    assert [step.text.partition(" CMD ")[2] for step in of("HEALTHCHECK")] == ['["am", "status", "--json"]']


def test_the_context_has_what_is_copied_and_nothing_else() -> None:
    copied = {word for step in of("COPY") if "--from=" not in step.text for word in step.words()[:-1]}

    assert set(let_in_by(ROOT / ".dockerignore")) == copied
    assert all((ROOT / name).exists() for name in copied)
    assert {folder for step in STEPS for folder in _FOLDER.findall(step.text)} == set(FOLDERS)


@pytest.mark.parametrize(
    "line",
    [
        '- "127.0.0.1:8765:8765"',
        "HTTP_BEARER_TOKEN: ${HTTP_BEARER_TOKEN:?make one with openssl rand -hex 32}",
        "AGENT_AUTH: strict",
        "read_only: true",
        "- no-new-privileges:true",
        "- store:/data",
        "init: true",
    ],
)
def test_compose_says_it(line: str) -> None:
    assert [text.strip() for text in COMPOSE.read_text().splitlines()].count(line) == 1


def test_compose_gives_no_capability_and_publishes_on_this_machine_alone() -> None:
    text = COMPOSE.read_text()

    assert re.search(r"^    cap_drop:\n      - ALL$", text, re.MULTILINE)
    assert re.search(r"^    tmpfs:\n      - /tmp:\S*noexec", text, re.MULTILINE)
    assert "cap_add" not in text
    assert "privileged" not in text.replace("no-new-privileges", "")
    assert re.findall(r"^ +- \"?([\d.:]+)\"?$", text, re.MULTILINE) == ["127.0.0.1:8765:8765"]


@pytest.mark.deploy
def test_hadolint_finds_nothing() -> None:
    done = subprocess.run(
        [require_program("hadolint"), str(DOCKERFILE)], capture_output=True, text=True, check=False, timeout=60
    )

    assert (done.returncode, done.stdout) == (0, "")


def python_for_others() -> str:
    """A Python that every user of this machine may run."""
    for name in ("/usr/bin/python3", "/usr/local/bin/python3", sys._base_executable):  # type: ignore[attr-defined]
        asks = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))"
        path = Path(os.path.realpath(name))
        is_open = all(folder.stat().st_mode & 0o005 for folder in path.parents) if path.exists() else False
        if (is_open or os.geteuid() != 0) and subprocess.run([name, "-c", asks], check=False).returncode == 0:
            return name
    pytest.skip("There is no Python 3.11 with venv that another user may run")


@pytest.fixture
def folder() -> Iterator[Path]:
    """Which another user may enter; those of pytest are closed to them."""
    made = Path(tempfile.mkdtemp(prefix="agent-mail-image-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.mark.deploy
def test_the_same_steps_in_an_empty_folder_end_in_a_server_that_is_well(folder: Path) -> None:
    port = free_port()
    image = EmptyRoot(folder / "root", ROOT, python_for_others())
    image.make(STEPS)
    given = {"HTTP_PORT": str(port), "HTTP_BEARER_TOKEN": TOKEN}

    bare = image.started(image.command, {"HTTP_PORT": str(port)}, folder / "bare.log")
    bare_code = bare.wait(60)
    server = image.started(image.command, given, folder / "server.log")
    try:
        while " serves http://" not in (folder / "server.log").read_text():
            assert server.poll() is None, (folder / "server.log").read_text()
            pause()
        health = image.started(image.healthcheck, given, folder / "health.json")
        health_code = health.wait(60)
        with Connection(port) as stranger:
            refused = stranger.rpc("health_check", {})
        with Connection(port, {"Authorization": f"Bearer {TOKEN}"}) as friend:
            project = friend.call("ensure_project", human_key="/code/app")
    finally:
        server.send_signal(signal.SIGTERM)
        code = server.wait(60)

    assert (bare_code, health_code, code) == (78, 0, 0)
    assert "an address of this machine only, or HTTP_BEARER_TOKEN" in (folder / "bare.log").read_text()
    assert json.loads((folder / "health.json").read_text())["status"] == "ok"
    assert (refused.status, project["human_key"]) == (401, "/code/app")
    assert list(image.files_that_its_user_may_write()) == []
    owner = (image.root / "data" / "store" / "mail.sqlite3").stat().st_uid
    assert owner == (image.user if os.geteuid() == 0 else os.geteuid())
    assert sorted(path.name for path in image.root.iterdir()) == ["data", "opt"]
