"""What the service is told of the environment of the command that installs it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.service.test_install import UNIT, am

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="systemd is Linux's")


def test_a_dot_env_of_the_folder_is_named_or_the_service_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("CLAUDE_MAILBOX_ENABLED=true\nCLAUDE_MAILBOX_PORTS=0\nHTTP_PORT=0\n")

    refused = am(tmp_path, "install")
    is_written = (tmp_path / UNIT).exists()
    named = am(tmp_path, "install", AGENT_MAIL_ENV_FILE=".env")
    text = (tmp_path / UNIT).read_text()
    without = am(tmp_path, "install", AGENT_MAIL_ENV_FILE="/dev/null")

    assert (refused[0], is_written) == (1, False)
    assert f"{tmp_path}/.env sets CLAUDE_MAILBOX_ENABLED" in refused[2]
    assert f"AGENT_MAIL_ENV_FILE={tmp_path}/.env am service install" in refused[2]
    assert "/dev/null" not in refused[2]
    assert named[1]["doors"] == ["claude-mailbox"]
    assert f'Environment="AGENT_MAIL_ENV_FILE={tmp_path}/.env"\n' in text
    assert (without[0], without[1]["doors"]) == (0, [])


def test_each_setting_of_the_environment_is_told_and_a_secret_named_alone(tmp_path: Path) -> None:
    server = {
        "POSTAL_ENABLED": "true",
        "BACKUP_DIR": "kept",
        "LOG_LEVEL": "DEBUG",
        "FACADES_PROJECT": "~/shop",
        "HTTP_BEARER_TOKEN": "s3cret-bearer",
        "WEBHOOK_URLS": "https://hooks.example/s3cret",
        "WEBHOOK_SECRET": "s3cret" * 8,
    }
    client = {"AGENT_NAME": "BlueLake", "AGENT_MAIL_TOKEN": "s3cret-client"}

    installed = am(tmp_path, "install", **server, **client)[1]
    text = (tmp_path / UNIT).read_text()

    told = [line.removeprefix("Environment=") for line in text.splitlines() if line.startswith("Environment=")]
    expected = ("HTTP_PORT=0", "POSTAL_ENABLED=true", "LOG_LEVEL=DEBUG")
    paths = (f"BACKUP_DIR={tmp_path}/kept", f"FACADES_PROJECT={tmp_path}/shop")
    assert sorted(told) == sorted(f'"{one}"' for one in (*expected, *paths))
    assert "s3cret" not in text
    assert installed["doors"] == ["postal"]
    assert installed["notes"][0].startswith("HTTP_BEARER_TOKEN, WEBHOOK_URLS and WEBHOOK_SECRET are secrets and not")
