"""Whoever analyses needs NumPy and nothing heavier."""

import subprocess
import sys


def test_importing_every_analysis_loads_numpy_and_nothing_heavier():
    script = """
import importlib, pkgutil, sys
import numpy.random
before = set(sys.modules)
import grader.metrics.analysis as analysis
for module in pkgutil.iter_modules(analysis.__path__):
    importlib.import_module(f"{analysis.__name__}.{module.name}")
added = {name.partition(".")[0] for name in set(sys.modules) - before}
print(sorted(added - sys.stdlib_module_names))
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "['grader', 'numpy']"
