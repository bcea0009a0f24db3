"""What settings of the edge mean together: who may come in from elsewhere, JWTs and their keys, origins."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from mcp_agent_mail.core.settings.rows_edge import EVERY_ORIGIN, SHARED_KEY_ALGORITHMS
from mcp_agent_mail.core.settings.sources import DEFAULT, Given, SettingFindings

MAKE_KEY = "make one: openssl rand -hex 32"


def is_guarded(values: Mapping[str, object]) -> bool:
    """Whether who comes in has to show something: the server's token, or a JWT."""
    return values.get("HTTP_BEARER_TOKEN") is not None or bool(values.get("HTTP_JWT_ENABLED"))


def leads_to_sign_in(issuer: object) -> bool:
    """Whether clients can ask this issuer for tokens: it is a URL."""
    return isinstance(issuer, str) and issuer.lower().startswith(("https://", "http://"))


def check_edge(values: Mapping[str, object], givens: Mapping[str, Given], findings: SettingFindings) -> None:
    """JWTs need one key of their own kind; any origin may call only where every act needs its agent's token. Warned of:
    roles that nobody has to show, and a place to sign in for that others cannot reach.
    """
    _check_jwt(values, givens, findings)
    _check_origins(values, givens, findings)
    _check_roles(values, givens, findings)
    _check_readers(values, givens, findings)
    _check_own_address(values, findings)
    _check_pages(values, findings)


def _check_jwt(values: Mapping[str, object], givens: Mapping[str, Given], findings: SettingFindings) -> None:
    parsed = {"HTTP_JWT_ENABLED", "HTTP_JWT_SECRET", "HTTP_JWT_JWKS_URL", "HTTP_JWT_ALGORITHMS", "HTTP_JWT_AUDIENCE"}
    if not values.get("HTTP_JWT_ENABLED") or parsed - values.keys():
        return
    enabled = givens["HTTP_JWT_ENABLED"]
    url, secret, algorithms = (values[name] for name in ("HTTP_JWT_JWKS_URL", "HTTP_JWT_SECRET", "HTTP_JWT_ALGORITHMS"))
    assert isinstance(algorithms, tuple), algorithms
    is_shared = algorithms[0] in SHARED_KEY_ALGORITHMS
    if url is not None:
        if is_shared:
            findings.mistake(
                givens["HTTP_JWT_ALGORITHMS"],
                "algorithms of key pairs, such as RS256,ES256",
                "With HTTP_JWT_JWKS_URL the keys are public: whoever reads them could sign HS*.",
            )
        if not values["HTTP_JWT_AUDIENCE"]:
            findings.mistake(
                givens["HTTP_JWT_JWKS_URL"],
                "nothing, or HTTP_JWT_AUDIENCE set",
                "Without it tokens that the issuer made for other services would pass here.",
            )
        return
    if secret is None:
        expected = "false, or HTTP_JWT_JWKS_URL or HTTP_JWT_SECRET set"
        findings.mistake(enabled, expected, f"Without a key no token can be checked; {MAKE_KEY}.")
    elif not is_shared:
        findings.mistake(
            givens["HTTP_JWT_ALGORITHMS"],
            f"some of {', '.join(SHARED_KEY_ALGORITHMS)}, or HTTP_JWT_JWKS_URL set",
            "HTTP_JWT_SECRET is a shared key.",
        )


def _check_origins(values: Mapping[str, object], givens: Mapping[str, Given], findings: SettingFindings) -> None:
    if not values.get("HTTP_CORS_ENABLED") or {"HTTP_CORS_ORIGINS", "AGENT_AUTH"} - values.keys():
        return
    origins = values["HTTP_CORS_ORIGINS"]
    if not origins:
        findings.warning(
            "HTTP_CORS_ENABLED",
            "No origin may call until HTTP_CORS_ORIGINS names it.",
            givens["HTTP_CORS_ENABLED"].place,
        )
    elif isinstance(origins, tuple) and EVERY_ORIGIN in origins and values["AGENT_AUTH"] != "strict":
        findings.mistake(
            givens["HTTP_CORS_ORIGINS"],
            "origins by name, or AGENT_AUTH=strict",
            "Any page that an agent's browser opens could act as any agent.",
        )


def _check_roles(values: Mapping[str, object], givens: Mapping[str, Given], findings: SettingFindings) -> None:
    """A word that means two roles would be one of them by chance."""
    rows = ("HTTP_RBAC_READER_ROLES", "HTTP_RBAC_WRITER_ROLES", "HTTP_RBAC_OPERATOR_ROLES")
    taken: dict[str, str] = {}
    for name in rows:
        words = values.get(name)
        for word in words if isinstance(words, tuple) else ():
            other = taken.setdefault(word, name)
            given = givens.get(name) or givens.get(other)
            if other != name and given is not None:
                findings.mistake(given, f"a list without {word!r:.100}", f"{other} has it too.")


def _check_readers(values: Mapping[str, object], givens: Mapping[str, Given], findings: SettingFindings) -> None:
    """Whoever shows nothing where nothing has to be shown is a writer: a reader's token keeps nobody from that."""
    parsed = {"HTTP_BEARER_TOKEN", "HTTP_BEARER_ROLE", "HTTP_JWT_ENABLED", "HTTP_ALLOW_LOCALHOST_UNAUTHENTICATED"}
    if not values.get("HTTP_RBAC_ENABLED") or parsed - values.keys():
        return
    is_readers = values["HTTP_BEARER_ROLE"] == "reader"
    if not is_guarded(values):
        if is_readers:
            message = "This server needs no token, and whoever brings none is a writer: set HTTP_BEARER_TOKEN."
            findings.warning("HTTP_BEARER_ROLE", message, givens["HTTP_BEARER_ROLE"].place)
    elif values["HTTP_ALLOW_LOCALHOST_UNAUTHENTICATED"] and (is_readers or values["HTTP_JWT_ENABLED"]):
        name = "HTTP_ALLOW_LOCALHOST_UNAUTHENTICATED"
        message = "Whatever asks from this machine without a token is a writer, also who has a reader's."
        findings.warning(name, message, givens[name].place)


def _check_own_address(values: Mapping[str, object], findings: SettingFindings) -> None:
    """Of every address none is its own, and no header of a request is believed."""
    parsed = {"HTTP_HOST", "HTTP_PUBLIC_URL", "HTTP_JWT_ENABLED", "HTTP_JWT_ISSUER"}
    if parsed - values.keys() or not values["HTTP_JWT_ENABLED"] or not leads_to_sign_in(values["HTTP_JWT_ISSUER"]):
        return
    if values["HTTP_PUBLIC_URL"] is None and _is_every_address(str(values["HTTP_HOST"])):
        message = "Clients elsewhere learn a loopback address and cannot sign in: set it to the one that they use."
        findings.warning("HTTP_PUBLIC_URL", message, DEFAULT)


def _check_pages(values: Mapping[str, object], findings: SettingFindings) -> None:
    """Where MCP has the pages' first address, that page is served to nobody."""
    if {"HTTP_PATH", "WEB_ENABLED"} - values.keys() or not values["WEB_ENABLED"]:
        return
    if str(values["HTTP_PATH"]).strip("/") == "mail":
        message = "MCP is served at /mail, so that the first of the pages for people is not: choose another path."
        findings.warning("HTTP_PATH", message, DEFAULT)


def _is_every_address(host: str) -> bool:
    import ipaddress  # noqa: PLC0415  # hooks start without it

    with suppress(ValueError):
        return ipaddress.ip_address(host).is_unspecified
    return False
