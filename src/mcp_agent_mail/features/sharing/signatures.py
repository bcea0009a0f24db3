"""Who made a bundle: Ed25519, over its manifest. The one module that knows `cryptography`."""

from __future__ import annotations

import base64
import binascii
import os
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from mcp_agent_mail.core.errors import Conflict, InvalidInput, Unavailable
from mcp_agent_mail.core.plain_files import UnfitFile, read_plain

PUBLIC_SUFFIX = ".pub"
MOST_KEY_BYTES = 16 << 10
MOST_SIGNATURE_BYTES = 1 << 10

_SIGNED_AS = b"mcp-agent-mail bundle 1\n"
"""Before what is signed, so that a signature of ours is none of anything else."""
_PRIVATE, _PUBLIC = 0o600, 0o644


class KeyTaken(Conflict):
    """A file is where a key is to be written."""


class UnfitKey(InvalidInput):
    """A file that holds no key of the kind that is needed."""


class WrongSignature(Conflict):
    """A signature that is missing, or another's, or of other bytes."""


def make_keys(file: Path) -> Path:
    """Write a new private key, for this user alone, and beside it the public one, which it returns. Raises KeyTaken
    where either is: no key is ever written over; Unavailable where they cannot be written.
    """
    public_file = file.with_name(file.name + PUBLIC_SUFFIX)
    for one in (file, public_file):
        if os.path.lexists(one):
            raise _taken(one)
    key = Ed25519PrivateKey.generate()
    private_pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public_pem = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    _write_new(file, private_pem, _PRIVATE)
    try:
        _write_new(public_file, public_pem, _PUBLIC)
    except BaseException:
        file.unlink()
        raise
    return public_file


def _write_new(file: Path, content: bytes, mode: int) -> None:
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    except FileExistsError as taken:
        raise _taken(file) from taken
    except OSError as failed:
        raise _unwritten(file, failed) from failed
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as failed:
        file.unlink()
        raise _unwritten(file, failed) from failed
    except BaseException:
        file.unlink()
        raise


def read_private_key(file: Path) -> Ed25519PrivateKey:
    """Raises UnfitKey."""
    try:
        key = serialization.load_pem_private_key(_read(file), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as wrong:
        raise _unfit(file, "private") from wrong
    if not isinstance(key, Ed25519PrivateKey):
        raise _unfit(file, "private")
    return key


def read_public_key(file: Path) -> Ed25519PublicKey:
    """Raises UnfitKey."""
    try:
        key = serialization.load_pem_public_key(_read(file))
    except (ValueError, TypeError, UnsupportedAlgorithm) as wrong:
        raise _unfit(file, "public") from wrong
    if not isinstance(key, Ed25519PublicKey):
        raise _unfit(file, "public")
    return key


def signature_of(manifest: bytes, key: Ed25519PrivateKey) -> bytes:
    """As it lies beside the manifest: one line of base64."""
    return base64.b64encode(key.sign(_SIGNED_AS + manifest)) + b"\n"


def require_signature(manifest: bytes, signature: bytes | None, key: Ed25519PublicKey) -> None:
    """Raise WrongSignature unless the holder of `key` has signed these bytes."""
    if signature is None:
        raise WrongSignature("The bundle is not signed.", hint="Ask who made it to export it with --sign.")
    try:
        signed = base64.b64decode(signature.strip(), validate=True)
        if base64.b64encode(signed) + b"\n" != signature:
            raise ValueError("written by another hand")
        key.verify(signed, _SIGNED_AS + manifest)
    except (InvalidSignature, binascii.Error, ValueError) as wrong:
        raise WrongSignature(
            "The bundle is not signed by this key: its manifest was changed, or somebody else made it.",
            hint="Do not trust it. Ask who made it for it again, and for their key by another way.",
        ) from wrong


def _read(file: Path) -> bytes:
    try:
        content = read_plain(str(file), MOST_KEY_BYTES)
    except UnfitFile as unfit:
        raise UnfitKey(unfit.message, hint="am share keygen makes a key.") from unfit
    if content is None:
        raise UnfitKey(f"There is no key {file}.", hint=f"Make one: am share keygen {file}")
    return content


def _unfit(file: Path, kind: str) -> UnfitKey:
    other = f"The {kind} one of am share keygen FILE is FILE{PUBLIC_SUFFIX if kind == 'public' else ''}."
    return UnfitKey(f"{file} holds no {kind} Ed25519 key in PEM.", hint=other, data={"path": str(file)})


def _unwritten(file: Path, failed: OSError) -> Unavailable:
    return Unavailable(
        f"{file} cannot be written: {failed.strerror or failed}.",
        hint="Name a file in a folder that is there, and that you may write to.",
        data={"path": str(file)},
    )


def _taken(file: Path) -> KeyTaken:
    return KeyTaken(
        f"{file} is there already; no key is written over.", hint="Name another file.", data={"path": str(file)}
    )
