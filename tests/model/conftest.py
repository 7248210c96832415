"""What the tests of the model need besides torch, pytest and hypothesis: nothing."""

import os

import jaxtyping
import pytest
import torch


def pytest_sessionstart() -> None:
    """Compute on one thread.

    Tensors are small here, and two threads wait for each other as soon as anything else runs.
    """
    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"  # for notebooks, and for the commands that tests start


@pytest.fixture
def no_shape_checks():
    """Call the package as learners do, without the checks of shapes that the tests switch on."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
