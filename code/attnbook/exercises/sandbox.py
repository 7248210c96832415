"""Run a learner's function so that it can neither stop the check nor flood the notebook.

It runs in a thread, on copies of its inputs, against the clock. What it prints or displays is kept
back. It is not a jail: whoever wants to harm their own session can.
"""

import contextlib
import copy
import ctypes
import inspect
import io
import queue
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import torch

SECONDS_PER_CALL = 5.0
SECONDS_PER_CHECK = 20.0
PRINTED_CHARACTERS = 1000


class TimeIsUp(BaseException):
    """Raised inside a learner's function that runs too long; no ``except Exception`` stops it."""


class CheckIsOver(TimeIsUp):
    """The calls together took too long, which says nothing about the last of them."""


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
    """Calls a learner's function, with a time limit for each call and for all calls together.

    While it is open, whatever is printed or displayed is kept out of the notebook.
    """

    def __init__(self) -> None:
        self._worker: _Worker | None = None
        self._printed = _Printed(sys.stdout)
        self._redirections = contextlib.ExitStack()

    def __enter__(self) -> "Sandbox":
        self._ends = time.monotonic() + SECONDS_PER_CHECK
        _redirect(self._printed, self._redirections)
        return self

    def __exit__(self, *_: object) -> None:
        self._printed.end()
        self._redirections.close()
        if self._worker:
            self._worker.leave()
            # a thread that is still alive when Python exits may abort it
            self._worker.join(timeout=1.0)

    def call(self, function: Callable, arguments: tuple) -> Outcome:
        """Call ``function`` on copies of the arguments in a thread that is stopped in time.

        A thread can be stopped on every system and in every kind of notebook; a loop inside
        compiled code cannot, and is left behind as a daemon.
        """
        seconds = min(SECONDS_PER_CALL, self._ends - time.monotonic())
        if seconds <= 0:
            return Outcome(error=CheckIsOver(_all_together()))
        given = tuple(map(_copy, arguments))
        self._worker = self._worker or _Worker()
        self._printed.begin()
        try:
            outcome = self._worker.do(lambda: _outcome(function, given), seconds)
        except queue.Empty:
            long = seconds == SECONDS_PER_CALL
            late = TimeIsUp(_one_call()) if long else CheckIsOver(_all_together())
            outcome = Outcome(error=late)
            self._worker = None
        outcome.printed = self._printed.text
        pairs = enumerate(zip(arguments, given, strict=True))
        outcome.changed = [i for i, (a, b) in pairs if not identical(a, b)]
        return outcome

    def call_on_all(self, function: Callable, probes: list[tuple]) -> list[Outcome]:
        """One outcome for each input, up to the first that runs out of time."""
        outcomes = []
        with reproducible():
            for probe in probes:
                outcomes.append(self.call(function, probe))
                if outcomes[-1].timed_out:
                    break
        return outcomes


class _Worker(threading.Thread):
    """A thread that makes one call after the other: much cheaper than a thread for each."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._calls, self._outcomes = queue.SimpleQueue(), queue.SimpleQueue()
        self.start()

    def run(self) -> None:
        with contextlib.suppress(TimeIsUp):  # it may arrive when the late call has just ended
            while (call := self._calls.get()) is not None:
                self._outcomes.put(call())

    def do(self, call: Callable[[], Outcome], seconds: float) -> Outcome:
        """The outcome of a call; ``queue.Empty`` if it takes longer, and then all is over."""
        self._calls.put(call)
        try:
            return self._outcomes.get(timeout=seconds)
        except BaseException:  # a KeyboardInterrupt, too: stop the loop, then let it pass
            self._stop_call()
            raise

    def leave(self) -> None:
        """End the thread, as soon as its last call has ended."""
        self._calls.put(None)

    def _stop_call(self) -> None:
        self.leave()
        # an `except:` in the learner's loop may swallow the first ones; a busy machine needs time
        for seconds in (0.5, *[0.05] * 19):
            if not self.is_alive():
                return
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(self.ident), ctypes.py_object(TimeIsUp)
            )
            self.join(seconds)


def _outcome(function: Callable, arguments: tuple) -> Outcome:
    try:
        value = function(*arguments)
        if inspect.iscoroutine(value):
            value.close()
            raise TypeError("the function is `async`, so leave out that word")
        return Outcome(value)
    except BaseException as error:  # SystemExit and TimeIsUp too
        return Outcome(error=error)


def _one_call() -> str:
    return (
        f"It did not finish within {SECONDS_PER_CALL:g} seconds, although all inputs are small. "
        "Is there a loop that never ends, or a loop over very many cases?"
    )


def _all_together() -> str:
    return (
        f"Trying it on a few small inputs took more than {SECONDS_PER_CHECK:g} seconds. "
        "Can it do with fewer steps? A matrix product often replaces a loop."
    )


def _copy(argument: object) -> object:
    # clone(), unlike deepcopy, lets gradients flow back to the original
    if isinstance(argument, torch.Tensor):
        return argument.clone()
    return copy.deepcopy(argument)


class _Printed(io.TextIOBase):
    """Keeps the first characters of what is printed; passes on what comes after the call.

    A thread that outlives its call may put this object back instead of ``sys.stdout``.
    """

    def __init__(self, original: object) -> None:
        self.text, self._original, self._over = "", original, False

    def write(self, text: str) -> int:
        if self._over:
            return self._original.write(text)
        self.text += text[: PRINTED_CHARACTERS - len(self.text)]
        if len(self.text) == PRINTED_CHARACTERS:
            self.write = len  # nothing more is kept, and thousands of lines must not take long
        return len(text)

    def flush(self) -> None:
        if self._over:
            self._original.flush()

    def close(self) -> None:
        """Stay open: a learner's ``sys.stdout.close()`` must not silence the notebook."""

    def begin(self) -> None:
        self.text = ""
        self.__dict__.pop("write", None)

    def end(self) -> None:
        self._over = True
        self.__dict__.pop("write", None)


def _redirect(printed: _Printed, stack: contextlib.ExitStack) -> None:
    """Until the stack is closed, send there what is printed, and drop what is displayed."""
    stack.enter_context(contextlib.redirect_stdout(printed))
    stack.enter_context(contextlib.redirect_stderr(printed))
    if "IPython" in sys.modules and sys.modules["IPython"].get_ipython():
        from IPython.utils.capture import capture_output

        stack.enter_context(capture_output(stdout=False, stderr=False, display=True))


@contextlib.contextmanager
def reproducible(seed: int = 0) -> Iterator[None]:
    """Fixed seeds and torch's plain modes, in whatever state the notebook is; restored afterwards.

    These are the random states of Python, NumPy and torch's CPU, torch's default dtype and device,
    and modes such as ``no_grad``.
    """
    python, numpy = random.getstate(), np.random.get_state()
    state, dtype = torch.default_generator.get_state(), torch.get_default_dtype()
    random.seed(seed)
    np.random.seed(seed)
    torch.default_generator.manual_seed(seed)
    torch.set_default_dtype(torch.float32)
    try:
        with contextlib.ExitStack() as modes:
            modes.enter_context(torch.inference_mode(False))
            modes.enter_context(torch.enable_grad())
            modes.enter_context(torch.autocast("cpu", enabled=False))
            if torch.get_default_device().type != "cpu":  # this mode slows down every call of torch
                modes.enter_context(torch.device("cpu"))
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
        return torch.equal(a, b) or bool(((a == b) | ((a != a) & (b != b))).all())
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return identical([*a.items()], [*b.items()])
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(identical, a, b))
    return a == b
