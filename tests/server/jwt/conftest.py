"""The certificate of `localhost` that calls of webhooks are tried with too."""

from __future__ import annotations

from tests.notify.conftest import certificate

__all__ = ["certificate"]
