"""The settings of delivery: who waits, what feeds keep, how long evidence counts. Standard library only."""

from __future__ import annotations

import re

from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.core.settings import kinds
from mcp_agent_mail.core.settings.kinds import BadValue, PathContext, Row, Secret, SettingKind
from mcp_agent_mail.core.settings.url_text import SecretAddress

MOST_WEBHOOKS = 16
SHORTEST_WEBHOOK_SECRET = 32

_WEBHOOK_URL = lazy_pattern(
    r"https?://(?:[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::(?P<port>[0-9]{1,5}))?(?:[/?][!-~]{0,2000})?",
    re.IGNORECASE,
)


def _webhook_urls(text: str, _: PathContext) -> tuple[SecretAddress, ...]:
    urls = tuple(dict.fromkeys(item.strip() for item in text.split(",") if item.strip()))
    if not 1 <= len(urls) <= MOST_WEBHOOKS:
        raise BadValue("")
    for number, url in enumerate(urls, 1):
        match = _WEBHOOK_URL.fullmatch(url)
        if match is None or "#" in url or not 1 <= int(match["port"] or 80) <= 65535:  # the last port
            raise BadValue(f"The one in place {number} is none: leave out user, password and what begins with `#`.")
    return tuple(map(SecretAddress, urls))


def _webhook_secret(text: str, context: PathContext) -> Secret:
    secret = kinds.SECRET.parse(text, context)
    assert isinstance(secret, Secret), secret
    if len(secret) < SHORTEST_WEBHOOK_SECRET:
        raise BadValue("It is too short to be one; make one: openssl rand -hex 32.")
    return secret


WEBHOOK_TARGETS = SettingKind(
    label=f"list of at most {MOST_WEBHOOKS} URLs",
    expected=f"1 to {MOST_WEBHOOKS} URLs that begin with http:// or https://, with commas between them",
    parse=_webhook_urls,
    hides_paths=True,
)
WEBHOOK_KEY = SettingKind(
    label=f"secret, at least {SHORTEST_WEBHOOK_SECRET} characters",
    expected=f"{SHORTEST_WEBHOOK_SECRET} to 4096 visible ASCII characters without blanks",
    parse=_webhook_secret,
    secret=True,
)


def most_waiters(connections: int) -> int:
    """How many calls may wait for mail, and streams be open, whatever WAITERS_MAX says: each keeps a connection, and
    what is held must leave room.
    """
    return connections * 3 // 4


DELIVERY_ROWS = (
    Row(
        name="WAITERS_MAX",
        kind=kinds.whole(10, 50_000),
        default="5000",
        does="How many calls may wait for mail, and streams of events be open, together. Each keeps a connection: "
        "they get three quarters of HTTP_MAX_CONNECTIONS at most, fewer where the server may open few files.",
        group="Delivery",
    ),
    Row(
        name="FEED_KEEP_DAYS",
        kind=kinds.whole(1, 3_650),
        default="30",
        does="How long feeds of events are kept. An older cursor is CURSOR_EXPIRED.",
        group="Delivery",
    ),
    Row(
        name="LISTENING_WINDOW_SECONDS",
        kind=kinds.whole(5, 3_600),
        default="60",
        does="How long after its client's hook was heard an agent counts as listening.",
        group="Delivery",
    ),
    Row(
        name="WEBHOOK_URLS",
        kind=WEBHOOK_TARGETS,
        default="",
        does="Who is called over HTTP at each delivery, without the message's text. Needs WEBHOOK_SECRET.",
        group="Delivery",
    ),
    Row(
        name="WEBHOOK_SECRET",
        kind=WEBHOOK_KEY,
        default="",
        does="Signs those calls, so that receivers know whose they are.",
        group="Delivery",
    ),
    Row(
        name="WEBHOOK_ALLOW_PRIVATE",
        kind=kinds.BOOL,
        default="false",
        does="Let webhooks lead to this machine and into private networks. Else such addresses are refused whenever "
        "one is called.",
        group="Delivery",
    ),
)

HOOK_ROW = Row(
    name="AGENT_MAIL_INTERVAL",
    kind=kinds.whole(0, 3_600),
    default="30",
    does="Seconds between two reminders of unread mail that `am hook` gives a session, each only if the count changed.",
    group="Client side",
    client=True,
)
