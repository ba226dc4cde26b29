"""Background workers: score submissions, run organizers' jobs, send mail, do scheduled tasks."""

import os

# Before NumPy is loaded: scoring is one sort, and a pool of threads would only eat the memory limit.
for _pool in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_pool, "1")
