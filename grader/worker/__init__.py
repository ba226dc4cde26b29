"""Background workers: score submissions, run organizers' jobs, send mail, do scheduled tasks."""

import os

# Set before NumPy loads: scoring is one sort, and thread pools would only use up the memory limit.
for _pool in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_pool, "1")
