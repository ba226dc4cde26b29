"""Background workers: scoring, organizers' jobs, e-mail and scheduled tasks."""

import os

# These must be set before NumPy is imported. Scoring is essentially a single sort, so thread pools would only
# waste memory.
for _pool in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_pool, "1")
