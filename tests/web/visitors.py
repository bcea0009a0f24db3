"""Who looks at the pages of a whole application: anybody, and the person who has signed in."""

from __future__ import annotations

import re
from dataclasses import dataclass

import httpx

from tests.server.whole_app import OPERATOR, WholeApp

ORIGIN = "http://127.0.0.1"
_CSRF = re.compile(r'name="csrf" value="([0-9a-f]+)"')
_FORM = re.compile(r'<form [^>]*method="post" action="([^"]+)">(.*?)</form>', re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Signed in, as the operator where nothing else is said, in one browser."""

    client: httpx.AsyncClient

    async def page(self, path: str, status: int = 200) -> str:
        answer = await self.client.get(path)
        assert answer.status_code == status, f"{path}: {answer.status_code} {answer.text[:800]}"
        return answer.text

    async def press(self, path: str, action: str, fields: dict[str, str]) -> httpx.Response:
        """Send the form of the page at `path` that goes to `action`, with the token that it has there."""
        token = csrf_in(await self.page(path), action)
        return await self.client.post(action, data={"csrf": token, **fields}, headers={"origin": ORIGIN})


def csrf_in(page: str, action: str) -> str:
    """The token of the page's form that goes to `action`."""
    forms = dict(_FORM.findall(page))
    assert action in forms, f"there are forms to {sorted(forms)}"
    (token,) = _CSRF.findall(forms[action])
    return str(token)


async def sign_in(app: WholeApp, token: str = OPERATOR) -> Person:
    """By a token, the operator's unless another is given, through the page."""
    page = (await app.client.get("/mail/sign-in")).text
    form = {"csrf": _CSRF.findall(page)[-1], "token": token}
    answer = await app.client.post("/mail/sign-in", data=form, headers={"origin": ORIGIN})
    assert answer.status_code == 303, answer.text[:800]
    return Person(client=app.client)
