"""The issued tokens that are in force, by their hashes in memory: every request that brings one asks here.

Whoever has the store's lock is the only one who writes, so that what this process has committed is all there is. When
tokens were last used is noted in memory and written every few seconds, as the activity of agents is (docs/adr).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace

from mcp_agent_mail.core.clock import Clock, Micros
from mcp_agent_mail.core.concurrency.keeper import Keeper
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.ids import ISSUED_TOKEN_PREFIX, IssuedTokenId, token_hash
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.domain.identity.issued_tokens import IssuedToken
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import Tx

logger = logging.getLogger("mcp_agent_mail.issued_tokens")

FLUSH_INTERVAL_S = 5.0


class IssuedTokenBook:
    """`load` reads it once; the first question does so where nobody has. All of it is for the event loop, `close` comes
    before the store's.
    """

    def __init__(self, store: Store, *, clock: Clock, interval_s: float = FLUSH_INTERVAL_S) -> None:
        self._store = store
        self._clock = clock
        self._interval_s = interval_s
        self._is_loaded = False
        self._by_hash: dict[bytes, IssuedToken] = {}
        self._hashes: dict[IssuedTokenId, bytes] = {}
        self._used: dict[IssuedTokenId, Micros] = {}
        self._writing: dict[IssuedTokenId, Micros] = {}
        self.keeper = Keeper("issued-tokens", self._flush_at_intervals, clock=clock)

    def load(self) -> None:
        """Read the tokens in force, unless that is done. Raises what a sick store raises."""
        if not self._is_loaded:
            self.replace(self._store.read_now(lambda view: view.issued_tokens.live(view.now)))

    def find(self, text: str) -> IssuedToken | None:
        """The token in force whose text this is."""
        if not text.startswith(ISSUED_TOKEN_PREFIX):
            return None
        self.load()
        token = self._by_hash.get(token_hash(text))
        return token if token is not None and token.is_live(self._clock()) else None

    def is_live(self, token_id: IssuedTokenId) -> bool:
        """Whether it is in force still: what was let in with it ends when it is not."""
        return self.find_live(token_id) is not None

    def find_live(self, token_id: IssuedTokenId) -> IssuedToken | None:
        """The token of this number, as it is in force now."""
        self.load()
        hashed = self._hashes.get(token_id)
        token = None if hashed is None else self._by_hash[hashed]
        return token if token is not None and token.is_live(self._clock()) else None

    def count_readers(self) -> int:
        """How many of those in force let whoever has them look alone."""
        self.load()
        now = self._clock()
        return sum(token.role is Role.READER and token.is_live(now) for token in self._by_hash.values())

    def note_use(self, token_id: IssuedTokenId) -> None:
        """Note that a request has just come with it; of one that is not in force nothing is noted."""
        if not self.is_live(token_id):
            return
        self._used[token_id] = self._clock()
        if not self.keeper.is_running:
            self.keeper.start()

    def with_use(self, tokens: Iterable[IssuedToken]) -> list[IssuedToken]:
        """The tokens with what is not written yet, in the order given."""
        return [self._newest(token) for token in tokens]

    def add(self, hashed: bytes, token: IssuedToken) -> None:
        """A token was committed. Those that have expired are forgotten here."""
        now = self._clock()
        self.load()
        live = [(key, known) for key, known in self._by_hash.items() if known.is_live(now)]
        self.replace([*live, (hashed, token)])

    def end(self, token_id: IssuedTokenId) -> None:
        """Its revocation was committed: nobody finds it any more."""
        self.load()
        if (hashed := self._hashes.pop(token_id, None)) is not None:
            del self._by_hash[hashed]

    def replace(self, live: Iterable[tuple[bytes, IssuedToken]]) -> None:
        """These, by their hashes, are the tokens in force."""
        self._by_hash = dict(live)
        self._hashes = {token.id: hashed for hashed, token in self._by_hash.items()}
        self._is_loaded = True

    async def flush(self) -> None:
        """Write all that is noted. What cannot be written now is kept for the next time; raises what refused it."""
        self._writing, self._used = self._used, {}
        used = list(self._writing.items())

        def unit(tx: Tx) -> None:
            tx.issued_tokens.touch_many(used)

        try:
            await self._store.write(unit)
        except BaseException:
            self._used = {**self._writing, **self._used}
            raise
        finally:
            self._writing = {}

    async def close(self) -> None:
        """Write what is noted and stop noting. Safe to call twice."""
        await self.keeper.stop()
        if self._used:
            try:
                await self.flush()
            except AgentMailError as refused:
                logger.warning("the last uses of tokens were not written", extra={"facts": {"error": refused.message}})

    async def _flush_at_intervals(self) -> None:
        while self._used:
            await self.keeper.rest(self._interval_s)
            if self.keeper.is_stopping:
                return
            await self.flush()
            self.keeper.worked()

    def _newest(self, token: IssuedToken) -> IssuedToken:
        used = self._used.get(token.id) or self._writing.get(token.id)
        if used is None or used <= (token.last_used_ts or 0):
            return token
        return replace(token, last_used_ts=used)
