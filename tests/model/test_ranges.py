"""Numbers measured with several seeds are printed with their spread."""

import pytest

from attnbook.ranges import mean_and_range, span


def test_what_rounds_to_zero_has_no_sign():
    assert mean_and_range([-0.001, 0.0]) == "0.00 ± 0.00"
    assert span([-0.2, 0.2]) == "0"


@pytest.mark.usefixtures("no_shape_checks")
@pytest.mark.parametrize("function", [mean_and_range, span])
def test_no_run_has_no_mean_and_no_ends(function):
    with pytest.raises(ValueError, match="at least one run"):
        function([])
