"""Run a learner's function so that it can neither stop the check nor flood the notebook.

It runs in a thread, on copies of its inputs, against the clock. What it prints or displays is
kept back. It is not a jail: who wants to harm their own session can.
"""

import contextlib
import copy
import ctypes
import inspect
import io
import random
import sys
import threading
import time
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
    changed: list[int] = field(default_factory=list)  # places of arguments

    @property
    def timed_out(self) -> bool:
        return isinstance(self.error, TimeIsUp)


class Sandbox:
    """Calls a learner's function, at most so long a call and so long in all."""

    def __init__(self) -> None:
        self._ends = time.monotonic() + SECONDS_PER_CHECK

    def call(self, function: Callable, arguments: tuple) -> Outcome:
        """Call ``function`` on copies of the arguments in a thread that is stopped in time.

        A thread can be stopped on every system and in every kind of notebook; a loop inside
        compiled code cannot, and is left behind as a daemon.
        """
        seconds = min(SECONDS_PER_CALL, self._ends - time.monotonic())
        if seconds <= 0:
            return Outcome(error=TimeIsUp(_all_together()))
        given = tuple(map(_copy, arguments))
        outcome = Outcome()

        def run() -> None:
            try:
                value = function(*given)
                if inspect.iscoroutine(value):
                    value.close()
                    raise TypeError("the function is `async`; leave that word out")
                outcome.value = value
            except BaseException as error:  # SystemExit and TimeIsUp too
                outcome.error = error

        thread = threading.Thread(target=run, daemon=True)
        with _kept_back() as printed:
            thread.start()
            try:
                thread.join(seconds)
            finally:  # a KeyboardInterrupt lands here: stop the loop, then let it pass
                late = thread.is_alive()
                _stop(thread)
        if late:  # the thread may still write to the old outcome
            long = seconds == SECONDS_PER_CALL
            outcome = Outcome(error=TimeIsUp(_one_call() if long else _all_together()))
        outcome.printed = printed.text
        pairs = enumerate(zip(arguments, given, strict=True))
        outcome.changed = [i for i, (a, b) in pairs if not identical(a, b)]
        return outcome


def _one_call() -> str:
    return (
        f"It did not finish within {SECONDS_PER_CALL:g} seconds on an input this small: "
        "is there a loop that never ends, or one over very many cases?"
    )


def _all_together() -> str:
    return (
        f"Trying it on a few small inputs took more than {SECONDS_PER_CHECK:g} seconds: "
        "can matrix products take the place of loops?"
    )


def _copy(argument: object) -> object:
    # clone(), unlike deepcopy, lets gradients flow back to the original
    if isinstance(argument, torch.Tensor):
        return argument.clone()
    return copy.deepcopy(argument)


def _stop(thread: threading.Thread) -> None:
    for _ in range(20):  # an `except:` in the learner's loop may swallow the first ones
        if not thread.is_alive():
            return
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident), ctypes.py_object(TimeIsUp)
        )
        thread.join(0.05)


class _Printed(io.TextIOBase):
    """Keeps the first characters of what is printed; passes on what comes after the call.

    A thread that outlives its call may put this object back in place of ``sys.stdout``.
    """

    def __init__(self, original: object) -> None:
        self.text, self._original, self._over = "", original, False

    def write(self, text: str) -> int:
        if self._over:
            return self._original.write(text)
        self.text += text[: PRINTED_CHARACTERS - len(self.text)]
        return len(text)

    def flush(self) -> None:
        if self._over:
            self._original.flush()

    def close(self) -> None:
        """Stay open: a learner's ``sys.stdout.close()`` must not silence the notebook."""

    def end(self) -> None:
        self._over = True


@contextlib.contextmanager
def _kept_back() -> Iterator[_Printed]:
    """Keep what is printed or displayed out of the notebook while a call runs."""
    printed = _Printed(sys.stdout)
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(printed))
        stack.enter_context(contextlib.redirect_stderr(printed))
        if "IPython" in sys.modules and sys.modules["IPython"].get_ipython():
            from IPython.utils.capture import capture_output

            stack.enter_context(capture_output(stdout=False, stderr=False, display=True))
        try:
            yield printed
        finally:
            printed.end()


@contextlib.contextmanager
def surroundings(seed: int = 0) -> Iterator[None]:
    """Plain surroundings with fixed seeds; afterwards all is as it was.

    Restores the random states of Python, NumPy and torch's CPU, and torch's default dtype;
    whatever mode the notebook is in (no_grad, autocast, another device) is suspended.
    """
    python, numpy = random.getstate(), np.random.get_state()
    state, dtype = (torch.default_generator.get_state(), torch.get_default_dtype())
    random.seed(seed)
    np.random.seed(seed)
    torch.default_generator.manual_seed(seed)
    torch.set_default_dtype(torch.float32)
    try:
        with (
            torch.inference_mode(False),
            torch.enable_grad(),
            torch.autocast("cpu", enabled=False),
            torch.device("cpu"),
        ):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        torch.default_generator.set_state(state)
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
            return f" in line {frame.lineno}: `{frame.line.strip()[:80]}`"
    return ""
