from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.given_mail import GivenMail, open_given_mail


@pytest.fixture
def given(tmp_path: Path) -> Iterator[GivenMail]:
    with open_given_mail(tmp_path / "store") as made:
        yield made
