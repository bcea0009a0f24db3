"""What becomes of an image: in this process, and once as the server runs it."""

from __future__ import annotations

import os
import resource
import signal
import stat
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from PIL import Image, ImageCms

from mcp_agent_mail import image_converter
from mcp_agent_mail.features.attachments.image_protocol import (
    MAX_SIDE,
    MEMORY_BYTES,
    READY,
    ConversionAnswer,
    ConversionJob,
    ConvertedImage,
    ImageFlaw,
    RefusedImage,
    from_line,
)
from tests.image_samples import FORMATS, ORIENTATION, animation, corner_lit, encoded, png, png_chunk, turned

MAX_PIXELS = 40_000_000
LIT_CORNER = {1: 0, 2: 1, 3: 3, 4: 2, 5: 0, 6: 1, 7: 3, 8: 2}
"""Where the stored upper left corner is shown by each orientation: upper left, upper right, lower left, lower right."""
FULL_DISK = Path("/dev/full")
ENDS_WITHIN_S = 60.0


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "image.webp"


def convert(content: bytes, target: Path, *, max_pixels: int = MAX_PIXELS) -> ConversionAnswer:
    source = target.with_name("source")
    source.write_bytes(content)
    return image_converter.convert(ConversionJob(source=str(source), target=str(target), max_pixels=max_pixels))


def flaw(content: bytes, target: Path, *, max_pixels: int = MAX_PIXELS) -> ImageFlaw:
    answer = convert(content, target, max_pixels=max_pixels)
    assert isinstance(answer, RefusedImage), answer
    return answer.flaw


def chunks(webp: Path) -> list[bytes]:
    """The names of a WebP file's chunks, in order."""
    content = webp.read_bytes()
    assert content[:4] == b"RIFF"
    assert content[8:12] == b"WEBP"
    names, at = [], 12
    while at < len(content):
        names.append(content[at : at + 4])
        (size,) = struct.unpack("<I", content[at + 4 : at + 8])
        at += 8 + size + size % 2
    return names


def brightness(webp: Path) -> list[int]:
    """Of the four corners: upper left, upper right, lower left, lower right."""
    with Image.open(webp) as image:
        grey = image.convert("L")
    right, bottom = grey.width - 4, grey.height - 4
    return [grey.crop((x, y, x + 1, y + 1)).tobytes()[0] for y in (3, bottom) for x in (3, right)]


@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_becomes_webp_that_only_we_may_read(format_: str, target: Path) -> None:
    answer = convert(encoded(corner_lit(), format_), target)

    assert answer == ConvertedImage(width=64, height=32, frames=1)
    assert chunks(target) == [b"VP8 "]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert [value > 128 for value in brightness(target)] == [True, False, False, False]


@pytest.mark.parametrize("format_", ["JPEG", "PNG", "TIFF", "WEBP"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_an_image_is_turned_as_exif_says_and_says_so_no_more(format_: str, orientation: int, target: Path) -> None:
    answer = convert(turned(format_, orientation), target)

    sides = (32, 64) if orientation > 4 else (64, 32)
    assert answer == ConvertedImage(width=sides[0], height=sides[1], frames=1)
    assert [value > 128 for value in brightness(target)].index(True) == LIT_CORNER[orientation]
    assert chunks(target) == [b"VP8 "]


@pytest.mark.parametrize(
    "exif",
    [
        b"odd",
        b"II*\0\xff\xff\xff\xff odd",
        b"II*\0\x08\0\0\0\x01\0" + struct.pack("<HHI4s", ORIENTATION, 2, 4, b"odd\0") + bytes(4),
    ],
)
def test_an_exif_that_cannot_be_read_turns_nothing(exif: bytes, target: Path) -> None:
    content = encoded(corner_lit(), "JPEG", exif=b"Exif\0\0" + exif)

    assert convert(content, target) == ConvertedImage(width=64, height=32, frames=1)


def test_metadata_stay_behind(target: Path) -> None:
    secret = b"55.7558 N, 37.6173 E"
    exif = Image.Exif()
    exif[0x010E] = secret.decode()
    text = png_chunk(b"tEXt", b"Comment\0" + secret)
    content = encoded(corner_lit(), "WEBP", exif=exif, xmp=secret, icc_profile=b"no profile, " + secret)
    assert secret in content

    for image in (content, png(1, 1, zlib.compress(b"\0abc"), text), encoded(corner_lit(), "GIF", comment=secret)):
        assert isinstance(convert(image, target), ConvertedImage)
        assert chunks(target) == [b"VP8 "]
        assert secret not in target.read_bytes()


def swapped_profile() -> bytes:
    """A profile in which red is what blue is in sRGB."""
    known = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    swapped = known.replace(b"rXYZ", b"?XYZ").replace(b"bXYZ", b"rXYZ").replace(b"?XYZ", b"bXYZ")
    return swapped.replace("sRGB".encode("utf-16-be"), "Swap".encode("utf-16-be"))


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P"])
def test_a_colour_profile_is_applied_and_left_out(mode: str, target: Path) -> None:
    red = Image.new("RGBA", (16, 16), (255, 0, 0, 128 if mode == "RGBA" else 255)).convert(mode)

    convert(encoded(red, "PNG", icc_profile=swapped_profile()), target)

    with Image.open(target) as image:
        shown = image.convert("RGB").getpixel((8, 8))
    assert isinstance(shown, tuple)
    assert (shown[0] < 30, shown[2] > 225) == (True, True), shown
    assert b"ICCP" not in chunks(target)


@pytest.mark.parametrize("profile", [b"", b"odd", b"\0" * 200, swapped_profile()[:300]])
@pytest.mark.parametrize("mode", ["RGB", "CMYK"])
def test_a_profile_that_cannot_be_read_is_left_out(mode: str, profile: bytes, target: Path) -> None:
    grey = Image.new("L", (16, 16), 100).convert(mode)

    convert(encoded(grey, "TIFF", icc_profile=profile), target)

    assert all(abs(value - 100) < 5 for value in brightness(target))


def test_a_profile_of_other_colours_is_left_out(target: Path) -> None:
    other = ImageCms.ImageCmsProfile(ImageCms.createProfile("XYZ")).tobytes()

    convert(encoded(Image.new("RGB", (16, 16), (100, 100, 100)), "PNG", icc_profile=other), target)

    assert all(abs(value - 100) < 5 for value in brightness(target))


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "I", "F"])
def test_every_kind_of_pixel_keeps_its_brightness(mode: str, target: Path) -> None:
    grey = Image.linear_gradient("L")
    image = (
        grey.convert(mode) if mode != "I;16" else grey.convert("I").point(lambda value: value * 256 + 0).convert(mode)
    )

    convert(encoded(image, "TIFF"), target)

    top, _, bottom, _ = brightness(target)
    assert (top < 10, bottom > 245) == (True, True)


@pytest.mark.parametrize(
    ("image", "options", "sees_through"),
    [
        (Image.new("RGBA", (16, 16), (255, 0, 0, 60)), {}, True),
        (Image.new("RGBA", (16, 16), (255, 0, 0, 255)), {}, False),
        (corner_lit().quantize(2), {"transparency": 0}, True),
        (Image.new("L", (16, 16), 1), {"transparency": 1}, True),
        (Image.new("I;16", (16, 16), 256), {"transparency": 1}, False),
    ],
)
def test_what_is_transparent_stays_so(
    image: Image.Image, options: dict[str, int], sees_through: bool, target: Path
) -> None:
    convert(encoded(image, "PNG", **options), target)

    assert (b"ALPH" in chunks(target)) is sees_through


# --- Frames -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("format_", "options", "shown_ms", "loops"),
    [
        ("GIF", {"duration": 70, "loop": 2}, 70, 3),
        ("GIF", {"duration": 70, "loop": 0}, 70, 0),
        ("GIF", {"duration": 0}, 100, 1),
        ("PNG", {"duration": 70, "loop": 2}, 70, 2),
        ("WEBP", {"duration": 70, "loop": 2}, 70, 2),
        ("TIFF", {}, 1_000, 0),
    ],
)
def test_frames_are_kept_with_their_times(
    format_: str, options: dict[str, int], shown_ms: int, loops: int, target: Path
) -> None:
    answer = convert(animation(format_, 5, **options), target)

    assert answer == ConvertedImage(width=40, height=30, frames=5)
    assert chunks(target) == [b"VP8X", b"ANIM", *[b"ANMF"] * 5]
    with Image.open(target) as image:
        image.load()
        assert (image.info["duration"], image.info["loop"]) == (shown_ms, loops)


@pytest.mark.parametrize("format_", ["PNG", "TIFF", "WEBP"])
def test_every_frame_is_turned(format_: str, target: Path) -> None:
    exif = Image.Exif()
    exif[ORIENTATION] = 6

    answer = convert(animation(format_, 3, exif=exif), target)

    assert answer == ConvertedImage(width=30, height=40, frames=3)


def test_a_picture_that_stands_in_for_an_animation_is_no_frame(target: Path) -> None:
    answer = convert(animation("PNG", 5, default_image=True), target)

    assert answer == ConvertedImage(width=40, height=30, frames=4)


def test_what_a_jpeg_holds_besides_is_no_frame(target: Path) -> None:
    views = encoded(corner_lit(), "MPO", save_all=True, append_images=[corner_lit()])

    assert convert(views, target) == ConvertedImage(width=64, height=32, frames=1)


def test_pages_of_several_sizes_share_a_canvas_and_smaller_copies_are_no_pages(target: Path) -> None:
    reduced = corner_lit(8, 4)
    reduced.encoderinfo = {"tiffinfo": {254: 1}}
    pages = [corner_lit(20, 60), reduced]

    answer = convert(encoded(corner_lit(), "TIFF", save_all=True, append_images=pages), target)

    assert answer == ConvertedImage(width=64, height=60, frames=2)


# --- Refused ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format_", FORMATS)
def test_too_many_pixels_are_refused_before_any_is_decoded(format_: str, target: Path) -> None:
    content = encoded(corner_lit(), format_)

    assert flaw(content, target, max_pixels=64 * 32 - 1) is ImageFlaw.PIXELS
    assert flaw(content, target, max_pixels=64) is ImageFlaw.PIXELS
    assert isinstance(convert(content, target, max_pixels=64 * 32), ConvertedImage)


@pytest.mark.parametrize("format_", ["GIF", "PNG", "WEBP", "TIFF"])
def test_frames_count_together(format_: str, target: Path) -> None:
    content = animation(format_, 5)

    assert flaw(content, target, max_pixels=5 * 40 * 30 - 1) is ImageFlaw.PIXELS
    assert isinstance(convert(content, target, max_pixels=5 * 40 * 30), ConvertedImage)


def test_frames_that_are_only_said_count_before_one_is_decoded(target: Path) -> None:
    control = png_chunk(b"acTL", struct.pack(">II", 1_000, 0))
    frame = png_chunk(b"fcTL", struct.pack(">IIIIIHHBB", 0, 1, 1, 0, 0, 1, 10, 0, 0))
    content = png(1, 1, zlib.compress(b"\0abc"), control, frame)

    assert flaw(content, target, max_pixels=999) is ImageFlaw.PIXELS
    assert flaw(content, target, max_pixels=1_000) is ImageFlaw.UNDECODABLE


@pytest.mark.parametrize("format_", ["GIF", "TIFF"])
def test_of_an_image_that_is_too_large_no_frame_is_looked_for(format_: str, target: Path) -> None:
    content = animation(format_, 5)
    torn = content[: len(content) * 2 // 3]

    assert flaw(torn, target, max_pixels=40 * 30 - 1) is ImageFlaw.PIXELS
    assert flaw(torn, target, max_pixels=40 * 30) is ImageFlaw.UNDECODABLE


def test_a_canvas_that_pages_span_together_counts(target: Path) -> None:
    pages = [corner_lit(4, 400)]
    content = encoded(corner_lit(400, 4), "TIFF", save_all=True, append_images=pages)

    assert flaw(content, target, max_pixels=2 * 400 * 400 - 1) is ImageFlaw.PIXELS
    assert isinstance(convert(content, target, max_pixels=2 * 400 * 400), ConvertedImage)


@pytest.mark.parametrize("format_", ["PNG", "JPEG", "GIF", "BMP", "TIFF"])
def test_a_side_that_webp_has_not_is_refused(format_: str, target: Path) -> None:
    assert flaw(encoded(Image.new("L", (MAX_SIDE + 1, 1)), format_), target) is ImageFlaw.SIDE
    assert isinstance(convert(encoded(Image.new("L", (1, MAX_SIDE)), format_), target), ConvertedImage)


@pytest.mark.parametrize("format_", FORMATS)
def test_half_an_image_is_none(format_: str, target: Path) -> None:
    content = encoded(Image.effect_noise((64, 64), 90).convert("RGB"), format_)

    assert flaw(content[: len(content) // 2], target) is ImageFlaw.UNDECODABLE
    assert not target.exists()


@pytest.mark.parametrize(
    "content", [b"", b"GIF89a", b"BM and words", b"<svg/>", b"%!PS-Adobe-3.0 EPSF-3.0", b"P6 1 1 255 abc"]
)
def test_what_is_no_image_of_the_six_formats_is_undecodable(content: bytes, target: Path) -> None:
    assert flaw(content, target) is ImageFlaw.UNDECODABLE


def test_a_file_that_is_not_there_is_no_fault_of_the_image(target: Path) -> None:
    job = ConversionJob(source=str(target.with_name("gone")), target=str(target), max_pixels=MAX_PIXELS)

    answer = image_converter.convert(job)

    assert isinstance(answer, RefusedImage)
    assert answer.flaw is ImageFlaw.UNTOUCHED


def test_nor_is_a_disk_that_is_full(tmp_path: Path) -> None:
    content = encoded(corner_lit(), "PNG")
    source = tmp_path / "source"
    source.write_bytes(content)

    answer = image_converter.convert(ConversionJob(source=str(source), target=str(FULL_DISK), max_pixels=MAX_PIXELS))

    assert answer == RefusedImage(
        flaw=ImageFlaw.UNTOUCHED, fact="An image's file could not be written: No space left on device."
    )


def test_nothing_is_written_through_a_link(target: Path) -> None:
    other = target.with_name("other")
    other.write_text("mine")
    target.symlink_to(other)

    assert flaw(encoded(corner_lit(), "PNG"), target) is ImageFlaw.UNTOUCHED
    assert other.read_text() == "mine"


# --- The process ------------------------------------------------------------------------------------------------------


def test_the_process_has_its_limits_and_ends_with_its_input(tmp_path: Path) -> None:
    source, target, scratch = tmp_path / "source", tmp_path / "image.webp", tmp_path / "store" / "scratch"
    source.write_bytes(encoded(corner_lit(), "PNG"))
    command = [sys.executable, "-P", "-m", "mcp_agent_mail.image_converter", str(scratch)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == READY
        assert resource.prlimit(process.pid, resource.RLIMIT_AS) == (MEMORY_BYTES, MEMORY_BYTES)
        assert resource.prlimit(process.pid, resource.RLIMIT_CORE) == (0, 0)
        assert os.getpriority(os.PRIO_PROCESS, process.pid) > 0
        assert Path(f"/proc/{process.pid}/cwd").readlink() == scratch
        assert stat.S_IMODE(scratch.stat().st_mode) == 0o700
        for _ in range(2):
            job = ConversionJob(source=str(source), target=str(target), max_pixels=MAX_PIXELS)
            process.stdin.write(job.to_line())
            process.stdin.flush()
            assert from_line(process.stdout.readline()) == ConvertedImage(width=64, height=32, frames=1)
        process.stdin.close()
        assert process.wait() == 0
        assert process.stderr.read() == b""


def test_an_image_that_takes_for_ever_ends_a_process_that_nobody_watches(tmp_path: Path) -> None:
    endless = tmp_path / "endless"
    os.mkfifo(endless)
    impatient = "from mcp_agent_mail import image_converter as c; c._ALONE_S = 0.05; c.main()"
    job = ConversionJob(source=str(endless), target=str(tmp_path / "image.webp"), max_pixels=1)

    finished = subprocess.run(
        [sys.executable, "-c", impatient, str(tmp_path)],
        input=job.to_line(),
        capture_output=True,
        check=False,
        timeout=ENDS_WITHIN_S,
    )

    assert (finished.returncode, finished.stdout) == (-signal.SIGALRM, READY)
