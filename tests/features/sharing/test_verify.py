from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.features.sharing.manifest import MANIFEST, SIGNATURE
from mcp_agent_mail.features.sharing.signatures import make_keys, read_public_key, require_signature
from mcp_agent_mail.features.sharing.verify import ChangedBundle, verify_bundle
from tests.given_mail import GivenMail


@pytest.fixture
def bundle(given: GivenMail, tmp_path: Path) -> Path:
    """A small signed one; its key is beside it."""
    make_keys(tmp_path / "key")
    given.send([given.red], thread="T", attachments=[given.attachment(b"text", "a.txt")])
    given.export(tmp_path / "out", key=tmp_path / "key")
    return tmp_path / "out"


def _verify_signed(bundle: Path) -> None:
    key = read_public_key(bundle.parent / "key.pub")

    def check(manifest: bytes) -> None:
        require_signature(manifest, (bundle / SIGNATURE).read_bytes(), key)

    assert verify_bundle(bundle, check).is_signed


def test_a_changed_byte_in_any_file_is_found(bundle: Path) -> None:
    luck = random.Random(5)
    _verify_signed(bundle)
    for path in [one for one in sorted(bundle.rglob("*")) if one.is_file()]:
        whole = path.read_bytes()
        changed = bytearray(whole)
        changed[luck.randrange(len(whole))] ^= 1 << luck.randrange(8)
        path.write_bytes(bytes(changed))

        with pytest.raises(AgentMailError):
            _verify_signed(bundle)
        path.write_bytes(whole)
    _verify_signed(bundle)


def test_without_a_key_any_changed_byte_of_the_manifest_is_found_too(bundle: Path) -> None:
    whole = (bundle / MANIFEST).read_bytes()
    for at in range(0, len(whole), len(whole) // 40):
        changed = bytearray(whole)
        changed[at] ^= 1
        (bundle / MANIFEST).write_bytes(bytes(changed))

        with pytest.raises(AgentMailError):
            verify_bundle(bundle, None)


def test_what_was_added_taken_away_or_made_a_link_is_named(bundle: Path) -> None:
    (bundle / "app" / "more.html").write_text("more")
    (bundle / "app" / "agents.html").unlink()
    (bundle / "index.html").replace(bundle.parent / "index.html")
    (bundle / "index.html").symlink_to(bundle.parent / "index.html")

    with pytest.raises(ChangedBundle) as raised:
        verify_bundle(bundle, None)

    assert raised.value.data["problems"] == [
        "app/more.html is not in the manifest",
        "app/agents.html is missing",
        "index.html is changed",
    ]


def _link(place: Path) -> None:
    place.symlink_to(place.parent.parent / "key.pub")


@pytest.mark.parametrize("put", [_link, os.mkfifo, Path.mkdir])
def test_a_signature_that_is_no_plain_file_is_named_without_a_key_too(
    bundle: Path, put: Callable[[Path], None]
) -> None:
    (bundle / SIGNATURE).unlink()
    assert not verify_bundle(bundle, None).is_signed
    put(bundle / SIGNATURE)

    with pytest.raises(ChangedBundle, match=r"manifest\.sig is no plain file"):
        verify_bundle(bundle, None)


def test_a_bundle_made_anew_by_somebody_else_is_whole_and_not_signed_by_the_key(
    bundle: Path, given: GivenMail, tmp_path: Path
) -> None:
    make_keys(tmp_path / "thief")
    given.send([given.red], subject="Forged")
    given.export(bundle, key=tmp_path / "thief")

    assert not verify_bundle(bundle, None).is_signed
    with pytest.raises(AgentMailError, match="not signed by this key"):
        _verify_signed(bundle)


def test_one_that_was_interrupted_says_so(bundle: Path) -> None:
    said = json.loads((bundle / MANIFEST).read_bytes())
    said["unfinished"] = True
    (bundle / MANIFEST).write_text(json.dumps(said, indent=1) + "\n")

    (bundle / SIGNATURE).unlink()

    for check in (None, partial(require_signature, signature=None, key=read_public_key(bundle.parent / "key.pub"))):
        with pytest.raises(ChangedBundle, match="interrupted"):
            verify_bundle(bundle, check)
