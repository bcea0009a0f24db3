"""What every page says of itself to the browser."""

from __future__ import annotations

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types pages"
)
PAGE_HEADERS: tuple[tuple[str, str], ...] = (
    ("content-security-policy", _POLICY),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    # Under `no-referrer` a browser posts forms with `Origin: null`.
    ("referrer-policy", "same-origin"),
    ("x-content-type-options", "nosniff"),
    ("cache-control", "no-store"),
)
