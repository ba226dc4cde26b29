"""Laws of the losses: sums, order, and independence of the order of groups."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairboard.bias.score import power_mean
from fairboard.lost_score import in_units, mean_losses

VALUES = st.dictionaries(
    st.text(max_size=3), st.floats(0.0, 1.0).map(lambda value: round(value, 2)), min_size=1
)
POWERS = st.sampled_from([-math.inf, -2000.0, -20.0, -5.0, 0.0, 1e-20, 1.0, 5.0, math.inf])


@given(VALUES, POWERS, st.sampled_from([0.0, 1.0]))
def test_losses_of_groups_add_up_and_a_worse_group_never_loses_less(values, power, best):
    losses = mean_losses(values, power, best, 0.25)
    if all(value == best for value in values.values()):
        assert losses == {}
        return
    assert math.fsum(losses.values()) == pytest.approx(0.25)
    if math.isfinite(power) and (power >= 1 or best == 1.0):
        ordered = sorted(values, key=lambda name: -abs(values[name] - best))
        for one, other in itertools.pairwise(ordered):
            assert losses[one] >= losses[other] - 1e-9
    assert mean_losses(dict(reversed(values.items())), power, best, 0.25) == pytest.approx(losses)


@given(VALUES.filter(lambda values: min(values.values()) > 0), st.sampled_from([-5.0, 1.0, 5.0]))
def test_the_loss_of_a_group_is_proportional_to_the_improvement_of_the_mean(values, power):
    losses = mean_losses(values, power, 1.0, 1.0)
    mean = power_mean(values.values(), power)
    rises = {name: power_mean((values | {name: 1.0}).values(), power) - mean for name in values}
    assert all(losses[name] * sum(rises.values()) == pytest.approx(rises[name], abs=1e-9) for name in losses)


@given(
    st.dictionaries(st.tuples(st.text(max_size=2), st.text(max_size=2)), st.floats(0, 1e6), min_size=1),
    st.integers(0, 10**7),
)
def test_displayed_losses_add_up_exactly_with_the_largest_first(parts, total):
    losses = in_units(parts, total, float)
    units = [each.units for each in losses]
    assert sum(units) == (total if sum(parts.values()) else 0)
    assert units == sorted(units, reverse=True)
    assert losses == in_units(dict(reversed(parts.items())), total, float)
    share = sum(parts.values()) or 1.0
    assert all(
        abs(each.units - parts[each.term, each.group] / share * total) <= 1 + 1e-6 * total for each in losses
    )
