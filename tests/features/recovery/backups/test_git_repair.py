from __future__ import annotations

from mcp_agent_mail.features.recovery.backups.git_repair import (
    has_unindexed_packs,
    renew_pack_indexes,
)
from tests.features.recovery.backups.harness import Stored


def test_a_lost_index_of_a_pack_is_made_anew_and_a_wrong_one_too(stored: Stored) -> None:
    archive = stored.harness.path(stored.project)
    packs = sorted((archive / ".git/objects/pack").glob("*.idx"))
    assert packs
    assert not has_unindexed_packs(archive)
    whole = packs[0].read_bytes()
    for content in (None, whole[:-1] + bytes([whole[-1] ^ 1])):
        packs[0].unlink()
        if content is not None:
            packs[0].write_bytes(content)

        assert has_unindexed_packs(archive)
        assert renew_pack_indexes(archive) == 1
        assert packs[0].read_bytes() == whole
