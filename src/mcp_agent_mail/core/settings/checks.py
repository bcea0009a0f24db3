"""What settings mean together: combinations that are refused at start, ones that deserve a warning, strange names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from mcp_agent_mail.core.settings import names
from mcp_agent_mail.core.settings.addresses import is_loopback
from mcp_agent_mail.core.settings.checks_edge import check_edge, is_guarded
from mcp_agent_mail.core.settings.kinds import URL, BadValue, PathContext, Secret
from mcp_agent_mail.core.settings.rows_delivery import most_waiters
from mcp_agent_mail.core.settings.sources import DEFAULT, ENVIRONMENT, Given, SettingFindings, Sources

SHORTEST_GOOD_TOKEN = 16

_GUARDED = "an address of this machine only, or HTTP_BEARER_TOKEN or HTTP_JWT_ENABLED set"
_NOT_A_TYPO_PREFIXES = ("GIT_", "OTEL_")
_NOT_A_TYPO = frozenset({"HTTP_PROXY"})
_EVERY_ADDRESS = frozenset({"0.0.0.0", "::"})  # noqa: S104  # compared with, not bound to


def check_together(values: Mapping[str, object], givens: Mapping[str, Given], findings: SettingFindings) -> None:
    """Cross-checks. A check is left out when one of its settings is a mistake already."""
    _check_spans(values, givens, findings)
    at_fault = {mistake.name for mistake in findings.mistakes}
    _check_llm(values, givens, findings)
    _check_backups(values, givens, findings)
    _check_waiters(values, givens, findings)
    _check_webhooks(values, givens, findings)
    _check_door_host(values, givens, findings)
    _check_ports(values, givens, findings)
    check_edge(values, givens, findings)
    if at_fault & {"HTTP_HOST", "HTTP_BEARER_TOKEN", "HTTP_JWT_ENABLED", "AGENT_AUTH", "HTTP_ALLOWED_HOSTS", "HOST"}:
        return
    host, token = str(values["HTTP_HOST"]), values["HTTP_BEARER_TOKEN"]
    if isinstance(token, Secret) and len(token) < SHORTEST_GOOD_TOKEN:
        place = givens["HTTP_BEARER_TOKEN"].place
        message = f"It has fewer than {SHORTEST_GOOD_TOKEN} characters: make a longer one."
        findings.warning("HTTP_BEARER_TOKEN", message, place)
    if is_loopback(host):
        return
    if values["TEST_FIXTURES_ENABLED"]:
        expected = "false, or HTTP_HOST on this machine only"
        findings.mistake(givens["TEST_FIXTURES_ENABLED"], expected, "The fixtures answer anyone who reaches the port.")
    given = givens["HTTP_HOST"]
    if not is_guarded(values):
        findings.mistake(
            given,
            _GUARDED,
            "Without a token anyone who reaches the port could read and send mail.",
        )
    if values["AGENT_AUTH"] == "open":
        message = "Beyond this machine any caller can act as any agent: `strict` wants each agent's token."
        findings.warning("AGENT_AUTH", message, givens["AGENT_AUTH"].place)
    if host in _EVERY_ADDRESS and "HTTP_ALLOWED_HOSTS" not in givens:
        message = "Requests under this machine's other names are refused until they are listed here."
        findings.warning("HTTP_ALLOWED_HOSTS", message, DEFAULT)


OTEL_EXPORTER = "opentelemetry.exporter.otlp.proto.http"


def _check_spans(values: Mapping[str, object], givens: Mapping[str, Given], findings: SettingFindings) -> None:
    """Whoever switches spans on expects to see some: a server that cannot send them does not start."""
    if not values.get("HTTP_OTEL_ENABLED"):
        return
    given = givens["HTTP_OTEL_ENABLED"]
    endpoint = values.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    missing: dict[str, str] = {}
    if not _is_installed(OTEL_EXPORTER):
        missing["the extra `otel` installed"] = "Install what it needs: pip install 'mcp-agent-mail[otel]'."
    if endpoint is None:
        missing["OTEL_EXPORTER_OTLP_ENDPOINT set"] = "Set it to your collector, such as http://127.0.0.1:4318."
    if missing:
        findings.mistake(given, f"false, or {' and '.join(missing)}", " ".join(missing.values()))
    if endpoint is None:
        return
    try:
        URL.parse(str(endpoint), PathContext(folder=given.folder, home=given.folder))
    except BadValue as bad:
        findings.mistake(givens["OTEL_EXPORTER_OTLP_ENDPOINT"], URL.expected, str(bad))


def _check_backups(values: Mapping[str, object], givens: Mapping[str, Given], findings: SettingFindings) -> None:
    """A restore replaces the store: backups that lie in it would be in its way, and take part of it."""
    given = givens.get("BACKUP_DIR")
    if given is None or not {"BACKUP_DIR", "STORAGE_ROOT"} <= values.keys():
        return
    root, backups = (Path(os.path.realpath(str(values[name]))) for name in ("STORAGE_ROOT", "BACKUP_DIR"))
    if backups.is_relative_to(root):
        findings.mistake(
            given, f"a folder outside of the store {root}", "A restore replaces what lies there; take one beside it."
        )


def _check_waiters(values: Mapping[str, object], givens: Mapping[str, Given], findings: SettingFindings) -> None:
    """Of the default nobody expects that it is what there is."""
    given, wanted, connections = (
        givens.get("WAITERS_MAX"),
        values.get("WAITERS_MAX"),
        values.get("HTTP_MAX_CONNECTIONS"),
    )
    if given is None or not isinstance(wanted, int) or not isinstance(connections, int):
        return
    if wanted > (most := most_waiters(connections)):
        message = (
            f"There are no more than {most} places, three quarters of HTTP_MAX_CONNECTIONS: each keeps a connection. "
            "More has no effect."
        )
        findings.warning("WAITERS_MAX", message, given.place)


def _check_webhooks(values: Mapping[str, object], givens: Mapping[str, Given], findings: SettingFindings) -> None:
    """Without a secret a receiver could not tell us from anybody else."""
    given = givens.get("WEBHOOK_URLS")
    if given is None or {"WEBHOOK_URLS", "WEBHOOK_SECRET"} - values.keys():
        return
    if values["WEBHOOK_SECRET"] is None and "WEBHOOK_SECRET" not in givens:
        findings.mistake(
            given, "nothing, or WEBHOOK_SECRET set", "Calls are signed with it; make one: openssl rand -hex 32."
        )


def _check_door_host(values: Mapping[str, object], givens: Mapping[str, Given], findings: SettingFindings) -> None:
    """Ports of doors are let in by the same rules as the server's own."""
    given = givens.get("FACADES_HOST")
    if given is None or {"FACADES_HOST", "HTTP_BEARER_TOKEN", "HTTP_JWT_ENABLED"} - values.keys():
        return
    if not is_loopback(str(values["FACADES_HOST"])) and not is_guarded(values):
        findings.mistake(
            given,
            _GUARDED,
            "Without a token anyone who reaches a door's port could read and send mail.",
        )


def _check_ports(values: Mapping[str, object], givens: Mapping[str, Given], findings: SettingFindings) -> None:
    """A port is one door's, or the server's own. Of doors that are closed none is taken."""
    taken = {values.get("HTTP_PORT"): "HTTP_PORT"}
    for name, switch in (("POSTAL_PORT", "POSTAL_ENABLED"), ("CLAUDE_MAILBOX_PORTS", "CLAUDE_MAILBOX_ENABLED")):
        wanted = values.get(name, ())
        for port in wanted if isinstance(wanted, tuple) else (wanted,):
            other = taken.get(port) if port and values.get(switch) else None
            given = givens.get(name) or givens.get(other or "") or givens.get(switch)
            if other is not None and given is not None:
                findings.mistake(given, f"another port than {port}", f"{other} and {name} both name it.")
            taken.setdefault(port, name)


def _is_installed(module: str) -> bool:
    from importlib.util import find_spec  # noqa: PLC0415  # only who wants spans pays

    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _check_llm(values: Mapping[str, object], givens: Mapping[str, Given], findings: SettingFindings) -> None:
    if not values.get("LLM_ENABLED"):
        return
    if values.get("LLM_DEFAULT_MODEL") is None and "LLM_DEFAULT_MODEL" not in givens:
        message = "It is not set, so no language model is used: name one as LiteLLM names it."
        findings.warning("LLM_DEFAULT_MODEL", message, givens["LLM_ENABLED"].place)
    if values.get("LLM_CACHE_BACKEND") == "redis" and "LLM_CACHE_REDIS_URL" not in givens:
        findings.mistake(givens["LLM_CACHE_BACKEND"], "memory, or LLM_CACHE_REDIS_URL set")


def check_names(sources: Sources, findings: SettingFindings) -> None:
    """Names that do nothing: no longer needed, or mistyped."""
    for name, why in names.WITHOUT_EFFECT.items():
        if given := sources.find(name):
            findings.notice(name, f"It has no effect: {why}.", given.place)
    _check_unknown(sources, findings)


def _check_unknown(sources: Sources, findings: SettingFindings) -> None:
    if sources.file is not None:
        for name in sources.file_values:
            nearest = names.nearest_setting(name) if name not in names.KNOWN else None
            if name not in names.KNOWN and (nearest or name.startswith(names.OUR_PREFIXES)):
                findings.warning(name, _unknown(nearest), sources.file.place(name))
    for name in _strangers(sources.environ):
        if nearest := names.nearest_setting(name):
            findings.warning(name, _unknown(nearest), ENVIRONMENT)


def _strangers(environ: Mapping[str, str]) -> Iterable[str]:
    return (
        name for name in environ if name not in names.KNOWN | _NOT_A_TYPO and not name.startswith(_NOT_A_TYPO_PREFIXES)
    )


def _unknown(nearest: str | None) -> str:
    return f"There is no such setting. Did you mean {nearest}?" if nearest else "There is no such setting."
