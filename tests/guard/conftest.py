from __future__ import annotations

from pathlib import Path

import pytest

from tests.guard.code_repository import Code, make_code


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Code:
    """A repository of a person whose home folder is in `tmp_path`; its path holds a blank and a quote."""
    code = make_code(tmp_path, name="an app's code")
    monkeypatch.setenv("HOME", str(code.home))
    return code
