"""What stands on the pages beside the generated mail: agents, leases, mail to a person, requests, a thread, an archive.

The generated store has 100,000 messages in 40 projects, but nothing in its outbox. What is added here comes through the
server, so that archives, streams and counters have it as from agents.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from benchmarks.corpus import CLASSES, COMMONEST, Corpus
from benchmarks.pages.visitor import Visitor
from benchmarks.processes import Server
from benchmarks.scenarios import call, wait_drained
from benchmarks.store_maker import BUSY, BUSY_AGENTS, agent_name
from benchmarks.wire import Refused
from mcp_agent_mail.web.routes import ROUTES

AGENTS = 200
"""In the busy project, of which there are BUSY_AGENTS in the generated store."""
LETTERS = 600
THREAD = "REL-23"
_IN_THREAD = 120
_TO_HUMAN = 200
_LEASES = 200
_SCREENED = 40
_SHUT = "Worker199"
_PICTURE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5"
    "ErkJggg=="
)
_CODE = """
| step | before | after |
|---|---|---|
| coupon | 120 ms | 8 ms |

- [x] unit tests
- [ ] load test

```python
def total(items: list[Item], coupon: Coupon | None) -> Money:
    \"\"\"In cents; never negative.\"\"\"
    return max(Money(0), sum(item.price for item in items) - (coupon.value if coupon else 0))
```
"""
_KEY = re.compile(r"{(\w+)}")
_SHA = re.compile(r"/commit/([0-9a-f]{40})")
_CONTENT = re.compile(r"/attachments/([0-9a-f]{64})")
_LEASE = re.compile(r"/file_reservations/(\d+)")
_NOT_PAGES = frozenset({"/mail/events", "/mail/sign-in", "/mail/{project}/attachments/{sha256}"})
"""A stream, what nobody who is signed in asks for, and bytes of a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A page by its name, with the addresses that are asked in turn."""

    name: str
    paths: Sequence[str]

    def path(self, number: int) -> str:
        return self.paths[number % len(self.paths)]


def furnish(server: Server) -> list[int]:
    """Add everything; the numbers of the messages that were sent. Ends when the archive has it all."""
    names = [agent_name(number) for number in range(AGENTS)]
    for name in names[BUSY_AGENTS:]:
        call(server, "register_agent", project_key=BUSY, program="bench", model="none", name=name)
    call(server, "set_contact_policy", project_key=BUSY, agent_name=_SHUT, policy="contacts_only")
    pick, corpus, sent = random.Random(3), Corpus("pages"), []
    for number in range(LETTERS):
        sender, other = pick.sample(names[:-1], 2)
        letter = {
            "to": ["Human"] if number < _TO_HUMAN else [other],
            "subject": corpus.subject(),
            "body_md": corpus.body() + _CODE * (number % 3 == 0),
            "ack_required": number % 2 == 0,
            "thread_id": THREAD if number % (LETTERS // _IN_THREAD) == 0 else None,
            "topic": "release" if number % 4 == 0 else None,
            "attachment_paths": [_PICTURE] if number % 20 == 0 else None,
        }
        given = {name: value for name, value in letter.items() if value is not None}
        answer = call(server, "send_message", project_key=BUSY, sender_name=sender, **given)
        sent.append(int(answer["deliveries"][0]["payload"]["id"]))
    for number in range(_LEASES):
        paths = [f"src/part{number % 20}/file{number}.py"]
        call(server, "file_reservation_paths", project_key=BUSY, agent_name=names[number], paths=paths)
    for name in names[:_SCREENED]:
        letter = {"to": [_SHUT], "subject": corpus.subject(), "body_md": corpus.body()}
        call(server, "send_message", project_key=BUSY, sender_name=name, **letter)
    wait_drained(server)
    return sent


def places(visitor: Visitor, slug: str, sent: Sequence[int], messages: int) -> list[Place]:
    """Every page of the table of routes, and the filters and depths that ask most of the store. What was generated is
    in no archive, so that what is `sent` alone has a file there.
    """
    here = f"/mail/{slug}"
    names = [agent_name(number) for number in (0, 7, 19, 150)]
    mixed = [str(one) for one in (*sent[::60], *range(messages // 2, messages, messages // 20))]
    keys: Mapping[str, Sequence[str]] = {
        "project": [slug],
        "message": mixed,
        "thread": [THREAD],
        "agent": names,
        "name": names,
        "commit": _found(visitor, f"/mail/archive/activity?project={slug}", _SHA),
        "sha256": _found(visitor, f"{here}/attachments", _CONTENT),
        "reservation": _found(visitor, f"{here}/file_reservations", _LEASE),
    }
    found = []
    for route in ROUTES:
        if route.get is not None and route.path not in _NOT_PAGES:
            history = f"?project={slug}" if route.path.startswith("/mail/archive/") else ""
            known = {**keys, "message": [str(one) for one in sent]} if route.path.endswith("/raw") else keys
            found.append(Place(name=route.path, paths=_filled(route.path + history, known)))
    return [*found, *_asked(slug, messages)]


def _asked(slug: str, messages: int) -> list[Place]:
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    words = [COMMONEST, *(one for kind in CLASSES.values() for one in kind), f"{COMMONEST} importance:urgent"]
    queries = [
        "/mail?box=needs",
        "/mail?box=log",
        "/mail?q=is:unread",
        "/mail?q=needs:ack",
        "/mail?q=importance:urgent",
        "/mail?q=topic:incident",
        "/mail?q=topic:nothing-has-it",
        "/mail?q=from:Worker03",
        "/mail?q=from:Human",
        f"/mail?q=project:{slug}",
        f"/mail?q=project:{slug}+topic:nothing-has-it",
        f"/mail?q=project:{slug}+from:Worker150+importance:low",
        f"/mail?before={messages // 2}",
        f"/mail/{slug}/agents?shown=2000",
        f"/mail/{slug}/overseer/compose?to=Worker03",
        f"/mail/archive/browser?project={slug}&path=messages",
        f"/mail/archive/time-travel?project={slug}&agent=Worker03&at={now}",
        f"/mail/archive/time-travel?project={slug}&agent=Worker03&at=2025-04-01T00:00:00Z",
    ]
    shown = [Place(name=one.replace(slug, "{project}").replace(now, "now"), paths=[one]) for one in queries]
    for name, path in (("/mail/search?q=", "/mail/search"), ("/mail/{project}/search?q=", f"/mail/{slug}/search")):
        shown.append(Place(name=f"{name}…", paths=[f"{path}?q={word.replace(' ', '+')}" for word in words]))
    shown.append(Place(name="/mail/search?q=…&page=8", paths=[f"/mail/search?q={COMMONEST}&page=8"]))
    return shown


def _filled(path: str, keys: Mapping[str, Sequence[str]]) -> list[str]:
    """`path` with each of the values that its keys have, in step."""
    names = _KEY.findall(path)
    count = max((len(keys[name]) for name in names), default=1)
    plain = _KEY.sub("{}", path)
    return [plain.format(*(keys[name][number % len(keys[name])] for name in names)) for number in range(count)]


def _found(visitor: Visitor, path: str, pattern: re.Pattern[str]) -> list[str]:
    page = visitor.visit(path)
    found = list(dict.fromkeys(pattern.findall(page.body.decode())))
    if not found:
        raise Refused(f"{path} shows nothing to open: {page.status}")
    return found[:20]
