"""Images as an attacker makes them: bombs, lying headers, damage, and formats inside formats.

All are made here, small as files, whatever they claim to be.
"""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO

from PIL import Image

from tests.image_samples import FORMATS, animation, corner_lit, encoded, png, png_chunk

_SIDE = 16_000
_MUCH = 64 << 20
"""Bytes that a bomb inflates to."""
_FUZZED_OF_EACH = 8


def quick_images() -> Iterator[tuple[str, bytes]]:
    """Each with its name; those that are soon made, and soon judged."""
    for name, make in _MADE.items():
        yield name, make()
    for format_ in FORMATS:
        yield from _fuzzed(format_)


def long_images() -> Iterator[tuple[str, bytes]]:
    """Those that keep their maker busy, or the converter."""
    for name, make in _MADE_LONG.items():
        yield name, make()


def _rows(width: int, height: int) -> bytes:
    """Compressed rows of a black one-bit image: of 32 MB some 30 KB are left."""
    return zlib.compress(bytes((width // 8 + 1) * height), 9)


# --- PNG --------------------------------------------------------------------------------------------------------------


def _png_bomb() -> bytes:
    return png(_SIDE, _SIDE, _rows(_SIDE, _SIDE), depth=1, colours=0)


def _png_that_says(width: int, height: int) -> bytes:
    return png(width, height, zlib.compress(b"\0abc"))


def _png_with(name: bytes, content: bytes) -> bytes:
    return png(1, 1, zlib.compress(b"\0abc"), png_chunk(name, content))


def _png_of_many_frames(frames: int) -> bytes:
    """The animation control says so many; there is one."""
    control = png_chunk(b"acTL", struct.pack(">II", frames, 0))
    frame = png_chunk(b"fcTL", struct.pack(">IIIIIHHBB", 0, 1, 1, 0, 0, 1, 10, 0, 0))
    return png(1, 1, zlib.compress(b"\0abc"), control, frame)


def _png_frame_outside() -> bytes:
    control = png_chunk(b"acTL", struct.pack(">II", 2, 0))
    first = png_chunk(b"fcTL", struct.pack(">IIIIIHHBB", 0, 1, 1, 0, 0, 1, 10, 0, 0))
    outside = png_chunk(b"fcTL", struct.pack(">IIIIIHHBB", 1, 9_000, 9_000, 2**31 - 1, 7, 1, 10, 0, 0))
    whole = png(1, 1, zlib.compress(b"\0abc"), control, first)
    at = whole.rindex(b"IEND") - 4
    return whole[:at] + outside + png_chunk(b"fdAT", struct.pack(">I", 2) + zlib.compress(b"\0abc")) + whole[at:]


def _png_many_chunks() -> bytes:
    text = png_chunk(b"zTXt", b"k\0\0" + zlib.compress(bytes(1_000_000)))
    return png(1, 1, zlib.compress(b"\0abc"), *[text] * 500)


# --- GIF --------------------------------------------------------------------------------------------------------------


def _gif(screen: tuple[int, int], *frames: bytes) -> bytes:
    return b"GIF89a" + struct.pack("<HHBBB", *screen, 0x80, 0, 0) + bytes(6) + b"".join(frames) + b";"


def _gif_frame(left: int, top: int, width: int, height: int, data: bytes = b"\x02\x02\x44\x01\x00") -> bytes:
    return b"," + struct.pack("<HHHHB", left, top, width, height, 0) + data


def _gif_of_many_frames(count: int, side: int) -> bytes:
    control = b"!\xf9\x04\x08\x00\x00\x00\x00"
    return _gif((side, side), *[control + _gif_frame(0, 0, 1, 1)] * count)


# --- WebP -------------------------------------------------------------------------------------------------------------


def _riff(*chunks: tuple[bytes, bytes]) -> bytes:
    body = b"".join(name + struct.pack("<I", len(data)) + data + bytes(len(data) % 2) for name, data in chunks)
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WEBP" + body


def _canvas(width: int, height: int, flags: int = 0) -> tuple[bytes, bytes]:
    size = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"VP8X", bytes([flags, 0, 0, 0]) + size


def _still() -> bytes:
    """The one chunk of a small WebP: its content."""
    return encoded(corner_lit(16, 16), "WEBP")[20:]


_ANIMATED = 0x02


def _webp_frames(count: int, width: int, height: int) -> bytes:
    """An animation on a vast canvas, each frame a small picture."""
    place = bytes(6) + (15).to_bytes(3, "little") + (15).to_bytes(3, "little") + bytes([10, 0, 0, 0])
    still = _still()
    frame = place + b"VP8 " + struct.pack("<I", len(still)) + still + bytes(len(still) % 2)
    return _riff(_canvas(width, height, _ANIMATED), (b"ANIM", bytes(6)), *[(b"ANMF", frame)] * count)


def _webp_lossless(width: int, height: int) -> bytes:
    bits = (width - 1) | (height - 1) << 14
    return _riff((b"VP8L", b"\x2f" + struct.pack("<I", bits) + bytes(64)))


def _webp_that_says(width: int, height: int) -> bytes:
    still = _still()
    return _riff((b"VP8 ", still[:6] + struct.pack("<HH", width, height) + still[10:]))


# --- TIFF -------------------------------------------------------------------------------------------------------------

_SHORT, _LONG = 3, 4


def _tiff(tags: dict[int, tuple[int, int, int]], following: int = 0, data: bytes = b"") -> bytes:
    """One directory at 8, then `data`. `tags` are type, count and value; `following` is where the next directory is."""
    entries = b"".join(struct.pack("<HHII", tag, *tags[tag]) for tag in sorted(tags))
    return b"II*\0" + struct.pack("<IH", 8, len(tags)) + entries + struct.pack("<I", following) + data


def _tiff_tags(width: int, height: int, **changed: tuple[int, int, int]) -> dict[int, tuple[int, int, int]]:
    tags = {
        "t256": (_LONG, 1, width),
        "t257": (_LONG, 1, height),
        "t258": (_SHORT, 1, 8),
        "t259": (_SHORT, 1, 1),
        "t262": (_SHORT, 1, 1),
        "t273": (_LONG, 1, 8),
        "t277": (_SHORT, 1, 1),
        "t278": (_LONG, 1, height),
        "t279": (_LONG, 1, 1),
    }
    return {int(name[1:]): value for name, value in (tags | changed).items()}


def _tiff_of_directories(count: int) -> bytes:
    """Directories one after the other, each of them a page of one pixel; the last leads back to the first."""
    tags = _tiff_tags(1, 1)
    length = 2 + 12 * len(tags) + 4
    pages = []
    for index in range(count):
        following = 8 + (index + 1) * length if index < count - 1 else 8
        pages.append(_tiff(tags, following)[8:])
    return b"II*\0" + struct.pack("<I", 8) + b"".join(pages)


def _tiff_nested() -> bytes:
    """A page whose JPEG strip is a TIFF, whose strip is a JPEG."""
    inner = encoded(corner_lit(), "TIFF", compression="jpeg")
    tags = _tiff_tags(64, 32, t259=(_SHORT, 1, 7), t273=(_LONG, 1, 200), t279=(_LONG, 1, len(inner)))
    return _tiff(tags).ljust(200, b"\0") + inner


# --- Large, and as they say they are ----------------------------------------------------------------------------------


def _png_transparent() -> bytes:
    image = Image.effect_noise((600, 500), 90).resize((6_000, 5_000)).convert("RGB")
    image.putalpha(Image.linear_gradient("L").resize(image.size))
    return encoded(image, "PNG", compress_level=1)


def _png_opaque() -> bytes:
    """With an alpha channel that says nothing: to encode it as if it did takes more memory than there is."""
    image = Image.effect_noise((650, 600), 90).resize((6_500, 6_000)).convert("RGBA")
    return encoded(image, "PNG", compress_level=1)


def _jpeg_noise() -> bytes:
    return encoded(Image.effect_noise((800, 500), 90).resize((8_000, 5_000)).convert("RGB"), "JPEG")


# --- JPEG, BMP --------------------------------------------------------------------------------------------------------


def _jpeg_that_says(width: int, height: int) -> bytes:
    content = bytearray(encoded(corner_lit(), "JPEG"))
    at = content.index(b"\xff\xc0") + 5
    content[at : at + 4] = struct.pack(">HH", height, width)
    return bytes(content)


def _jpeg_scans() -> bytes:
    """A progressive image of many pixels, whose scans are said again and again: each has to be decoded."""
    content = encoded(Image.new("L", (6_000, 6_000)), "JPEG", progressive=True)
    start = content.rindex(b"\xff\xda")
    return content[:start] + content[start:-2] * 2_000 + content[-2:]


def _jpeg_exif(exif: bytes) -> bytes:
    return encoded(corner_lit(), "JPEG", exif=b"Exif\0\0" + exif)


def _jpeg_segments() -> bytes:
    plain = encoded(corner_lit(), "JPEG")
    return plain[:2] + b"\xff\xe1\xff\xff".ljust(65_537, b"\0") * 60 + plain[2:]


def _bmp(width: int, height: int, bits: int = 24, compression: int = 0, offset: int = 54, colours: int = 0) -> bytes:
    info = struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, compression, 0, 0, 0, colours, 0)
    return b"BM" + struct.pack("<IHHI", 58, 0, 0, offset) + info + bytes(4)


_LOOPING_EXIF = b"II*\0\x08\0\0\0\x01\0" + struct.pack("<HHII", 0x8769, _LONG, 1, 8) + struct.pack("<I", 8)

_MADE: dict[str, Callable[[], bytes]] = {
    "PNG of 256 million pixels": _png_bomb,
    "PNG, sides of 2^31 - 1": lambda: _png_that_says(2**31 - 1, 2**31 - 1),
    "PNG of 40 million pixels with the data of one": lambda: _png_that_says(8_000, 5_000),
    "PNG without width": lambda: _png_that_says(0, 1),
    "PNG, zTXt bomb": lambda: _png_with(b"zTXt", b"k\0\0" + zlib.compress(bytes(_MUCH), 9)),
    "PNG, iTXt bomb": lambda: _png_with(b"iTXt", b"k\0\1\0\0\0" + zlib.compress(bytes(_MUCH), 9)),
    "PNG, iCCP bomb": lambda: _png_with(b"iCCP", b"k\0\0" + zlib.compress(bytes(_MUCH), 9)),
    "PNG, 500 zTXt of a megabyte each": _png_many_chunks,
    "PNG, chunk of 4 GB": lambda: png(1, 1, b"")[:33] + b"\xff\xff\xff\xffIDAT",
    "PNG, rows that never end": lambda: png(1, 1, zlib.compress(bytes(_MUCH), 9)),
    "PNG, 2^31 - 1 frames said": lambda: _png_of_many_frames(2**31 - 1),
    "PNG, 1,000 frames said": lambda: _png_of_many_frames(1_000),
    "PNG, frame outside": _png_frame_outside,
    "GIF of 10,000 frames": lambda: _gif_of_many_frames(10_000, 4),
    "GIF of 10,000 frames on a large screen": lambda: _gif_of_many_frames(10_000, 1_000),
    "GIF, screen of 65,535": lambda: _gif((65_535, 65_535), _gif_frame(0, 0, 1, 1)),
    "GIF, first frame beyond the screen": lambda: _gif((1, 1), _gif_frame(0, 0, 16_000, 16_000)),
    "GIF, later frame beyond the screen": lambda: _gif(
        (1, 1), _gif_frame(0, 0, 1, 1), _gif_frame(0, 0, 16_000, 16_000)
    ),
    "GIF, frames that grow": lambda: _gif((1, 1), *(_gif_frame(0, 0, side, side) for side in range(1, 16_000, 500))),
    "GIF, code size of 255": lambda: _gif((9, 9), _gif_frame(0, 0, 9, 9, b"\xff\x01\x00\x00")),
    "GIF without an end": lambda: _gif((9, 9), _gif_frame(0, 0, 9, 9, b"\x02" + b"\xff" * 200)),
    "WebP, canvas of 16,777,216": lambda: _riff(_canvas(1 << 24, 256), (b"VP8 ", _still())),
    "WebP, canvas of 2^32 pixels": lambda: _riff(_canvas(1 << 16, 1 << 16), (b"VP8 ", _still())),
    "WebP, canvas that is not the picture's": lambda: _riff(_canvas(6_000, 6_000), (b"VP8 ", _still())),
    "WebP, 10,000 frames on a vast canvas": lambda: _webp_frames(10_000, 16_000, 16_000),
    "WebP, 10,000 small frames": lambda: _webp_frames(10_000, 16, 16),
    "WebP, picture that says 16,383": lambda: _webp_that_says(16_383, 16_383),
    "WebP, lossless that says 16,384": lambda: _webp_lossless(16_384, 16_384),
    "WebP, lossless without data": lambda: _webp_lossless(2_000, 2_000),
    "WebP, animated without frames": lambda: _riff(_canvas(9, 9, _ANIMATED), (b"ANIM", bytes(6))),
    "WebP, metadata said and not there": lambda: _riff(_canvas(16, 16, 0x2C), (b"VP8 ", _still())),
    "WebP, length of 4 GB": lambda: b"RIFF\xff\xff\xff\xffWEBPVP8 \xff\xff\xff\xff" + _still(),
    "TIFF of 256 million pixels": lambda: encoded(Image.new("1", (_SIDE, _SIDE)), "TIFF", compression="group4"),
    "TIFF, directory that leads to itself": lambda: _tiff(_tiff_tags(1, 1), following=8),
    "TIFF, directory before the beginning": lambda: b"II*\0" + struct.pack("<I", 2**32 - 1),
    "TIFF, strip of 4 GB": lambda: _tiff(_tiff_tags(6_000, 6_000, t279=(_LONG, 1, 2**32 - 1))),
    "TIFF, tag of 2^32 - 1 values": lambda: _tiff(_tiff_tags(1, 1, t273=(_LONG, 2**32 - 1, 8))),
    "TIFF, 65,535 samples": lambda: _tiff(_tiff_tags(99, 99, t277=(_SHORT, 1, 65_535))),
    "TIFF, sides of 2^32 - 1": lambda: _tiff(_tiff_tags(2**32 - 1, 2**32 - 1)),
    "TIFF in TIFF": _tiff_nested,
    "TIFF, JPEG without tables": lambda: _tiff(_tiff_tags(64, 64, t259=(_SHORT, 1, 6))),
    "JPEG, sides of 65,535": lambda: _jpeg_that_says(65_535, 65_535),
    "JPEG, 60 segments of nothing": _jpeg_segments,
    "JPEG, EXIF that leads to itself": lambda: _jpeg_exif(_LOOPING_EXIF),
    "JPEG, EXIF of 65,535 entries": lambda: _jpeg_exif(b"II*\0\x08\0\0\0\xff\xff" + b"\x01" * 60_000),
    "JPEG, second picture that is not there": lambda: encoded(
        corner_lit(), "MPO", save_all=True, append_images=[corner_lit()]
    )[:900],
    "BMP of 2^31 - 1": lambda: _bmp(2**31 - 1, 2**31 - 1),
    "BMP of -2^31": lambda: _bmp(-(2**31), -(2**31)),
    "BMP, pixels at 4 GB": lambda: _bmp(9, 9, offset=2**32 - 1),
    "BMP, run lengths that never end": lambda: (
        _bmp(6_000, 6_000, bits=8, compression=1, colours=2**31) + b"\xff\0" * 99
    ),
    "BMP of 40 million pixels with the data of one": lambda: _bmp(8_000, 5_000),
    "GIF inside of what says PNG": lambda: b"\x89PNG\r\n\x1a\n" + animation("GIF"),
    "EPS that says TIFF": lambda: b"II*\0%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
    "SVG that says BMP": lambda: b"BM<svg xmlns='http://www.w3.org/2000/svg'/>",
}


_MADE_LONG: dict[str, Callable[[], bytes]] = {
    "GIF of 300,000 frames": lambda: _gif_of_many_frames(300_000, 1),
    "WebP of 225 million pixels": lambda: encoded(Image.new("1", (15_000, 15_000)), "WEBP", method=2),
    "TIFF, 100,000 pages in a ring": lambda: _tiff_of_directories(100_000),
    "JPEG of 65,500 by 4,000": lambda: encoded(Image.new("L", (65_500, 4_000)), "JPEG"),
    "JPEG of 2,000 scans": _jpeg_scans,
    "JPEG of 36 million pixels with the data of 2,048": lambda: _jpeg_that_says(6_000, 6_000),
    "PNG of 30 million transparent pixels": _png_transparent,
    "PNG of 39 million opaque pixels": _png_opaque,
    "JPEG of 40 million pixels of noise": _jpeg_noise,
    "WebP of 39 million pixels": lambda: encoded(Image.new("L", (6_250, 6_250)), "WEBP", method=2),
}


def _fuzzed(format_: str) -> Iterator[tuple[str, bytes]]:
    """Whole images with bytes changed, cut out or doubled, ever the same."""
    chance = random.Random(format_)
    moves = (
        {"save_all": True, "append_images": [corner_lit(48, 48)]} if format_ in ("GIF", "PNG", "WEBP", "TIFF") else {}
    )
    whole = encoded(Image.effect_noise((48, 48), 90).convert("RGB"), format_, **moves)
    for number in range(_FUZZED_OF_EACH):
        content = bytearray(whole)
        for _ in range(1 + number * 3):
            at = chance.randrange(6, len(content))
            change = chance.randrange(4)
            if change == 0:
                del content[at : at + chance.randrange(1, 9)]
            elif change == 1:
                content[at:at] = content[at : at + 40]
            else:
                content[at] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        yield f"{format_}, fuzzed {number}", bytes(content)


def is_webp(content: bytes) -> bool:
    """Whether it is a WebP that can be decoded to its end."""
    with Image.open(BytesIO(content), formats=("WEBP",)) as image:
        for index in range(getattr(image, "n_frames", 1)):
            image.seek(index)
            image.load()
    return True
