"""How much memory there is."""

import os

__all__ = ["physical_memory"]


def physical_memory():
    """Bytes of memory that this machine has; infinite if that is unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # no such names on this system
        return float("inf")
