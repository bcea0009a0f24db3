"""A home and a current folder that are nobody's, to read settings in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from mcp_agent_mail.core.settings.server import LoadedSettings, Settings, load_settings
from mcp_agent_mail.core.settings.sources import Mistake, SettingsError

TOKEN = "a-long-and-good-token"


class Machine:
    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.cwd = root / "work"
        self.home.mkdir()
        self.cwd.mkdir()
        self._written: Path | None = None

    def load(
        self,
        environ: Mapping[str, str] | None = None,
        *,
        overrides: Mapping[str, str] | None = None,
        env_file: Path | None = None,
    ) -> LoadedSettings:
        """With the file that `write_env` wrote, unless another is named."""
        environ = {"HOME": str(self.home), **(environ or {})}
        named = env_file or (None if "AGENT_MAIL_ENV_FILE" in environ else self._written)
        return load_settings(environ, cwd=self.cwd, overrides=overrides, env_file=named)

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
        self._written = path
        return path

    def plant_env(self, text: str) -> None:
        """A `.env` in the current folder that nobody names."""
        (self.cwd / ".env").write_text(text, encoding="utf-8")
