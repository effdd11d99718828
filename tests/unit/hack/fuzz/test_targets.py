"""Tests that the parsers take the kept inputs of the fuzzer, and that the corpus keeps what it should."""

from pathlib import Path

import pytest

from hack.lib.fuzz import corpus
from hack.lib.fuzz.targets import TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_kept_inputs(name: str) -> None:
    """Parse each kept input, and inputs cut from it, without an unexpected error."""
    inputs = corpus.load(name)
    assert inputs

    for one in inputs:
        TARGETS[name](one)
        TARGETS[name](one[: len(one) // 2])


def test_no_strangers() -> None:
    """Keep no inputs of a target that does not exist."""
    assert {path.stem for path in corpus.FOLDER.iterdir()} == TARGETS.keys()


def test_keeps_small_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep each small input once, some of every size, and give back the same."""
    monkeypatch.setattr(corpus, "FOLDER", tmp_path / "corpus")
    corpus.keep("few", [b"abc", b"", b"a", b"a", b"y" * 513])
    corpus.keep("many", [b"x" * size for size in range(1, 501)])
    corpus.unpack("many", tmp_path / "files")
    many = corpus.load("many")
    corpus.pack("many", tmp_path / "files")

    assert corpus.load("few") == [b"a", b"abc"]
    assert corpus.load("many") == many
    assert len(many[0]) < 5
    assert len(many[-1]) > 490
    assert len(many) < 250
    assert corpus.load("none") == []
