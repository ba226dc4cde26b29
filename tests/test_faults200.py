"""The list of deliberate faults is current; `python -m tests.faults200` proves that tests notice them."""

from collections import Counter

from tests import faults200


def test_every_fault_applies_to_the_code_exactly_once():
    faults = faults200.read()
    counts = Counter(each.promise for each in faults)
    assert len({each.id for each in faults}) == len(faults) == 200, counts
    assert [each.id for each in faults if each.is_stale] == []
    assert [each.id for each in faults if each.old == each.new or not each.killers] == []


def test_the_list_is_written_as_it_is_read(tmp_path):
    faults200.write(faults200.read(), tmp_path / "faults.toml")
    assert (tmp_path / "faults.toml").read_text() == faults200.LIST.read_text()
