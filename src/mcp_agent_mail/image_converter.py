"""Converts images to WebP: `python -m mcp_agent_mail.image_converter SCRATCH`, a child process of the server.

The one module that knows Pillow. What decodes a stranger's image may be made to take all memory, to hang, or to run
what the image says: so it happens in here, within limits of the kernel, and the server ends whoever is late. A line of
standard input is a job, a line of standard output its answer (`features/attachments/image_protocol`); when the input
closes, the process ends. It has no use for the network, and knows no secret.
"""

from __future__ import annotations

import errno
import os
import resource
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path

from PIL import (
    BmpImagePlugin,
    ExifTags,
    GifImagePlugin,
    Image,
    ImageCms,
    JpegImagePlugin,
    PngImagePlugin,
    TiffImagePlugin,
    WebPImagePlugin,
)

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.features.attachments.image_protocol import (
    MAX_SIDE,
    MEMORY_BYTES,
    READY,
    WITHIN_S,
    ConversionAnswer,
    ConversionJob,
    ConvertedImage,
    ImageFlaw,
    RefusedImage,
    to_line,
)

_STDOUT = 1
_STDERR = 2
_ALONE_S = WITHIN_S + 5.0
"""A server that is there has ended us before: without one, an image must not keep us at work for ever."""
_NICENESS = 10
"""Requests come first."""

_JPEG = JpegImagePlugin.JpegImageFile.format
_TIFF = TiffImagePlugin.TiffImageFile.format
_FRAMED = (
    PngImagePlugin.PngImageFile.format,
    GifImagePlugin.GifImageFile.format,
    WebPImagePlugin.WebPImageFile.format,
    _TIFF,
)
"""Formats with frames. What a JPEG holds besides (a preview, a second view) is no frame of it."""
_FORMATS = (*_FRAMED, _JPEG, BmpImagePlugin.BmpImageFile.format)
_OUTPUT = "WEBP"
_QUALITY = 80
_MUCH = 2_000_000
"""Pixels, from which on the encoder's usual effort would take too long."""

_DEFAULT_MS = 100
_PAGE_MS = 1_000
_SHORTEST_MS = 11
"""What asks for less is shown for `_DEFAULT_MS` by every browser."""
_LONGEST_MS = 60_000
_MOST_LOOPS = 65_535

_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""What brings the pixels into the place that the EXIF orientation says."""
_REDUCED = 1
"""The bit of a TIFF page's subfile type that says: a smaller copy of another page."""


class _Refused(Exception):
    def __init__(self, flaw: ImageFlaw, fact: str) -> None:
        super().__init__(fact)
        self.answer = RefusedImage(flaw=flaw, fact=fact)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Film:
    """All frames in one size, how long each is shown (ms), and how often all are (0: for ever)."""

    frames: list[Image.Image]
    durations: list[int]
    loops: int


def main() -> int:
    """Convert what standard input names until it closes; 0."""
    scratch = Path(sys.argv[1])
    scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.chdir(scratch)
    _bound()
    _say(READY)
    for line in sys.stdin.buffer:
        signal.setitimer(signal.ITIMER_REAL, _ALONE_S)
        answer = convert(ConversionJob.from_line(line))
        signal.setitimer(signal.ITIMER_REAL, 0)
        _say(to_line(answer))
    return 0


def convert(job: ConversionJob) -> ConversionAnswer:
    """Do one job. Whatever is wrong with the image is an answer, and what was written then is of no use."""
    Image.MAX_IMAGE_PIXELS = job.max_pixels
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _convert(job)
    except _Refused as refused:
        return refused.answer
    except Image.DecompressionBombError:  # More than twice as many, found before we could count.
        return _too_many_pixels(job.max_pixels)
    except MemoryError:
        return _too_much_memory()
    except Exception as error:  # noqa: BLE001  # Decoders raise what they like.
        if isinstance(error, OSError) and error.errno == errno.EIO:
            return _untouched("read", error)
        return RefusedImage(flaw=ImageFlaw.UNDECODABLE, fact="The image cannot be decoded: its bytes are damaged.")


def _convert(job: ConversionJob) -> ConvertedImage:
    try:
        file = open(job.source, "rb")  # noqa: PTH123, SIM115  # closed below; the bytes alone say what it is
    except OSError as error:
        raise _Refused(ImageFlaw.UNTOUCHED, _untouched("read", error).fact) from None
    with file:
        film = _read(Image.open(file, formats=_FORMATS), job.max_pixels)
    encoded = _encode(film)
    try:
        _write(job.target, encoded)
    except OSError as error:
        raise _Refused(ImageFlaw.UNTOUCHED, _untouched("written", error).fact) from None
    width, height = film.frames[0].size
    return ConvertedImage(width=width, height=height, frames=len(film.frames))


# --- Reading ----------------------------------------------------------------------------------------------------------


def _read(image: Image.Image, max_pixels: int) -> _Film:
    _Room(max_pixels).take(image.size)
    indexes = _frame_indexes(image)
    _Room(max_pixels).take(image.size, frames=len(indexes))
    if len(indexes) == 1:
        image.seek(indexes[0])
        _Room(max_pixels).take(image.size)
        return _Film(frames=[_take(image)], durations=[0], loops=0)
    room = _Room(max_pixels)
    frames: list[Image.Image] = []
    durations: list[int] = []
    for size in _each_page(image, indexes):
        room.take(size)
        frames.append(_upright(_plain(image.copy()), _orientation(image)))
        durations.append(_duration(image))
    size = max(frame.width for frame in frames), max(frame.height for frame in frames)
    _Room(max_pixels).take(size, frames=len(frames))
    return _Film(frames=[_placed(frame, size) for frame in frames], durations=durations, loops=_loops(image))


def _frame_indexes(image: Image.Image) -> range:
    """Where the frames are; a picture that stands in for an animation is none of its frames."""
    count = getattr(image, "n_frames", 1) if image.format in _FRAMED else 1
    first = 1 if getattr(image, "default_image", False) else 0
    return range(first, count) or range(count)


def _each_page(image: Image.Image, indexes: range) -> Iterator[tuple[int, int]]:
    """Go to each frame that counts; gives its size before anything of it is decoded."""
    for index in indexes:
        image.seek(index)
        pages = getattr(image, "tag_v2", None)
        if pages is None or index == indexes[0] or not pages.get(ExifTags.Base.NewSubfileType, 0) & _REDUCED:
            yield image.size


def _take(image: Image.Image) -> Image.Image:
    """The one frame of `image`, of which nothing is kept besides: two of the largest fit into memory, three do not."""
    image.load()
    orientation = _orientation(image)
    plain = _plain(image)
    if plain is not image:
        image.close()
    upright = _upright(plain, orientation)
    if upright is not plain:
        plain.close()
    return upright


def _orientation(image: Image.Image) -> int:
    """As EXIF says, once the image is loaded; 1 where it says nothing that can be read. A TIFF is turned by then, and
    says it no more.
    """
    try:
        return int(image.getexif().get(ExifTags.Base.Orientation, 1))
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  # Its reader raises whatever a damaged one leads to.
        return 1


def _upright(image: Image.Image, orientation: int) -> Image.Image:
    turn = _TURNS.get(orientation)
    return image if turn is None else image.transpose(turn)


def _plain(image: Image.Image) -> Image.Image:
    """In RGB, or RGBA where anything is transparent, in the colours of sRGB."""
    profile = image.info.get("icc_profile")
    if image.mode in ("I", "F") or image.mode.startswith("I;"):
        image = _in_eight_bits(image)
    if image.mode == "CMYK" and profile:
        image, profile = _in_srgb(image, profile), None
    wanted = "RGBA" if image.has_transparency_data else "RGB"
    if image.mode != wanted:
        image = image.convert(wanted)
    if wanted == "RGBA" and image.getchannel("A").getextrema() == (255, 255):
        image = image.convert("RGB")
    return _in_srgb(image, profile) if profile else image


def _in_eight_bits(image: Image.Image) -> Image.Image:
    """Grey of 16 bits as it is; of other ranges, from its darkest to its brightest."""
    image.info.pop("transparency", None)  # A value of the range that it has no more.
    if image.mode.startswith("I;16"):
        return image.convert("I").point(lambda value: value * (1 / 256) + 0).convert("L")
    darkest, brightest = image.getextrema()
    assert isinstance(darkest, int | float)
    assert isinstance(brightest, int | float)
    scale = 255 / (brightest - darkest) if brightest > darkest else 0.0
    return image.point(lambda value: value * scale + -darkest * scale).convert("L")


def _in_srgb(image: Image.Image, profile: bytes) -> Image.Image:
    """A profile that cannot be read, or is of other colours than the image's, is left out."""
    try:
        given = ImageCms.ImageCmsProfile(BytesIO(profile))
        if image.mode != "CMYK" and "sRGB" in ImageCms.getProfileDescription(given):
            return image
        if image.mode == "CMYK":
            turned = ImageCms.profileToProfile(image, given, ImageCms.createProfile("sRGB"), outputMode="RGB")
            return turned or image
        ImageCms.profileToProfile(image, given, ImageCms.createProfile("sRGB"), inPlace=True)
    except (ImageCms.PyCMSError, OSError, ValueError):
        pass
    return image


def _placed(frame: Image.Image, size: tuple[int, int]) -> Image.Image:
    """On a canvas of that size, at its upper left."""
    if frame.size == size:
        return frame
    canvas = Image.new("RGBA", size)
    canvas.paste(frame, (0, 0))
    return canvas


def _duration(image: Image.Image) -> int:
    if image.format == _TIFF:
        return _PAGE_MS
    duration = image.info.get("duration", 0)
    if not isinstance(duration, int | float) or not duration >= _SHORTEST_MS:
        return _DEFAULT_MS
    return int(min(duration, _LONGEST_MS))


def _loops(image: Image.Image) -> int:
    """How often WebP shows it. GIF counts what follows the first showing, and says nothing for one."""
    loops = image.info.get("loop", 0)
    if image.format == "GIF":
        loops = 1 if "loop" not in image.info else loops and loops + 1
    return int(min(max(loops, 0), _MOST_LOOPS))


# --- Writing ----------------------------------------------------------------------------------------------------------


def _encode(film: _Film) -> bytes:
    """WebP without any metadata: the encoder is given none."""
    first, *rest = film.frames
    is_much = first.width * first.height * len(film.frames) > _MUCH
    encoded = BytesIO()
    try:
        if rest:
            first.save(
                encoded,
                _OUTPUT,
                save_all=True,
                append_images=rest,
                duration=film.durations,
                loop=film.loops,
                background=(0, 0, 0, 0),
                quality=_QUALITY,
                method=0 if is_much else 4,
            )
        else:
            first.save(encoded, _OUTPUT, quality=_QUALITY, method=2 if is_much else 4)
    except Exception as error:  # The frames are whole: what fails now lacks room, by whatever name.
        raise MemoryError from error
    return encoded.getvalue()


def _write(path: str, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


# --- Refusing ---------------------------------------------------------------------------------------------------------


class _Room:
    """Pixels that may still be decoded."""

    def __init__(self, max_pixels: int) -> None:
        self._max_pixels = max_pixels
        self._pixels = 0

    def take(self, size: tuple[int, int], *, frames: int = 1) -> None:
        """Count frames of that size. Raises _Refused for a side that is too long, and for too many pixels by now."""
        longest = max(size)
        if longest > MAX_SIDE:
            raise _Refused(
                ImageFlaw.SIDE, f"The image has a side of {longest:,} pixels; WebP has at most {MAX_SIDE:,} to a side."
            )
        self._pixels += frames * size[0] * size[1]
        if self._pixels > self._max_pixels:
            raise _Refused(
                ImageFlaw.PIXELS,
                f"The image has {self._pixels:,} pixels in all its frames; at most {self._max_pixels:,} are converted.",
            )


def _too_many_pixels(max_pixels: int) -> RefusedImage:
    return RefusedImage(
        flaw=ImageFlaw.PIXELS, fact=f"The image has more than {max_pixels:,} pixels; at most so many are converted."
    )


def _too_much_memory() -> RefusedImage:
    return RefusedImage(
        flaw=ImageFlaw.MEMORY, fact=f"The image needs more than {MEMORY_BYTES >> 20} MiB of memory to be converted."
    )


def _untouched(done: str, error: OSError) -> RefusedImage:
    return RefusedImage(
        flaw=ImageFlaw.UNTOUCHED, fact=f"An image's file could not be {done}: {os.strerror(error.errno or 0)}."
    )


# --- The process ------------------------------------------------------------------------------------------------------


def _bound() -> None:
    """Limits that nothing in here can lift. Where the system knows one of them not, the server's clock remains."""
    for limit, most in ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_CORE, 0)):
        with suppress(ValueError, OSError):
            resource.setrlimit(limit, (most, most))
    os.nice(_NICENESS)
    # To Linux a session of its own is a group with a full share of the processor, whatever is nice in it. Somebody
    # else's session is not ours to slow down.
    if os.getsid(0) == os.getpid():
        with suppress(OSError):
            Path("/proc/self/autogroup").write_text(str(_NICENESS))
    # Decoders write what they think of an image, in its own words: until here it was Python that spoke.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, _STDERR)
    os.close(nowhere)


def _say(line: bytes) -> None:
    while line:
        line = line[os.write(_STDOUT, line) :]


if __name__ == "__main__":
    sys.exit(main())
