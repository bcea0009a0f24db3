"""What every page tells the browser, written out: whoever loosens any of it sees it here."""

from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.web.headers import PAGE_HEADERS
from tests.web.acting import before_the_pages

GOLDEN = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types pages",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}
MADE_PER_ANSWER = {"content-length", "date", "x-request-id", "set-cookie", "location", "allow", "www-authenticate"}
HTML, JSON = "text/html; charset=utf-8", "application/json"
ANSWERS = (
    ("GET", "/mail", 200, HTML),
    ("HEAD", "/mail", 200, HTML),
    ("GET", "/mail/sign-in", 200, HTML),
    ("GET", "/mail/api/locks", 200, JSON),
    ("GET", "/mail/api/nothing", 404, JSON),
    ("GET", "/", 303, HTML),
    ("GET", "/mail/no/such/page", 404, HTML),
    ("GET", "/mail/code-shop/overseer/compose", 403, HTML),
    ("POST", "/mail", 405, HTML),
    ("POST", "/mail/marks", 401, HTML),
    ("POST", "/mail/sign-in", 403, HTML),
)


def test_the_headers_of_pages_are_these() -> None:
    assert dict(PAGE_HEADERS) == GOLDEN
    assert len(PAGE_HEADERS) == len(GOLDEN)


async def test_every_kind_of_answer_has_each_once_and_no_other(tmp_path: Path) -> None:
    async with before_the_pages(tmp_path, HTTP_RATE_LIMIT_ENABLED="false") as visitor:
        for method, path, status, media_type in ANSWERS:
            answer = await visitor.app.client.request(method, path)

            told = [(name, value) for name, value in answer.headers.multi_items() if name not in MADE_PER_ANSWER]
            assert answer.status_code == status, path
            assert sorted(told) == sorted({**GOLDEN, "content-type": media_type}.items()), path
