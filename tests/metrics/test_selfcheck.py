"""A machine that computes other numbers says so, and the package stays light."""

import subprocess
import sys

import pytest

from grader.metrics import check_golden_vectors, pair_counting, selfcheck


def test_this_machine_computes_the_golden_vectors():
    check_golden_vectors()


def test_a_machine_that_loses_ties_is_found_out(monkeypatch):
    monkeypatch.setattr(pair_counting, "_count_ties", lambda layout, workspace: layout.sizes * 0)
    with pytest.raises(selfcheck.MetricDisagrees, match="No submission may be scored here"):
        check_golden_vectors()


def test_importing_the_metric_loads_numpy_and_nothing_heavier():
    script = """
import sys
before = set(sys.modules)
import grader.metrics
added = {name.partition(".")[0] for name in set(sys.modules) - before}
print(sorted(added - sys.stdlib_module_names))
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "['grader', 'numpy']"
