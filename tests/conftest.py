"""Settings that must be in place before SciPy is imported."""

import os

# SciPy decides at import whether it accepts arrays of other libraries; array API input needs it.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
