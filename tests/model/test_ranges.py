"""Numbers measured with several seeds are printed with their spread."""

import pytest

from attnbook.ranges import mean_and_range, span


def test_the_mean_stands_before_half_the_range():
    assert mean_and_range([0.0, 1.0, 5.0], digits=1) == "2.0 ± 2.5"


def test_a_mean_that_rounds_to_zero_has_no_sign():
    assert mean_and_range([-0.001, 0.0]) == "0.00 ± 0.00"


def test_a_span_has_both_ends_unless_they_are_printed_alike():
    assert span([3.0, 1.04, 2.0], digits=1) == "1.0–3.0"
    assert span([99.6, 100.0]) == "100"
    assert span([-0.2, 0.2]) == "0"


@pytest.mark.usefixtures("no_shape_checks")
@pytest.mark.parametrize("function", [mean_and_range, span])
def test_no_run_has_no_mean_and_no_ends(function):
    with pytest.raises(ValueError, match="at least one run"):
        function([])
