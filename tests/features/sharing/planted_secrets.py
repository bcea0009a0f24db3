"""Secrets of every form that the documentation names, made up, each with the part of it that nobody may see."""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable, Iterator
from typing import NamedTuple

_ALNUM = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
EVERY_PLACE = 4
"""Times each form is planted, each time elsewhere."""


class PlantedSecret(NamedTuple):
    """`told` is how it stands in a text, `core` what must not be left of it."""

    form: str
    told: str
    core: str


def _key(prefix: str, letters: str, length: int, suffix: str = "") -> Callable[[random.Random], tuple[str, str]]:
    def make(luck: random.Random) -> tuple[str, str]:
        core = "".join(luck.choice(letters) for _ in range(length))
        return f"{prefix}{core}{suffix}", core

    return make


def _jwt(luck: random.Random) -> tuple[str, str]:
    parts = [base64.urlsafe_b64encode(luck.randbytes(24)).decode().strip("=") for _ in range(2)]
    return f"eyJhbGciOiJIUzI1NiJ9.{parts[0]}.{parts[1]}", parts[0]


def _putty(luck: random.Random) -> tuple[str, str]:
    lines = [base64.b64encode(luck.randbytes(48)).decode() for _ in range(2)]
    told = f"PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 2\n{lines[0]}\n{lines[1]}\n"
    return told, lines[1]


def _pem(luck: random.Random) -> tuple[str, str]:
    lines = [base64.b64encode(luck.randbytes(48)).decode() for _ in range(4)]
    inside = "\n".join(lines)
    return f"-----BEGIN PRIVATE KEY-----\n{inside}\n-----END PRIVATE KEY-----", lines[1]


FORMS: dict[str, Callable[[random.Random], tuple[str, str]]] = {
    "openai": _key("sk-proj-", _ALNUM, 40),
    "anthropic": _key("sk-ant-api03-", _ALNUM, 40),
    "stripe": _key("sk_live_", _ALNUM, 24),
    "stripe test": _key("rk_test_", _ALNUM, 24),
    "stripe webhook": _key("whsec_", _ALNUM, 32),
    "github": _key("ghp_", _ALNUM, 36),
    "github app": _key("ghs_", _ALNUM, 36),
    "github fine": _key("github_pat_", _ALNUM, 40),
    "gitlab": _key("glpat-", _ALNUM, 20),
    "slack bot": _key("xoxb-1234567890-", _ALNUM, 24),
    "slack app": _key("xapp-1-", _ALNUM, 30),
    "slack hook": _key("https://hooks.slack.com/services/T0001/B0001/", _ALNUM, 24),
    "discord hook": _key("https://discord.com/api/webhooks/123456789/", _ALNUM, 40),
    "aws id": _key("AKIA", string.ascii_uppercase + string.digits, 16),
    "aws secret": _key("aws_secret_access_key = ", _ALNUM, 40),
    "google": _key("AIza", _ALNUM, 35),
    "google oauth": _key("ya29.", _ALNUM, 40),
    "npm": _key("npm_", _ALNUM, 36),
    "pypi": _key("pypi-", _ALNUM, 40),
    "huggingface": _key("hf_", _ALNUM, 34),
    "groq": _key("gsk_", _ALNUM, 40),
    "docker": _key("dckr_pat_", _ALNUM, 24),
    "digitalocean": _key("dop_v1_", _HEX, 64),
    "sendgrid": _key("SG.abcdefghijklmnop.", _ALNUM, 40),
    "twilio": _key("SK", _HEX, 32),
    "telegram": _key("123456789:AA", _ALNUM, 33),
    "shopify": _key("shpat_", _HEX, 32),
    "linear": _key("lin_api_", _ALNUM, 40),
    "mailgun": _key("key-", _HEX, 32),
    "slack hook of states": _key("https://hooks.slack-gov.com/services/T0001/B0001/", _ALNUM, 24),
    "office hook before": _key("https://outlook.office.com/webhook/", _ALNUM, 40),
    "databricks": _key("dapi", _HEX, 32),
    "vault": _key("hvs.", _ALNUM, 24),
    "age": _key("AGE-SECRET-KEY-1", string.ascii_uppercase + string.digits, 40),
    "own agent": _key("amt_", _ALNUM, 43),
    "own operator": _key("amo_", _ALNUM, 43),
    "jwt": _jwt,
    "pem": _pem,
    "bearer": _key("Authorization: Bearer ", _ALNUM, 30),
    "basic": _key("Authorization: Basic ", _ALNUM, 30),
    "postgres": _key("postgres://app:", _ALNUM, 16, "@db.internal:5432/app"),
    "https": _key("https://bot:", _ALNUM, 16, "@git.example.com/a.git"),
    "url token": _key("https://", _ALNUM, 24, "@git.example.com/a.git"),
    "password": _key("password=", _ALNUM, 12),
    "password colon": _key("DB_PASSWORD: ", _ALNUM, 12),
    "json": _key('{"api_key": "', _ALNUM, 20, '"}'),
    "yaml": _key("client_secret: '", _ALNUM, 20, "'"),
    "env": _key("export SESSION_TOKEN=", _ALNUM, 20),
    "flag": _key("--password ", _ALNUM, 12),
    "query": _key("https://api.example.com/v1?access_token=", _ALNUM, 24),
    "spoken": _key("the password is ", _ALNUM, 12),
    "cookie": _key("Cookie: session=", _ALNUM, 24),
    "xai": _key("xai-", _ALNUM, 40),
    "replicate": _key("r8_", _ALNUM, 37),
    "perplexity": _key("pplx-", _ALNUM, 40),
    "discord bot": _key("MTIzNDU2Nzg5MDEyMzQ1Njc4.GaBcDe.", _ALNUM, 30),
    "notion": _key("ntn_", _ALNUM, 40),
    "notion before": _key("secret_", _ALNUM, 43),
    "figma": _key("figd_", _ALNUM, 40),
    "supabase": _key("sbp_", _HEX, 40),
    "meta": _key("EAAG", _ALNUM, 60),
    "square": _key("sq0atp-", _ALNUM, 22),
    "new relic": _key("NRAK-", string.ascii_uppercase + string.digits, 27),
    "fly": _key("fo1_", _ALNUM, 43),
    "atlassian": _key("ATATT3", _ALNUM, 60),
    "pulumi": _key("pul-", _HEX, 40),
    "tailscale": _key("tskey-auth-", _ALNUM, 30),
    "rubygems": _key("rubygems_", _HEX, 48),
    "sentry": _key("sntrys_", _ALNUM, 50),
    "gitlab workspace": _key("glwt-", _ALNUM, 20),
    "gitlab runner": _key("GR1348941", _ALNUM, 20),
    "huggingface organisation": _key("api_org_", _ALNUM, 34),
    "figma app": _key("figu_1", _ALNUM, 39),
    "new relic insert": _key("NRII-", _ALNUM, 32),
    "new relic browser": _key("NRJS-", _HEX, 19),
    "atlassian repository": _key("ATCTT3xFfGN0", _ALNUM, 60),
    "bitbucket app": _key("ATBB", _ALNUM, 32),
    "sentry user": _key("sntryu_", _HEX, 64),
    "twilio account": _key("AC", _HEX, 32),
    "google client": _key("GOCSPX-", _ALNUM, 28),
    "aws session": _key("ASIA", string.ascii_uppercase + string.digits, 16),
    "own issued": _key("amk_", _ALNUM, 43),
    "own join code": _key("amj_", _ALNUM, 43),
    "own session": _key("ams_", _ALNUM, 43),
    "putty": _putty,
    "office hook": _key("https://acme.webhook.office.com/webhookb2/", _ALNUM, 40),
    "redis": _key("redis://:", _ALNUM, 16, "@cache.internal:6379/0"),
    "arrow": _key("'secret' => ", _ALNUM, 16),
    "cell": _key("| password | ", _ALNUM, 14, " |"),
    "header": _key("X-Api-Key: ", _ALNUM, 24),
}


def planted(count: int) -> Iterator[PlantedSecret]:
    """The same at each run."""
    luck = random.Random(13)
    names = list(FORMS)
    for number in range(count):
        form = names[number % len(names)]
        told, core = FORMS[form](luck)
        yield PlantedSecret(form, told, core)


def split_by_markdown(secret: PlantedSecret, how: int) -> str:
    """The same to who reads the page: marks of Markdown, or characters without a shape, in the midst of it."""
    at = secret.told.index(secret.core) + len(secret.core) // 2
    left, right = secret.told[:at], secret.told[at:]
    ways = (
        f"{left[:-3]}**{left[-3:]}**{right}",
        f"{left}\\-{right}".replace("\\-", "\u200b"),
        f"{left[:-3]}*{left[-3:]}*{right}",
        f"{left[:-3]}~~{left[-3:]}~~{right}",
        f"{left[:-1]}&#{ord(left[-1])};{right}",
        f"{left[:-3]}[{left[-3:]}](https://example.com/){right}",
        f"{left}\u2060{right}",
        f"{left[:-3]}`{left[-3:]}`{right}",
    )
    return ways[how % len(ways)]
