"""Model files of all releases are loaded, and damaged ones refused in words."""

import json
import random
import zipfile
from pathlib import Path

import pytest

from model_support import damaged, repacked
from separatrix.cli import Refusal, models
from separatrix.cli.columns import read_again

GOLDEN = Path(__file__).parents[1] / "golden" / "models"
KEPT = sorted(GOLDEN.glob("*/*.skops"))
LATEST = KEPT[-1].parent
# they were saved by other versions, of which a note tells
pytestmark = pytest.mark.filterwarnings("ignore:.*saved by")


def labels_of(path):
    """Labels that a model gives to the rows of the table beside it."""
    pipeline, _ = models.load_model(path)
    return pipeline.predict(read_again(str(GOLDEN / "table.csv"), pipeline).data).tolist()


# --- of all releases ----------------------------------------------------------------------------


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_models_of_all_releases_predict_what_they_did(path):
    expected = json.loads(path.with_name("labels.json").read_text())
    assert labels_of(path) == expected[path.stem]


def test_there_is_a_model_of_each_format():
    formats = set()
    for path in KEPT:
        with zipfile.ZipFile(path) as archive:
            formats.add(json.loads(archive.read(models.CARD))["format"])
    assert formats == set(range(1, models.FORMAT + 1))


@pytest.mark.parametrize("sealed", [True, False])
def test_newer_formats_are_refused(tmp_path, refused, sealed):
    """Also if their checksum is another."""
    path = tmp_path / "model.skops"
    path.write_bytes(KEPT[0].read_bytes())
    with zipfile.ZipFile(path) as archive:
        card = json.loads(archive.read(models.CARD))
    card |= {"format": models.FORMAT + 1, "versions": {"separatrix": "9.0"}}
    repacked(path, {models.CARD: json.dumps(card).encode()}, sealed=sealed)
    line = refused("explain", path)
    assert f"{path}: from a newer separatrix, 9.0, in format {models.FORMAT + 1}" in line
    assert line.endswith(f"loads formats up to {models.FORMAT}; install that version")


# --- damaged ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["separation", "volume"])
def test_damaged_files_are_refused_or_predict_the_same(tmp_path, name):
    rng, path = random.Random(0), tmp_path / "model.skops"
    data = (LATEST / f"{name}.skops").read_bytes()
    expected = labels_of(LATEST / f"{name}.skops")
    refusals = []
    for _ in range(150):
        path.write_bytes(damaged(data, rng))
        try:
            assert labels_of(path) == expected
        except Refusal as refusal:
            refusals.append(str(refusal))
    assert len(refusals) > 130  # not all bytes of an archive matter
    assert all(refusal.startswith(f"{path}: ") for refusal in refusals)


@pytest.mark.filterwarnings("ignore:Reading `.npy`")
def test_arrays_with_a_damaged_header_are_refused(tmp_path):
    """Also if the checksum fits."""
    rng, path = random.Random(0), tmp_path / "model.skops"
    data = (LATEST / "separation.skops").read_bytes()
    expected = labels_of(LATEST / "separation.skops")
    path.write_bytes(data)
    with zipfile.ZipFile(path) as archive:
        arrays = {name: archive.read(name) for name in archive.namelist() if name.endswith(".npy")}
    reasons = set()
    for _ in range(60):
        name, content = rng.choice(sorted(arrays.items()))
        header = bytearray(content[:128])
        header[rng.randrange(128)] = rng.choice(b"\0\x93 (){}[],:'<>0123456789abcLO\xff")
        path.write_bytes(data)
        repacked(path, {name: bytes(header) + content[128:]})
        try:
            assert labels_of(path) == expected  # a space within the header
        except Refusal as refusal:
            reasons.add(str(refusal).removeprefix(f"{path}: not a model file, or damaged: "))
    assert len(reasons) > 5
