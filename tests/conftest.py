"""Settings that must be in place before NumPy and SciPy are imported."""

import os

# SciPy decides at import whether it accepts arrays of other libraries; array API input needs it.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
# Tests run in as many processes as there are cores: threads of BLAS would wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
