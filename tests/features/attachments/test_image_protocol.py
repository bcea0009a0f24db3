"""What server and converter say to each other comes back as it was said; all else is no answer."""

from __future__ import annotations

import pytest

from mcp_agent_mail.features.attachments.image_protocol import (
    ConversionAnswer,
    ConversionJob,
    ConvertedImage,
    ImageFlaw,
    RefusedImage,
    from_line,
    to_line,
)


def test_a_job_is_one_line_whatever_its_paths_hold() -> None:
    job = ConversionJob(source="/a\nb/\udcff\"'", target="/c", max_pixels=7)

    line = job.to_line()

    assert line.count(b"\n") == 1
    assert ConversionJob.from_line(line) == job


@pytest.mark.parametrize(
    "answer",
    [ConvertedImage(width=3, height=2, frames=1), *(RefusedImage(flaw=flaw, fact="a\nb") for flaw in ImageFlaw)],
)
def test_an_answer_is_one_line_too(answer: ConversionAnswer) -> None:
    line = to_line(answer)

    assert line.count(b"\n") == 1
    assert from_line(line) == answer


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"ready\n",
        b"[]\n",
        b"\xff\n",
        b'{"width": 3, "height": 2, "frames": 1}',
        b'{"width": 3, "height": 2}\n',
        b'{"width": 3, "height": 2, "frames": 0}\n',
        b'{"width": 3, "height": 2, "frames": true}\n',
        b'{"width": 3, "height": "2", "frames": 1}\n',
        b'{"flaw": "odd", "fact": ""}\n',
        b"[" * 50_000 + b"\n",
    ],
)
def test_what_no_converter_says_is_no_answer(line: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        from_line(line)
