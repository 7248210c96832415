"""How to measure: interleaved rounds, and the peak of memory."""

import multiprocessing
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

Where = tuple[torch.device, torch.dtype]
Run = Callable[[], object]  # one run; what it returns is compared


@dataclass
class Case:
    """Two functions that prepare the same work on a device, and return how to run it once.

    ``same`` tells whether two results are the same; None if they cannot be compared.
    """

    name: str
    theirs: Callable[[Where], Run]
    ours: Callable[[Where], Run]
    same: Callable[[object, object], bool] | None


def seconds(run: Run, device: torch.device) -> float:
    start = time.perf_counter()
    run()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def rounds(case: Case, where: Where, most: int, limit: float) -> list[tuple[float, float]]:
    """Seconds of theirs and ours in each round; five rounds at least, for ``limit`` seconds."""
    theirs, ours = case.theirs(where), case.ours(where)
    results = theirs(), ours()
    if case.same is not None and not case.same(*results):
        raise AssertionError(f"{case.name}: the two sides differ")
    started = time.perf_counter()
    times = []
    while len(times) < most and (len(times) < 5 or time.perf_counter() - started < limit):
        order = (theirs, ours) if len(times) % 2 else (ours, theirs)
        taken = {run: seconds(run, where[0]) for run in order}
        times.append((taken[theirs], taken[ours]))
    return times


def peak_bytes(prepare: Callable[[Where], Run], where: Where) -> int:
    """The most memory that one run needs above the memory in use before it."""
    if where[0].type == "cuda":
        run = prepare(where)
        run()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        run()
        return torch.cuda.max_memory_allocated() - before

    def child(queue):
        run = prepare(where)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        run()
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        queue.put(1024 * (after - before))

    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    process.join()
    if process.exitcode:
        raise RuntimeError(f"the process that measures memory ended with {process.exitcode}")
    return queue.get()
