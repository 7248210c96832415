"""Time and memory of attnbook against PyTorch's own functions and modules, as one table.

    python code/benchmarks --help

Both sides run in turn, round after round, so that other work of the machine affects both alike; a
ratio is taken within each round (ours / theirs: below 1 is faster). Memory is the peak above what
the inputs and the weights hold; on the CPU each side runs in a process of its own for that. Before
anything is timed, both sides have to give the same result.
"""

import argparse
import platform
import statistics

import torch
from cases import CASES
from measure import peak_bytes, rounds
from tqdm import tqdm


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python code/benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument(
        "--dtype",
        default="float32",
        choices=["float32", "bfloat16", "float16"],
        help="of weights and inputs",
    )
    parser.add_argument("--threads", type=int, help="of the CPU (all cores)")
    parser.add_argument("--rounds", type=int, default=20, help="at most (20)")
    parser.add_argument("--seconds", type=float, default=60, help="at most, for each row (60)")
    parser.add_argument("--only", default="", help="rows that contain this text")
    options = parser.parse_args()
    where = torch.device(options.device), getattr(torch, options.dtype)
    chosen = [case for case in CASES if options.only in case.name]

    memory = [
        [peak_bytes(side, where) for side in (case.theirs, case.ours)]
        for case in tqdm(chosen, desc="memory", leave=False)
    ]  # first: a process can be forked only before threads have run
    if options.threads:
        torch.set_num_threads(options.threads)
    chip = (
        torch.cuda.get_device_name()
        if options.device == "cuda"
        else platform.processor() or platform.machine()
    )
    print(
        f"torch {torch.__version__}, {options.dtype}, {chip}, "
        f"{torch.get_num_threads()} threads of the CPU"
    )
    print(f"{'':54}{'ms':>9}{'ms':>9}{'ratio':>7} {'(min..max)':12}{'MiB':>8}{'MiB':>8}")
    print(f"{'':54}{'theirs':>9}{'ours':>9}{'':20}{'theirs':>8}{'ours':>8}")
    for case, peaks in zip(tqdm(chosen, desc="time", leave=False), memory, strict=True):
        times = rounds(case, where, options.rounds, options.seconds)
        theirs, ours = (1e3 * statistics.median(side) for side in zip(*times, strict=True))
        ratios = [b / a for a, b in times]
        spread = f"({min(ratios):.2f}..{max(ratios):.2f})"
        tqdm.write(
            f"{case.name:54}{theirs:9.2f}{ours:9.2f}"
            f"{statistics.median(ratios):7.3f} {spread:12}"
            + "".join(f"{peak / 2**20:8.1f}" for peak in peaks)
        )


if __name__ == "__main__":
    main()
