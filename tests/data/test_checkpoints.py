"""What passes have found is kept, and given back in the place of the samples."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from separatrix.data.blocks import RowBlocks
from separatrix.data.checkpoints import Checkpoint
from separatrix.data.moments import moments_of_chunk
from separatrix.data.rows import map_chunks

ROWS = np.random.default_rng(0).normal(size=(30, 3))


def blocks_of(folder, *, broken_after=None, task="sums"):
    """Samples in blocks of ten, reading of which may fail, with a checkpoint."""

    def read():
        for number, start in enumerate(range(0, 30, 10)):
            if number == broken_after:
                raise OSError("the disk is gone")
            yield ROWS[start : start + 10]

    blocks = RowBlocks(read, ROWS.shape)
    blocks.checkpoint = Checkpoint(folder, {"task": task})
    return blocks


def moments_of(blocks):
    return list(map_chunks(moments_of_chunk, blocks, None, shift=np.zeros(3)))


def test_a_pass_that_ended_is_given_back_without_the_samples(tmp_path):
    first = moments_of(blocks_of(tmp_path / "kept"))
    again = moments_of(blocks_of(tmp_path / "kept", broken_after=0))
    assert len(first) == len(again) == 3
    for one, other in zip(first, again, strict=True):
        assert one.weight == other.weight
        assert_array_equal(one.second, other.second)


def test_a_pass_that_was_cut_off_begins_again(tmp_path):
    expected = moments_of(blocks_of(tmp_path / "whole"))
    with pytest.raises(OSError, match="disk"):
        moments_of(blocks_of(tmp_path / "kept", broken_after=2))
    blocks = blocks_of(tmp_path / "kept")
    assert blocks.checkpoint.n_kept == 0
    found = moments_of(blocks)
    assert_array_equal([one.first for one in found], [one.first for one in expected])


def test_drawn_rows_and_features_are_kept_too(tmp_path):
    drawn = np.array([3, 29, 11])

    def both(blocks):
        doubled = blocks.mapped(lambda rows: 2 * rows, 3)
        return blocks.rows(drawn), doubled.rows(drawn)

    both(blocks_of(tmp_path / "kept"))
    rows, doubled = both(blocks_of(tmp_path / "kept", broken_after=0))
    assert_array_equal(rows, ROWS[drawn])
    assert_array_equal(doubled, 2 * ROWS[drawn])


def test_another_task_another_pass_and_other_folders_are_refused(tmp_path):
    moments_of(blocks_of(tmp_path / "kept"))
    with pytest.raises(ValueError, match="differs in task"):
        blocks_of(tmp_path / "kept", task="products")
    with pytest.raises(ValueError, match="but rows is next"):
        blocks_of(tmp_path / "kept").rows(np.arange(2))
    (tmp_path / "mine").mkdir()
    with pytest.raises(ValueError, match="holds no checkpoint"):
        blocks_of(tmp_path / "mine")


def test_a_checkpoint_runs_no_code(tmp_path):
    blocks = blocks_of(tmp_path / "kept")
    moments_of(blocks)

    class Harmful:
        def __reduce__(self):
            return print, ("it ran",)

    with (tmp_path / "kept" / "00001.pass").open("wb") as file:
        pickle.dump("moments_of_chunk", file)
        pickle.dump(Harmful(), file)
    with pytest.raises(pickle.UnpicklingError, match="print"):
        moments_of(blocks_of(tmp_path / "kept"))
