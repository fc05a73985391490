"""Whether matrices fit into the memory of this machine."""

import os

import numpy as np

__all__ = ["check_fits_memory", "physical_memory"]


def physical_memory():
    """Bytes of memory that this machine has; infinite where it does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # no such names on this system
        return np.inf


def check_fits_memory(n_samples, *, remedy, n_matrices=2):
    """Refuse matrices of n_samples by n_samples that memory cannot hold: a kernel and a factor."""
    needed, memory = 8 * n_matrices * n_samples**2, physical_memory()
    if needed > memory:
        raise ValueError(
            f"{n_matrices} matrices of all pairs of {n_samples} samples need "
            f"{needed / 1e9:.3g} GB, but this machine has {memory / 1e9:.3g} GB; {remedy}."
        )
