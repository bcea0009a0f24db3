"""A server that gives what a test says, and a home whose hooks ask it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.hook_program import HookHome
from tests.clients.hook_server import HookAnswers, hook_server


@pytest.fixture
def answers() -> Iterator[HookAnswers]:
    with hook_server() as answers:
        answers.only_asked = True
        yield answers


@pytest.fixture
def home(tmp_path: Path, answers: HookAnswers) -> HookHome:
    return HookHome(tmp_path, {"AGENT_NAME": "BlueLake", "AGENT_MAIL_URL": answers.url})
