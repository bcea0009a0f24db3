from __future__ import annotations

from tests.core import settings_pages

_REMEDY = "run `python -m tests.core.settings_pages`"


def test_the_env_example_holds_the_rows() -> None:
    assert settings_pages.ENV_EXAMPLE.read_text(encoding="utf-8") == settings_pages.env_example(), _REMEDY


def test_the_reference_page_holds_the_rows() -> None:
    page = settings_pages.REFERENCE.read_text(encoding="utf-8")

    assert settings_pages.written_rows(page) == settings_pages.reference_rows(), _REMEDY
