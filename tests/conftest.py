"""What several test files share."""

from pathlib import Path

import jaxtyping
import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def root() -> Path:
    """The repository's root."""
    return ROOT


@pytest.fixture
def no_shape_checks():
    """Call the package as learners do, without the checks that the tests switch on."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
