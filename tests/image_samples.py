"""Images for tests, made here: small, and of every format that is converted."""

from __future__ import annotations

import struct
import zlib
from io import BytesIO
from typing import Any

from PIL import Image

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
ORIENTATION = 0x0112
PNG_START = b"\x89PNG\r\n\x1a\n"


def encoded(image: Image.Image, format_: str, **options: Any) -> bytes:
    """The image as a file of that format."""
    file = BytesIO()
    image.save(file, format_, **options)
    return file.getvalue()


def corner_lit(width: int = 64, height: int = 32) -> Image.Image:
    """Black, but for a white upper left quarter."""
    image = Image.new("RGB", (width, height))
    image.paste("white", (0, 0, width // 2, height // 2))
    return image


def turned(format_: str, orientation: int) -> bytes:
    """`corner_lit`, with an EXIF orientation that says how it is to be shown."""
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    lossless = {"lossless": True} if format_ == "WEBP" else {}
    return encoded(corner_lit(), format_, exif=exif, **lossless)


def animation(format_: str, frames: int = 5, **options: Any) -> bytes:
    """Frames of 40 by 30 pixels and one colour each, none like the one before."""
    first, *rest = (Image.new("RGB", (40, 30), (index * 97 % 256, index * 31 % 256, 0)) for index in range(frames))
    return encoded(first, format_, save_all=True, append_images=rest, **options)


def png_chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def png(width: int, height: int, pixels: bytes, *chunks: bytes, depth: int = 8, colours: int = 2) -> bytes:
    """A PNG that says it has that size; `pixels` are its compressed rows, `chunks` stand between."""
    header = struct.pack(">IIBBBBB", width, height, depth, colours, 0, 0, 0)
    middle = b"".join(chunks)
    return PNG_START + png_chunk(b"IHDR", header) + middle + png_chunk(b"IDAT", pixels) + png_chunk(b"IEND", b"")
