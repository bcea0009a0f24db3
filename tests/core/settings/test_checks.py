from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mcp_agent_mail.core.settings.checks import OTEL_EXPORTER
from mcp_agent_mail.core.settings.kinds import Secret
from mcp_agent_mail.core.settings.names import FORMER, WITHOUT_EFFECT
from mcp_agent_mail.core.settings.sources import SettingsError
from tests.core.machine import TOKEN, Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


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


def test_webhooks_without_a_secret_refuse_the_start(machine: Machine) -> None:
    secret = "k" * 32
    (mistake,) = machine.mistakes(WEBHOOK_URLS="https://mail.example/")

    assert (mistake.name, mistake.expected) == ("WEBHOOK_URLS", "nothing, or WEBHOOK_SECRET set")
    assert [one.name for one in machine.mistakes(WEBHOOK_URLS="https://mail.example/", WEBHOOK_SECRET="short")] == [
        "WEBHOOK_SECRET"
    ]
    assert machine.settings(WEBHOOK_URLS="https://mail.example/", WEBHOOK_SECRET=secret).webhook_secret
    assert machine.notices(WEBHOOK_SECRET=secret) == []


def test_a_long_value_is_cut_in_messages(machine: Machine) -> None:
    (mistake,) = machine.mistakes(LOG_LEVEL="x" * 10_000)

    assert len(mistake.value) < 200


def test_a_name_given_twice_is_a_notice(machine: Machine) -> None:
    path = machine.write_env("HTTP_PORT=1\nHTTP_PORT=2\n")

    loaded = machine.load()

    assert loaded.settings.http_port == 2
    assert [(notice.name, notice.place) for notice in loaded.notices] == [("HTTP_PORT", f"{path}:2")]


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


def test_a_mistyped_name_is_a_warning_with_the_nearest_one(machine: Machine) -> None:
    path = machine.write_env("HTTP_PORT=1\nSTORGE_ROOT=/x\nHTTP_SOMETHING_ELSE=1\n")

    notices = machine.load({"HTTP_BEARER_TOKN": "x", "HTTP_PROXY": "http://p"}).notices

    assert [(notice.name, notice.place, notice.message) for notice in notices] == [
        ("STORGE_ROOT", f"{path}:2", "There is no such setting. Did you mean STORAGE_ROOT?"),
        ("HTTP_SOMETHING_ELSE", f"{path}:3", "There is no such setting."),
        ("HTTP_BEARER_TOKN", "environment", "There is no such setting. Did you mean HTTP_BEARER_TOKEN?"),
    ]


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


def test_fixtures_for_testers_are_refused_beyond_loopback(machine: Machine) -> None:
    mistakes = machine.mistakes(HTTP_HOST="192.0.2.7", HTTP_BEARER_TOKEN=TOKEN, TEST_FIXTURES_ENABLED="true")

    assert [mistake.name for mistake in mistakes] == ["TEST_FIXTURES_ENABLED"]


COLLECTOR = "http://127.0.0.1:4318"


def test_spans_without_the_extra_are_a_mistake_that_says_how_to_install_it(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, OTEL_EXPORTER.rpartition(".")[0], None)  # as Python has it

    (mistake,) = machine.mistakes(HTTP_OTEL_ENABLED="true", OTEL_EXPORTER_OTLP_ENDPOINT=COLLECTOR)

    assert (mistake.name, mistake.hint) == (
        "HTTP_OTEL_ENABLED",
        "Install what it needs: pip install 'mcp-agent-mail[otel]'.",
    )


def test_spans_without_a_collector_are_a_mistake(machine: Machine) -> None:
    (mistake,) = machine.mistakes(HTTP_OTEL_ENABLED="true")

    assert mistake.name == "HTTP_OTEL_ENABLED"
    assert mistake.expected.endswith("OTEL_EXPORTER_OTLP_ENDPOINT set"), "whether the extra is installed or not"


def test_a_collectors_address_of_another_form_is_a_mistake_only_with_spans(machine: Machine) -> None:
    assert machine.settings(OTEL_EXPORTER_OTLP_ENDPOINT="localhost:4317").http_otel_enabled is False
    mistakes = machine.mistakes(HTTP_OTEL_ENABLED="true", OTEL_EXPORTER_OTLP_ENDPOINT="localhost:4317")

    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in [mistake.name for mistake in mistakes]


@pytest.mark.parametrize(("given", "is_told"), [("300", False), ("301", True), (None, False)])
def test_more_places_than_connections_leave_for_those_who_wait_are_a_warning(
    given: str | None, is_told: bool, machine: Machine
) -> None:
    few = {"HTTP_MAX_CONNECTIONS": "400"}
    loaded = machine.load(few if given is None else {**few, "WAITERS_MAX": given})

    told = [(one.level, one.place) for one in loaded.notices if one.name == "WAITERS_MAX" and "300" in str(one)]
    assert told == ([("warning", "environment")] if is_told else [])


def test_doors_beyond_this_machine_need_the_token_and_make_names_strict(machine: Machine) -> None:
    (mistake,) = machine.mistakes(FACADES_HOST="0.0.0.0")
    beyond = machine.load({"FACADES_HOST": "0.0.0.0", "HTTP_BEARER_TOKEN": TOKEN}).settings

    assert (mistake.name, mistake.expected) == (
        "FACADES_HOST",
        "an address of this machine only, or HTTP_BEARER_TOKEN or HTTP_JWT_ENABLED set",
    )
    assert beyond.agent_auth == "strict"
    assert machine.load({}).settings.agent_auth == "open"


def test_a_port_is_one_doors_alone(machine: Machine) -> None:
    same = {"HTTP_PORT": "47822", "CLAUDE_MAILBOX_ENABLED": "true"}

    (mistake,) = machine.mistakes(**same)
    closed = machine.load({"HTTP_PORT": "47822"}).settings
    other = machine.load({**same, "CLAUDE_MAILBOX_PORTS": "47823,0,0"}).settings

    assert (mistake.name, mistake.expected) == ("HTTP_PORT", "another port than 47822")
    assert "HTTP_PORT and CLAUDE_MAILBOX_PORTS" in mistake.hint
    assert closed.http_port == 47_822
    assert other.claude_mailbox_ports == (47_823, 0, 0)
