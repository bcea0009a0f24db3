"""Forms are answered only where a page of ours, in the session of the one who reads it, was meant to send this one.

Cookies ignore ports, so that another server on this machine is "the same site" to a browser. Hence all three: the
page's origin is exactly ours, the browser says so where it says anything, and the form holds a token of this session
for this very act.
"""

from __future__ import annotations

import hashlib
import hmac
from urllib.parse import urlsplit

from mcp_agent_mail.core.errors import PermissionDenied
from mcp_agent_mail.web.request import PageRequest

FIELD = "csrf"

_SAME_ORIGIN = "same-origin"
_HINT = "Open the page again and press its button there."


class ForeignForm(PermissionDenied):
    """A form that no page of ours sent, or not for this act."""


def form_token(secret: str, action: str) -> str:
    """What the form of `action`, a path, holds in the session of this secret."""
    return hmac.new(secret.encode(), b"form\0" + action.encode(), hashlib.sha256).hexdigest()


def require_own_source(request: PageRequest) -> None:
    """Raise ForeignForm unless a page of ours sends the request, by what its headers say: before its form is read."""
    source = request.origin if request.origin is not None else _origin_of(request.referer)
    if source is None or source not in request.own_origins:
        raise ForeignForm("This form was sent by another site, or by none.", hint=_HINT)
    if request.fetch_site not in (None, _SAME_ORIGIN):
        raise ForeignForm("This form was sent by another site.", hint=_HINT)


def is_of_own_source(request: PageRequest) -> bool:
    """Whether a page of ours sends the request, by what its headers say."""
    try:
        require_own_source(request)
    except ForeignForm:
        return False
    return True


def require_own_form(request: PageRequest) -> None:
    """Raise ForeignForm unless the request comes from its own form."""
    require_own_source(request)
    given = request.field(FIELD)
    if request.secret is None or not hmac.compare_digest(
        given.encode("utf-8", "replace"), form_token(request.secret, request.path).encode()
    ):
        raise ForeignForm("This form is of another session or another page.", hint=_HINT)


def _origin_of(referer: str | None) -> str | None:
    if referer is None:
        return None
    try:
        parts = urlsplit(referer)
    except ValueError:
        return None
    return f"{parts.scheme}://{parts.netloc}".lower() if parts.netloc else None
