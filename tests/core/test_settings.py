from __future__ import annotations

import dataclasses
import pickle
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from mcp_agent_mail.core.setting_names import FORMER, LATER, WITHOUT_EFFECT
from mcp_agent_mail.core.setting_rows import ROWS
from mcp_agent_mail.core.settings import (
    LoadedSettings,
    Mistake,
    Secret,
    Settings,
    SettingsError,
    load_settings,
    without_secrets,
)

TOKEN = "a-long-and-good-token"


class Machine:
    """A home and a current folder that are nobody's."""

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


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


# --- The rows ---------------------------------------------------------------------------------------------------------


def test_there_is_one_attribute_per_row_in_the_rows_order() -> None:
    assert [field.name for field in dataclasses.fields(Settings)] == [row.attribute for row in ROWS]


def test_with_nothing_given_every_setting_has_its_default(machine: Machine) -> None:
    loaded = machine.load()

    assert loaded.settings == Settings(
        app_environment="development",
        storage_root=machine.home / ".mcp_agent_mail",
        database_url=f"sqlite:///{machine.home}/.mcp_agent_mail/mail.sqlite3",
        database_echo=False,
        shutdown_timeout_seconds=8,
        http_host="127.0.0.1",
        http_port=8765,
        http_path="/mcp",
        http_allowed_hosts=("localhost", "127.0.0.1", "::1"),
        http_request_log_enabled=False,
        agent_auth="open",
        http_bearer_token=None,
        http_allow_localhost_unauthenticated=False,
        git_author_name="mcp-agent",
        git_author_email="mcp-agent@example.com",
        archive_commit_interval_ms=500,
        agent_name_enforcement_mode="free",
        message_body_max_bytes=2**20,
        log_level="INFO",
        log_rich_enabled=True,
        log_json_enabled=False,
        tools_log_enabled=False,
        agent_mail_env_file=None,
        agent_mail_url=None,
        agent_mail_token=None,
        agent_mail_agent_token=None,
        agent_mail_project=None,
        agent_name=None,
    )
    assert loaded.notices == ()
    assert {source.place for source in loaded.sources.values()} == {"default"}


_GOOD: dict[str, tuple[str, object]] = {
    "APP_ENVIRONMENT": ("staging-2", "staging-2"),
    "STORAGE_ROOT": ("/srv/x/../mail", Path("/srv/mail")),
    "DATABASE_URL": ("sqlite+aiosqlite:////srv/m.db", "sqlite:////srv/m.db"),
    "DATABASE_ECHO": ("YES", True),
    "SHUTDOWN_TIMEOUT_SECONDS": ("600", 600),
    "HTTP_HOST": ("[::1]", "::1"),
    "HTTP_PORT": ("0", 0),
    "HTTP_PATH": ("/a/b/", "/a/b"),
    "HTTP_ALLOWED_HOSTS": ("Mail.Example:8443, [::1] ,", ("mail.example:8443", "[::1]")),
    "HTTP_REQUEST_LOG_ENABLED": ("on", True),
    "AGENT_AUTH": ("Strict", "strict"),
    "HTTP_BEARER_TOKEN": (TOKEN, Secret(TOKEN)),
    "HTTP_ALLOW_LOCALHOST_UNAUTHENTICATED": ("1", True),
    "GIT_AUTHOR_NAME": ("Grace Hopper", "Grace Hopper"),
    "GIT_AUTHOR_EMAIL": ("g@navy.example", "g@navy.example"),
    "ARCHIVE_COMMIT_INTERVAL_MS": ("50", 50),
    "AGENT_NAME_ENFORCEMENT_MODE": ("coerce", "coerce"),
    "MESSAGE_BODY_MAX_BYTES": ("3 MiB", 3 * 2**20),
    "LOG_LEVEL": ("debug", "DEBUG"),
    "LOG_RICH_ENABLED": ("off", False),
    "LOG_JSON_ENABLED": ("t", True),
    "TOOLS_LOG_ENABLED": ("y", True),
    "AGENT_MAIL_ENV_FILE": ("/dev/null", Path("/dev/null")),
    "AGENT_MAIL_URL": ("https://mail.example/mcp", "https://mail.example/mcp"),
    "AGENT_MAIL_TOKEN": (TOKEN, Secret(TOKEN)),
    "AGENT_MAIL_AGENT_TOKEN": (TOKEN, Secret(TOKEN)),
    "AGENT_MAIL_PROJECT": ("/srv/code/", "/srv/code"),
    "AGENT_NAME": ("BlueLake", "BlueLake"),
}

_BAD = [
    ("APP_ENVIRONMENT", "two words"),
    ("STORAGE_ROOT", "~root/x"),
    ("STORAGE_ROOT", "/dev/null"),
    ("DATABASE_URL", "postgresql://u:p@db/mail"),
    ("DATABASE_URL", "sqlite://mail.db"),
    ("DATABASE_URL", "sqlite:///:memory:"),
    ("DATABASE_URL", "sqlite:///mail.db?mode=ro"),
    ("DATABASE_URL", "/"),
    ("DATABASE_ECHO", "2"),
    ("SHUTDOWN_TIMEOUT_SECONDS", "0"),
    ("SHUTDOWN_TIMEOUT_SECONDS", "601"),
    ("SHUTDOWN_TIMEOUT_SECONDS", "8.5"),
    ("HTTP_HOST", "mail.example"),
    ("HTTP_HOST", "127.1.1.1.1"),
    ("HTTP_PORT", "-1"),
    ("HTTP_PORT", "65536"),
    ("HTTP_PORT", "٣"),
    ("HTTP_PATH", "mcp"),
    ("HTTP_PATH", "/"),
    ("HTTP_PATH", "/a/../b"),
    ("HTTP_PATH", "/rpc/x"),
    ("HTTP_PATH", "/health"),
    ("HTTP_ALLOWED_HOSTS", "https://mail.example"),
    ("HTTP_ALLOWED_HOSTS", "*"),
    ("HTTP_ALLOWED_HOSTS", ","),
    ("HTTP_REQUEST_LOG_ENABLED", "ja"),
    ("AGENT_AUTH", "closed"),
    ("HTTP_BEARER_TOKEN", "two words"),
    ("HTTP_BEARER_TOKEN", "pässword-pässword"),
    ("HTTP_ALLOW_LOCALHOST_UNAUTHENTICATED", "maybe"),
    ("GIT_AUTHOR_NAME", "a <b>"),
    ("GIT_AUTHOR_NAME", "a\nb"),
    ("GIT_AUTHOR_EMAIL", "<a@b>"),
    ("ARCHIVE_COMMIT_INTERVAL_MS", "49"),
    ("ARCHIVE_COMMIT_INTERVAL_MS", "60001"),
    ("AGENT_NAME_ENFORCEMENT_MODE", "nice"),
    ("MESSAGE_BODY_MAX_BYTES", "1023"),
    ("MESSAGE_BODY_MAX_BYTES", "4MiB"),
    ("MESSAGE_BODY_MAX_BYTES", "1MB"),
    ("LOG_LEVEL", "TRACE"),
    ("LOG_RICH_ENABLED", "-"),
    ("LOG_JSON_ENABLED", "-"),
    ("TOOLS_LOG_ENABLED", "-"),
    ("AGENT_MAIL_ENV_FILE", "/no/such/file"),
    ("AGENT_MAIL_ENV_FILE", "/"),
    ("AGENT_MAIL_URL", "mail.example"),
    ("AGENT_MAIL_URL", "https://mail.example/mcp?x=1"),
    ("AGENT_MAIL_TOKEN", "a\tb"),
    ("AGENT_MAIL_AGENT_TOKEN", "x" * 4097),
    ("AGENT_MAIL_PROJECT", "/a\x07b"),
    ("AGENT_NAME", "7of9"),
]


def test_the_tables_of_good_and_bad_values_cover_every_row() -> None:
    assert _GOOD.keys() == {name for name, _ in _BAD} == {row.name for row in ROWS}


@pytest.mark.parametrize("name", _GOOD)
def test_a_good_value_is_understood(name: str, machine: Machine) -> None:
    text, expected = _GOOD[name]

    settings = machine.settings(**{name: text})

    assert getattr(settings, name.lower()) == expected


@pytest.mark.parametrize(("name", "text"), _BAD)
def test_a_bad_value_is_a_mistake_that_says_what_was_expected(name: str, text: str, machine: Machine) -> None:
    mistakes = machine.mistakes(**{name: text})

    assert [(mistake.name, mistake.place) for mistake in mistakes] == [(name, "environment")]
    assert mistakes[0].expected


def test_database_path_is_the_file_of_the_url(machine: Machine) -> None:
    assert machine.settings(DATABASE_URL="mail.db").database_path == machine.cwd / "mail.db"


def test_settings_can_be_sent_to_a_child_process(machine: Machine) -> None:
    settings = machine.settings(HTTP_BEARER_TOKEN=TOKEN)

    assert pickle.loads(pickle.dumps(settings)) == settings


# --- Order and sources ------------------------------------------------------------------------------------------------


def test_the_command_line_beats_the_environment_which_beats_the_file(machine: Machine) -> None:
    path = machine.write_env("HTTP_PORT=1\nHTTP_PATH=/file\nLOG_LEVEL=ERROR\n")

    loaded = machine.load({"HTTP_PORT": "2", "HTTP_PATH": "/environment"}, overrides={"HTTP_PORT": "3"})

    assert (loaded.settings.http_port, loaded.settings.http_path, loaded.settings.log_level) == (
        3,
        "/environment",
        "ERROR",
    )
    assert [loaded.sources[name].place for name in ("HTTP_PORT", "HTTP_PATH", "LOG_LEVEL", "HTTP_HOST")] == [
        "command line",
        "environment",
        f"{path}:3",
        "default",
    ]


def test_an_empty_value_counts_as_not_given(machine: Machine) -> None:
    machine.write_env("HTTP_PORT=1\nHTTP_PATH=\n")

    settings = machine.load({"HTTP_PORT": " "}, overrides={"HTTP_PORT": ""}).settings

    assert (settings.http_port, settings.http_path) == (1, "/mcp")


def test_the_environment_handed_in_is_the_only_one(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.write_env("HTTP_PORT=1\n")
    monkeypatch.setenv("HTTP_PORT", "2")

    assert machine.settings().http_port == 1


def test_relative_paths_start_at_their_env_file_and_else_at_the_current_folder(machine: Machine) -> None:
    (machine.home / "mail.env").write_text("STORAGE_ROOT=here\n")

    from_file = machine.load(env_file=machine.home / "mail.env").settings.storage_root

    assert from_file == machine.home / "here"
    assert machine.settings(STORAGE_ROOT="here").storage_root == machine.cwd / "here"
    assert machine.settings(STORAGE_ROOT="~/here").storage_root == machine.home / "here"


# --- Which `.env` -----------------------------------------------------------------------------------------------------


def _config_home(machine: Machine, text: str) -> None:
    folder = machine.home / ".config" / "mcp-agent-mail"
    folder.mkdir(parents=True)
    (folder / ".env").write_text(text)


def test_only_one_env_file_is_read_and_the_first_that_counts(machine: Machine) -> None:
    given, named = machine.home / "given.env", machine.home / "named.env"
    given.write_text("HTTP_PORT=1\n")
    named.write_text("HTTP_PORT=2\n")
    machine.write_env("HTTP_PORT=3\n")
    _config_home(machine, "HTTP_PORT=4\nLOG_LEVEL=ERROR\n")
    environ = {"AGENT_MAIL_ENV_FILE": str(named)}

    ports = [machine.load(environ, env_file=given).settings.http_port, machine.load(environ).settings.http_port]
    ports.append(machine.settings().http_port)
    assert machine.settings().log_level == "INFO"
    (machine.cwd / ".env").unlink()
    ports.append(machine.settings().http_port)

    assert ports == [1, 2, 3, 4]


def test_a_parents_env_file_is_not_read(machine: Machine) -> None:
    (machine.cwd.parent / ".env").write_text("HTTP_PORT=1\n")

    assert machine.settings().http_port == 8765


@pytest.mark.parametrize(
    "text",
    [
        "DATABASE_URL=postgresql://x/y\nPORT=1\nHOST=127.0.0.1\nLOG_LEVEL=loud\nGIT_AUTHOR_NAME=x\nOTEL_SERVICE_NAME=y\n",
        "OPENAI_API_KEY=sk-1\nexport FOO=1\nJWT_SECRET=x\nsomething else\n",
        "# HTTP_PORT=1\n",
    ],
)
def test_another_projects_env_file_in_the_current_folder_is_left_alone(text: str, machine: Machine) -> None:
    machine.write_env(text)
    _config_home(machine, "HTTP_PORT=4\n")

    loaded = machine.load()

    assert (loaded.settings.http_port, loaded.settings.log_level, loaded.notices) == (4, "INFO", ())


def test_a_shared_env_file_is_read_and_its_other_lines_are_not_our_business(machine: Machine) -> None:
    machine.write_env("HTTP_PORT=1\nexport FOO=1 # comment\nFOO=1\nFOO=2\nDJANGO_KEY=x\njust words\n")

    loaded = machine.load()

    assert (loaded.settings.http_port, loaded.notices) == (1, ())


def test_an_env_folder_is_no_env_file(machine: Machine) -> None:
    (machine.cwd / ".env").mkdir()

    assert machine.settings().http_port == 8765


def test_a_named_env_file_that_cannot_be_read_is_a_mistake(machine: Machine) -> None:
    with pytest.raises(SettingsError) as refused:
        machine.load(env_file=Path("missing.env"))

    assert [(mistake.name, mistake.place, mistake.value) for mistake in refused.value.mistakes] == [
        ("--env-file", "command line", "'missing.env'")
    ]


def test_an_env_file_that_is_no_text_is_passed_over_with_a_warning(machine: Machine) -> None:
    (machine.cwd / ".env").write_bytes(b"HTTP_PORT=\xff\n")

    assert machine.notices() == [("warning", ".env")]


def test_the_files_own_name_counts_in_the_environment_only(machine: Machine) -> None:
    machine.write_env("HTTP_PORT=1\nAGENT_MAIL_ENV_FILE=/no/such\n")

    loaded = machine.load()

    assert loaded.settings.agent_mail_env_file is None
    assert [notice.name for notice in loaded.notices] == ["AGENT_MAIL_ENV_FILE"]


# --- Mistakes, notices, warnings --------------------------------------------------------------------------------------


def test_all_mistakes_are_told_at_once_with_file_and_line(machine: Machine) -> None:
    path = machine.write_env("HTTP_PORT=abc\nexport LOG_LEVEL=INFO\nAGENT_AUTH=open # fine\nHTTP_BEARER_TOKEN=a b\n")

    mistakes = machine.mistakes(HTTP_HOST="mail.example")

    assert sorted((mistake.name, mistake.value, mistake.place) for mistake in mistakes) == [
        ("AGENT_AUTH", "'open # fine'", f"{path}:3"),
        ("HTTP_BEARER_TOKEN", "***", f"{path}:4"),
        ("HTTP_HOST", "'mail.example'", "environment"),
        ("HTTP_PORT", "'abc'", f"{path}:1"),
        ("LOG_LEVEL", "'INFO'", f"{path}:2"),
    ]


def test_the_errors_text_has_a_line_per_mistake(machine: Machine) -> None:
    with pytest.raises(SettingsError) as refused:
        machine.load({"HTTP_PORT": "abc", "LOG_LEVEL": "loud"})

    assert str(refused.value).splitlines() == [
        "HTTP_PORT='abc' (environment): expected a whole number from 0 to 65535. Write digits only.",
        "LOG_LEVEL='loud' (environment): expected one of DEBUG, INFO, WARNING, ERROR.",
    ]


def test_a_long_value_is_cut_in_messages(machine: Machine) -> None:
    (mistake,) = machine.mistakes(LOG_LEVEL="x" * 10_000)

    assert len(mistake.value) < 200


def test_a_name_given_twice_is_a_notice(machine: Machine) -> None:
    path = machine.write_env("HTTP_PORT=1\nHTTP_PORT=2\n")

    loaded = machine.load()

    assert loaded.settings.http_port == 2
    assert [(notice.name, notice.place) for notice in loaded.notices] == [("HTTP_PORT", f"{path}:2")]


@pytest.mark.parametrize(
    "name", sorted(LATER - {"HTTP_JWT_ENABLED", "OTEL_SERVICE_NAME", "OTEL_EXPORTER_OTLP_ENDPOINT"})
)
def test_a_setting_of_a_part_not_built_yet_is_a_notice(name: str, machine: Machine) -> None:
    assert machine.notices(**{name: "1"}) == [("notice", name)]


@pytest.mark.parametrize("name", WITHOUT_EFFECT)
def test_a_name_without_effect_is_a_notice_that_says_why(name: str, machine: Machine) -> None:
    (notice,) = machine.load({name: "1"}).notices

    assert (notice.name, WITHOUT_EFFECT[name] in notice.message) == (name, True)


def test_names_that_belong_to_other_programs_too_are_no_notice(machine: Machine) -> None:
    assert machine.notices(OTEL_SERVICE_NAME="x", OPENAI_API_KEY="sk-1", HOST="laptop", GIT_AUTHOR_DATE="now") == []


@pytest.mark.parametrize(
    ("former", "text", "value"),
    [
        ("MCP_MAIL_STORE", "/srv/mail", Path("/srv/mail")),
        ("HOST", "::1", "::1"),
        ("PORT", "9000", 9000),
        ("AGENT_MAIL_AGENT", "BlueLake", "BlueLake"),
        ("INTEGRATION_BEARER_TOKEN", TOKEN, Secret(TOKEN)),
    ],
)
def test_a_former_name_is_accepted_with_a_notice(former: str, text: str, value: object, machine: Machine) -> None:
    loaded = machine.load({former: text})

    assert getattr(loaded.settings, FORMER[former].lower()) == value
    assert [(notice.level, notice.name) for notice in loaded.notices] == [("notice", former)]


def test_the_name_itself_wins_over_a_former_one(machine: Machine) -> None:
    machine.write_env("HTTP_PORT=1\n")

    loaded = machine.load({"PORT": "9000"})

    assert loaded.settings.http_port == 1
    assert [notice.name for notice in loaded.notices] == ["PORT"]


def test_a_mistake_under_a_former_name_is_told_under_that_name(machine: Machine) -> None:
    assert [mistake.name for mistake in machine.mistakes(PORT="abc")] == ["PORT"]


def test_host_as_shells_set_it_is_not_ours(machine: Machine) -> None:
    assert machine.settings(HOST="laptop").http_host == "127.0.0.1"


@pytest.mark.parametrize("name", ["HTTP_JWT_ENABLED", "JWT_ENABLED"])
def test_asking_for_jwt_is_refused_until_it_is_built(name: str, machine: Machine) -> None:
    assert [mistake.name for mistake in machine.mistakes(**{name: "true"})] == [name]
    assert machine.notices(HTTP_JWT_ENABLED="false") == []


def test_a_mistyped_name_is_a_warning_with_the_nearest_one(machine: Machine) -> None:
    path = machine.write_env("HTTP_PORT=1\nSTORGE_ROOT=/x\nHTTP_SOMETHING_ELSE=1\n")

    notices = machine.load({"HTTP_BEARER_TOKN": "x", "HTTP_PROXY": "http://p"}).notices

    assert [(notice.name, notice.place, notice.message) for notice in notices] == [
        ("STORGE_ROOT", f"{path}:2", "There is no such setting. Did you mean STORAGE_ROOT?"),
        ("HTTP_SOMETHING_ELSE", f"{path}:3", "There is no such setting."),
        ("HTTP_BEARER_TOKN", "environment", "There is no such setting. Did you mean HTTP_BEARER_TOKEN?"),
    ]


# --- Who may reach the server -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::"])
def test_listening_beyond_loopback_without_a_token_is_refused(host: str, machine: Machine) -> None:
    assert [mistake.name for mistake in machine.mistakes(HTTP_HOST=host)] == ["HTTP_HOST"]


def test_beyond_loopback_agents_must_prove_who_they_are_by_default(machine: Machine) -> None:
    settings = machine.settings(HTTP_HOST="192.0.2.1", HTTP_BEARER_TOKEN=TOKEN)

    assert (settings.agent_auth, settings.http_allowed_hosts) == (
        "strict",
        ("localhost", "127.0.0.1", "::1", "192.0.2.1"),
    )


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_on_loopback_names_are_taken_at_their_word_by_default(host: str, machine: Machine) -> None:
    assert machine.settings(HTTP_HOST=host).agent_auth == "open"


def test_open_beyond_loopback_a_short_token_and_unnamed_hosts_are_warned_of(machine: Machine) -> None:
    warned = machine.notices(HTTP_HOST="0.0.0.0", AGENT_AUTH="open", HTTP_BEARER_TOKEN="short")

    assert warned == [("warning", "HTTP_BEARER_TOKEN"), ("warning", "AGENT_AUTH"), ("warning", "HTTP_ALLOWED_HOSTS")]


# --- Secrets ----------------------------------------------------------------------------------------------------------


def test_a_secret_is_shown_nowhere(machine: Machine) -> None:
    machine.write_env(f"HTTP_BEARER_TOKEN={TOKEN}\nAGENT_MAIL_TOKEN={TOKEN}\nAGENT_MAIL_AGENT_TOKEN={TOKEN}\n")

    loaded = machine.load()

    assert TOKEN not in f"{loaded!r} {loaded.settings} {dataclasses.asdict(loaded.settings)}"
    assert loaded.sources["HTTP_BEARER_TOKEN"].shown == "***"
    assert loaded.settings.http_bearer_token is not None
    assert loaded.settings.http_bearer_token.reveal() == TOKEN


@pytest.mark.parametrize(
    "name", ["HTTP_BEARER_TOKEN", "HTTP_BEARER_TOKN", "INTEGRATION_BEARER_TOKEN", "HTTP_JWT_SECRET"]
)
def test_a_secret_on_a_line_that_is_misread_is_not_quoted(name: str, machine: Machine) -> None:
    machine.write_env(f"HTTP_PORT=1\nexport {name}=hidden-value # comment\n")

    with pytest.raises(SettingsError) as refused:
        machine.load()

    assert "hidden" not in str(refused.value)


def test_a_password_in_a_url_is_masked(machine: Machine) -> None:
    loaded = machine.load({"AGENT_MAIL_URL": "https://me:hidden@mail.example/mcp"})
    (mistake,) = machine.mistakes(DATABASE_URL="postgresql://me:hidden@db/mail")

    assert loaded.sources["AGENT_MAIL_URL"].shown == "https://***@mail.example/mcp"
    assert mistake.value == "'postgresql://***@db/mail'"


def test_a_file_with_secrets_that_others_can_read_is_warned_of(machine: Machine) -> None:
    machine.write_env(f"HTTP_BEARER_TOKEN={TOKEN}\n", mode=0o644)
    open_to_others = machine.notices()
    machine.write_env(f"HTTP_BEARER_TOKEN={TOKEN}\n", mode=0o600)

    assert (open_to_others, machine.notices()) == ([("warning", "HTTP_BEARER_TOKEN")], [])


def test_secrets_are_not_handed_down_to_children() -> None:
    environ = {"HTTP_BEARER_TOKEN": "x", "OPENAI_API_KEY": "x", "AGENT_MAIL_AGENT_TOKEN": "x", "PATH": "/bin"}

    assert without_secrets(environ) == {"PATH": "/bin"}


def test_a_secret_is_compared_whole() -> None:
    secret = Secret(TOKEN)

    assert [secret.matches(TOKEN), secret.matches(TOKEN[:-1]), secret.matches("\udcff")] == [True, False, False]
    assert re.search(TOKEN, f"{secret!r}{secret}") is None
