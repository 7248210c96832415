"""Time and memory of attention() against PyTorch's own kernel, which it calls.

    python code/benchmarks/attention.py --help

Both run in turn, round after round, so that whatever else the machine does hits both alike; the
ratio is taken within each round. Memory is the peak above the inputs, each case in a process of
its own on the CPU, where nothing else counts it.
"""

import argparse
import multiprocessing
import platform
import resource
import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from tqdm import tqdm

from attnbook.attention import attention, causal_mask


def sdpa(query, key, value, mask, causal):
    return F.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, is_causal=causal
    )


def ours(query, key, value, mask, causal):
    return attention(query, key, value, mask, causal=causal)[0]


def prepare(
    function: Callable, case: dict, options: argparse.Namespace
) -> Callable:
    """A call without arguments that runs the case once."""
    generator = torch.Generator(options.device).manual_seed(0)
    shape = options.batch, options.heads, case["length"], options.features
    dtype = getattr(torch, options.dtype)
    backward = case["pass"] == "forward + backward"
    inputs = [
        torch.randn(
            shape, generator=generator, device=options.device, dtype=dtype
        )
        for _ in range(3)
    ]
    mask = None
    if case["mask"] == "causal, as a mask":
        mask = causal_mask(case["length"], device=options.device)
    causal = case["mask"] == "causal"

    def run() -> None:
        if backward:
            tensors = [tensor.requires_grad_() for tensor in inputs]
            torch.autograd.grad(function(*tensors, mask, causal).sum(), tensors)
        else:
            with torch.no_grad():
                function(*inputs, mask, causal)
        if options.device == "cuda":
            torch.cuda.synchronize()

    return run


def seconds(run: Callable) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def peak_bytes(
    function: Callable, case: dict, options: argparse.Namespace
) -> int:
    """The most memory that one run needs above what its inputs hold."""
    if options.device == "cuda":
        run = prepare(function, case, options)
        run()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        run()
        return torch.cuda.max_memory_allocated() - before

    def child(queue):
        warm_up = prepare(function, {**case, "length": 16}, options)
        warm_up()  # loads what the first call of a kernel loads
        run = prepare(function, case, options)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        run()
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        queue.put(1024 * (after - before))

    context = multiprocessing.get_context(
        "fork"
    )  # nothing has run in the parent yet
    queue = context.SimpleQueue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    peak = queue.get()
    process.join()
    return peak


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument(
        "--dtype", default="float32", choices=["float32", "bfloat16", "float16"]
    )
    parser.add_argument("--lengths", type=int, nargs="+", default=[512, 2048])
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument(
        "--features", type=int, default=64, help="d_k, of each head"
    )
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()

    cases = [
        {"length": length, "mask": mask, "pass": direction}
        for length in options.lengths
        for mask in ("none", "causal", "causal, as a mask")
        for direction in ("forward", "forward + backward")
    ]
    memory = [
        [peak_bytes(function, case, options) for function in (sdpa, ours)]
        for case in tqdm(cases, desc="memory", leave=False)
    ]
    rows = []
    for case, (their_peak, our_peak) in zip(
        tqdm(cases, desc="time", leave=False), memory, strict=True
    ):
        theirs, mine = (
            prepare(function, case, options) for function in (sdpa, ours)
        )
        for run in (theirs, mine):
            run()
        rounds = []
        for i in range(options.rounds):
            order = (theirs, mine) if i % 2 else (mine, theirs)
            taken = {run: seconds(run) for run in order}
            rounds.append((taken[theirs], taken[mine]))
        ratios = sorted(b / a for a, b in rounds)
        rows.append(
            f"{case['length']:6d}  {case['mask']:18s} {case['pass']:19s}"
            f"{1e3 * statistics.median(a for a, _ in rounds):9.2f}"
            f"{1e3 * statistics.median(b for _, b in rounds):9.2f}"
            f"{statistics.median(ratios):8.3f}"
            f"  ({ratios[len(ratios) // 4]:.2f}..{ratios[-len(ratios) // 4]:.2f})"
            f"{their_peak / 2**20:10.1f}{our_peak / 2**20:9.1f}"
        )

    where = (
        torch.cuda.get_device_name()
        if options.device == "cuda"
        else platform.processor()
    )
    print(
        f"torch {torch.__version__}, {options.dtype}, {where or platform.machine()}, ",
        end="",
    )
    print(
        f"batch {options.batch}, {options.heads} heads, d_k {options.features}, ",
        end="",
    )
    print(f"{options.rounds} rounds, {torch.get_num_threads()} threads")
    print(
        f"{'length':6s}  {'mask':18s} {'pass':19s}{'SDPA ms':>9s}{'ours ms':>9s}"
        f"{'ratio':>8s}  {'(quartiles)':12s}{'SDPA MiB':>10s}{'ours MiB':>9s}"
    )
    print("\n".join(rows))


if __name__ == "__main__":
    main()
