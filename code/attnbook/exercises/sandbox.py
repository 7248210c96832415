"""Run a learner's function so that nothing it does can stop the check or spoil the notebook."""

import contextlib
import copy
import ctypes
import io
import random
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import torch

SECONDS_PER_CALL = 5.0
SECONDS_PER_CHECK = 15.0
PRINTED_CHARACTERS = 1000


class TimeIsUp(BaseException):
    """Raised inside a learner's function that runs too long; no ``except Exception`` stops it."""


@dataclass
class Outcome:
    """What one call did: a value or an error, what it printed, which inputs it changed."""

    value: object = None
    error: BaseException | None = None
    printed: str = ""
    changed: list[int] = field(
        default_factory=list
    )  # positions of arguments edited in place

    @property
    def timed_out(self) -> bool:
        return isinstance(self.error, TimeIsUp)


def call(
    function: Callable, arguments: tuple, seconds: float = SECONDS_PER_CALL
) -> Outcome:
    """Call ``function`` on copies of the arguments in a thread that is stopped after ``seconds``.

    A thread can be stopped on every system and in every kind of notebook; a loop inside compiled
    code cannot, and is left behind as a daemon.
    """
    given = tuple(map(_copy, arguments))
    outcome = Outcome()

    def run() -> None:
        try:
            outcome.value = function(*given)
        except BaseException as error:  # SystemExit and TimeIsUp too
            outcome.error = error

    thread = threading.Thread(target=run, daemon=True)
    printed = _Printed()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        thread.start()
        try:
            thread.join(seconds)
        finally:  # a KeyboardInterrupt lands here: stop the learner's loop, then let it pass
            late = thread.is_alive()
            _stop(thread)
    if late:
        outcome = Outcome(error=TimeIsUp())  # the thread may still write to the old one
    outcome.printed = printed.getvalue()
    outcome.changed = [
        i
        for i, (a, b) in enumerate(zip(arguments, given, strict=True))
        if not identical(a, b)
    ]
    return outcome


def _copy(argument: object) -> object:
    # clone(), unlike deepcopy, lets gradients flow back to the original
    return (
        argument.clone()
        if isinstance(argument, torch.Tensor)
        else copy.deepcopy(argument)
    )


def _stop(thread: threading.Thread) -> None:
    for _ in range(20):  # an `except:` in the learner's loop may swallow the first ones
        if not thread.is_alive():
            return
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident), ctypes.py_object(TimeIsUp)
        )
        thread.join(0.05)


class _Printed(io.StringIO):
    """Keeps the first characters and forgets the rest, so that printing can't fill the memory."""

    def write(self, text: str) -> int:
        room = PRINTED_CHARACTERS - self.tell()
        if room > 0:
            super().write(text[:room])
        return len(text)


@contextlib.contextmanager
def unchanged_surroundings(seed: int = 0) -> Iterator[None]:
    """Start from a fixed seed; afterwards restore every random state and torch's default dtype."""
    python, numpy, dtype = (
        random.getstate(),
        np.random.get_state(),
        torch.get_default_dtype(),
    )
    with torch.random.fork_rng(devices=[]):
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)
            torch.set_default_dtype(dtype)


def identical(a: object, b: object) -> bool:
    """Whether two arguments are equal to the last bit, NaN being equal to NaN."""
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        return bool(((a == b) | ((a != a) & (b != b))).all())
    return type(a) is type(b) and a == b


def line_of(error: BaseException, function: Callable) -> str:
    """The learner's own line that raised, as `` in line 3: `return x / y` ``, or nothing."""
    code = getattr(function, "__code__", None)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if code is not None and frame.filename == code.co_filename and frame.line:
            return f" in line {frame.lineno}: `{frame.line.strip()}`"
    return ""
