"""A home and a current folder that are nobody's, to read settings in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from mcp_agent_mail.core.settings import LoadedSettings, Mistake, Settings, SettingsError, load_settings

TOKEN = "a-long-and-good-token"


class Machine:
    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.cwd = root / "work"
        self.home.mkdir()
        self.cwd.mkdir()

    def load(
        self,
        environ: Mapping[str, str] | None = None,
        *,
        overrides: Mapping[str, str] | None = None,
        env_file: Path | None = None,
    ) -> LoadedSettings:
        return load_settings(
            {"HOME": str(self.home), **(environ or {})}, cwd=self.cwd, overrides=overrides, env_file=env_file
        )

    def settings(self, **environ: str) -> Settings:
        return self.load(environ).settings

    def mistakes(self, **environ: str) -> tuple[Mistake, ...]:
        with pytest.raises(SettingsError) as refused:
            self.load(environ)
        return refused.value.mistakes

    def notices(self, **environ: str) -> list[tuple[str, str]]:
        return [(notice.level, notice.name) for notice in self.load(environ).notices]

    def write_env(self, text: str, *, mode: int = 0o600) -> Path:
        path = self.cwd / ".env"
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)
        return path
