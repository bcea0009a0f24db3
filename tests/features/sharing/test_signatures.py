from __future__ import annotations

import base64
import os
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from mcp_agent_mail.core.errors import AgentMailError, Unavailable
from mcp_agent_mail.features.sharing import signatures
from mcp_agent_mail.features.sharing.signatures import (
    KeyTaken,
    UnfitKey,
    WrongSignature,
    make_keys,
    read_private_key,
    read_public_key,
    require_signature,
    signature_of,
)


def test_a_key_signs_and_its_public_one_and_no_other_knows_it(tmp_path: Path) -> None:
    own, other = make_keys(tmp_path / "own"), make_keys(tmp_path / "other")

    signature = signature_of(b"manifest", read_private_key(tmp_path / "own"))

    require_signature(b"manifest", signature, read_public_key(own))
    for key, manifest, given in (
        (other, b"manifest", signature),
        (own, b"manifesT", signature),
        (own, b"manifest", None),
    ):
        with pytest.raises(WrongSignature):
            require_signature(manifest, given, read_public_key(key))


def test_any_other_byte_in_a_signature_is_refused(tmp_path: Path) -> None:
    public = read_public_key(make_keys(tmp_path / "own"))
    signature = signature_of(b"manifest", read_private_key(tmp_path / "own"))

    for at in range(len(signature)):
        changed = bytearray(signature)
        changed[at] ^= 1
        with pytest.raises(WrongSignature):
            require_signature(b"manifest", bytes(changed), public)


def test_the_private_key_is_for_its_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        make_keys(tmp_path / "own")
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "own").stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["own", "own.pub"])
def test_no_key_is_written_over(tmp_path: Path, name: str) -> None:
    (tmp_path / name).symlink_to("nowhere")

    with pytest.raises(KeyTaken):
        make_keys(tmp_path / "own")

    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["missing/key", "k" * 300, "k" * 253])
def test_a_key_that_cannot_be_written_is_said_with_what_to_do(tmp_path: Path, name: str) -> None:
    with pytest.raises(Unavailable) as refused:
        make_keys(tmp_path / name)

    assert refused.value.hint
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_key_is_refused(tmp_path: Path) -> None:
    make_keys(tmp_path / "own")
    (tmp_path / "noise").write_bytes(b"noise")

    for read, name in ((read_private_key, "own.pub"), (read_public_key, "own"), (read_public_key, "noise")):
        with pytest.raises(UnfitKey):
            read(tmp_path / name)
    with pytest.raises(UnfitKey):
        read_public_key(tmp_path / "missing")


def test_what_is_signed_begins_with_what_it_is_a_signature_of(tmp_path: Path) -> None:
    public = read_public_key(make_keys(tmp_path / "own"))
    key = read_private_key(tmp_path / "own")
    of_the_bytes_alone = base64.b64encode(key.sign(b"manifest")) + b"\n"

    with pytest.raises(WrongSignature):
        require_signature(b"manifest", of_the_bytes_alone, public)

    public.verify(base64.b64decode(signature_of(b"manifest", key)), b"mcp-agent-mail bundle 1\nmanifest")


def test_a_key_of_another_kind_is_refused(tmp_path: Path) -> None:
    other = ec.generate_private_key(ec.SECP256R1())
    pem = serialization.Encoding.PEM
    own = other.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (tmp_path / "other").write_bytes(own)
    (tmp_path / "other.pub").write_bytes(
        other.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    )

    with pytest.raises(UnfitKey):
        read_private_key(tmp_path / "other")
    with pytest.raises(UnfitKey):
        read_public_key(tmp_path / "other.pub")


def test_half_a_pair_is_not_left_and_none_is_made_beside_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    write_new = signatures._write_new

    def fail_at_the_second(file: Path, content: bytes, mode: int) -> None:
        made.append(file.name)
        if len(made) == 2:
            raise OSError("no room")
        write_new(file, content, mode)

    monkeypatch.setattr(signatures, "_write_new", fail_at_the_second)
    with pytest.raises(OSError, match="no room"):
        make_keys(tmp_path / "own")
    assert (made, list(tmp_path.iterdir())) == (["own", "own.pub"], [])

    (tmp_path / "own.pub").write_bytes(b"somebody's")
    with pytest.raises(KeyTaken):
        make_keys(tmp_path / "own")
    assert made == ["own", "own.pub"]


@pytest.mark.parametrize("failure", [OSError("no room"), KeyboardInterrupt()])
def test_a_key_that_did_not_reach_the_disk_is_not_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    def fail(_: int) -> None:
        raise failure

    monkeypatch.setattr(os, "fsync", fail)

    with pytest.raises((OSError, AgentMailError, KeyboardInterrupt)):
        make_keys(tmp_path / "own")

    assert list(tmp_path.iterdir()) == []
