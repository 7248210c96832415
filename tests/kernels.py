"""Kernels of notebooks that begin with the large libraries, package and models in memory.

Each kernel is a fork of one process, which has imported and loaded these. To do so again takes five
seconds, and a run of all tests starts a hundred kernels.
"""

import contextlib
import functools
import gc
import json
import os
import signal
import subprocess
import sys
from types import ModuleType

import nbval.kernel
from jupyter_client.provisioning import local_provisioner

start = local_provisioner.launch_kernel
start_and_wait = nbval.kernel.start_new_kernel


MODELS = set()  # the names of those that notebooks of this run load


def use_forks() -> None:
    """Let all kernels of this process be forks, where torch is safe after one."""
    nbval.kernel.start_new_kernel = start_again
    if sys.platform == "linux":
        local_provisioner.launch_kernel = launch


def start_again(*arguments: object, **options: object) -> tuple:
    """Start a kernel for nbval, and another one if the first does not answer.

    Ports are free when they are chosen, but another program may take one before the kernel does.
    """
    try:
        return start_and_wait(*arguments, **options)
    except RuntimeError:  # no answer in a minute, or dead
        return start_and_wait(*arguments, **options)


def launch(command: list[str], *, env: dict[str, str], cwd: str | None = None, **options: object):
    """Do what ``jupyter_client`` does to launch a kernel, but by a fork."""
    if "ipykernel_launcher" not in command or _python(env) != PYTHON:
        return start(command, env=env, cwd=cwd, **options)
    arguments = command[command.index("ipykernel_launcher") + 1 :]
    parent = _parent()
    print(json.dumps([arguments, env, str(cwd or os.getcwd())]), file=parent.stdin, flush=True)
    return Kernel(int(parent.stdout.readline()))


def _python(env: dict[str, str]) -> dict[str, str]:
    """The variables that Python reads once, when it starts."""
    return {name: value for name, value in env.items() if name.startswith("PYTHON")}


PYTHON = _python(os.environ)


@functools.cache
def _parent() -> subprocess.Popen:
    """The process that all kernels are forks of; it ends when its input does."""
    return subprocess.Popen(
        [sys.executable, __file__, *MODELS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for the tests alone
        text=True,
    )


class Kernel:
    """What ``jupyter_client`` needs of a ``Popen``, for a process that is not our child."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def poll(self) -> int | None:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return 0
        return None

    wait = poll

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _serve() -> None:
    """Read one kernel's arguments, variables and folder from each line, and print its process."""
    del sys.path[0]  # of this file
    os.environ["JPY_PARENT_PID"] = str(os.getpid())  # read when ipykernel is imported
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    import ipykernel.ipkernel
    import ipykernel.kernelapp  # noqa: F401
    import matplotlib.pyplot  # noqa: F401
    import torch._dynamo  # noqa: F401  because optimizers do

    from attnbook import exercises, pretrained  # noqa: F401
    from attnbook.figures import interactive  # noqa: F401

    _keep_models(pretrained, sys.argv[1:])
    gc.freeze()  # else a kernel's collector copies all of these
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # a kernel that ends leaves nothing
    for line in sys.stdin:
        process = os.fork()
        if not process:
            return _become_kernel(*json.loads(line))
        os.setpgid(process, process)  # so that signals reach what it starts as well
        print(process, flush=True)


def _keep_models(pretrained: ModuleType, names: list[str]) -> None:
    """Load models for the first cell of each kernel that asks for one."""
    load = pretrained.load
    kept = {}
    for name in names:  # what can't be had is an error for the kernel that asks
        with contextlib.suppress(ImportError, MemoryError, OSError, ValueError):
            kept[name] = load(name, device="cpu", progress=False)

    def load_or_take(name: str, **options: object) -> tuple:
        as_kept = options == {"device": "cpu", "progress": False}
        return kept.pop(name) if as_kept and name in kept else load(name, **options)

    pretrained.load = load_or_take


def _become_kernel(arguments: list[str], env: dict[str, str], folder: str) -> None:
    from ipykernel.kernelapp import launch_new_instance

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for stream in (sys.stdin, sys.stdout):
        os.dup2(sys.stderr.fileno(), stream.fileno())
    os.environ.clear()
    os.environ.update(env | {"JPY_PARENT_PID": str(os.getppid())})
    os.chdir(folder)
    launch_new_instance(arguments)


if __name__ == "__main__":
    _serve()
