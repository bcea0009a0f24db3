from __future__ import annotations

import json
import os
from pathlib import Path

from tests.cli.command_line import am
from tests.entry_points import install


def test_good_settings_end_with_zero(tmp_path: Path) -> None:
    done = am("config", "check", home=tmp_path)

    assert (done.returncode, done.stdout, done.stderr) == (0, "The settings are good.\n", "")


def test_mistakes_in_an_env_file_are_told_with_their_lines(tmp_path: Path) -> None:
    env_file = tmp_path / "bad.env"
    env_file.write_text("HTTP_PORT=none\nSHUTDOWN_TIMEOUT_SECONDS=0\n")

    done = am("config", "check", "--env-file", str(env_file), home=tmp_path)

    assert done.returncode == 78
    assert f"HTTP_PORT='none' ({env_file}:1)" in done.stderr
    assert f"SHUTDOWN_TIMEOUT_SECONDS='0' ({env_file}:2)" in done.stderr


def test_show_tells_value_and_source_of_every_setting(tmp_path: Path) -> None:
    done = am("config", "show", "--json", home=tmp_path, HTTP_PORT="9000")

    shown = {row["name"]: (row["value"], row["source"]) for row in json.loads(done.stdout)["settings"]}
    assert shown["HTTP_PORT"] == ("9000", "environment")
    assert shown["HTTP_HOST"] == ("127.0.0.1", "default")
    assert shown["STORAGE_ROOT"] == (f"{tmp_path}/.mcp_agent_mail", "default")


def test_show_masks_secrets(tmp_path: Path) -> None:
    token = "0123456789abcdef-secret"

    done = am("config", "show", home=tmp_path, HTTP_BEARER_TOKEN=token, AGENT_MAIL_TOKEN=token)

    assert "HTTP_BEARER_TOKEN\t***\tenvironment" in done.stdout
    assert token not in done.stdout + done.stderr


def test_show_is_tab_separated_when_piped(tmp_path: Path) -> None:
    done = am("config", "show", home=tmp_path)

    assert {line.count("\t") for line in done.stdout.splitlines()} == {2}
    assert "\x1b" not in done.stdout


def test_a_warning_goes_to_stderr(tmp_path: Path) -> None:
    done = am("config", "check", home=tmp_path, HTTP_BEARER_TOKEN="short")

    assert done.returncode == 0
    assert done.stderr.startswith("Warning: HTTP_BEARER_TOKEN")


def test_a_custom_tool_that_a_start_would_refuse_is_a_mistake_and_no_package_is_loaded(tmp_path: Path) -> None:
    site = install(tmp_path, "my-tools", "raise SystemExit('loaded')", mine="make")
    path = f"{site}:{os.environ['PYTHONPATH']}" if "PYTHONPATH" in os.environ else str(site)

    there = am("config", "check", home=tmp_path, PYTHONPATH=path, CUSTOM_TOOLS="mine")
    refused = am("config", "check", home=tmp_path, PYTHONPATH=path, CUSTOM_TOOLS="mine,yours")
    as_json = am("config", "check", "--json", home=tmp_path, PYTHONPATH=path, CUSTOM_TOOLS="yours")
    served = am("serve", "--port", "0", home=tmp_path, PYTHONPATH=path, CUSTOM_TOOLS="yours")

    words = "yours: no installed package has this entry point in the group mcp_agent_mail.tools; there are: mine."
    assert (there.returncode, there.stdout) == (0, "The settings are good.\n")
    assert (refused.returncode, as_json.returncode, served.returncode) == (78, 78, 78)
    assert words in refused.stderr
    assert words in served.stderr
    (mistake,) = json.loads(as_json.stdout)["mistakes"]
    assert words in mistake["hint"]
