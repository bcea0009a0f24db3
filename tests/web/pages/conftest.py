from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.web.acting import Person, before_the_pages


@pytest.fixture
async def person(tmp_path: Path) -> AsyncIterator[Person]:
    """The operator, signed in."""
    async with before_the_pages(tmp_path) as person:
        await person.sign_in()
        yield person
