"""Arithmetic self-check, and lightweight imports of the metric packages."""

import subprocess
import sys

import pytest

from fairboard import check_golden_vectors
from fairboard.bias import pair_counting, selfcheck


def test_this_machine_reproduces_the_golden_vectors():
    check_golden_vectors()


def test_machine_that_loses_ties_is_detected(monkeypatch):
    monkeypatch.setattr(pair_counting, "_count_ties", lambda layout, keys: layout.sizes * 0)
    with pytest.raises(selfcheck.MetricDisagrees, match="Do not score submissions here"):
        check_golden_vectors()


@pytest.mark.parametrize("package", ["fairboard", "fairboard.bias"])
def test_import_of_the_metrics_loads_numpy_and_nothing_heavier(package):
    script = f"""
import importlib, pkgutil, sys
import numpy.random
before = set(sys.modules)
package = importlib.import_module("{package}")
for module in pkgutil.iter_modules(package.__path__):
    if module.name != "analysis":  # which needs pandas
        importlib.import_module(f"{package}.{{module.name}}")
added = {{name.partition(".")[0] for name in set(sys.modules) - before}}
print(*added - sys.stdlib_module_names - {{"fairboard", "numpy"}})
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout == "\n"
