"""Kernels of notebooks as copies of one process that has imported torch and matplotlib.

That takes two seconds of processor time, and there are some sixty notebooks. What a notebook does
not import by itself it does not see all the same.
"""

import multiprocessing
import os
import sys
import threading
from pathlib import Path

from jupyter_client.provisioning import local_provisioner

TESTS = Path(__file__).parent
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["ipykernel.kernelapp", "matplotlib.pyplot", "torch"])


class Kernel(FORKS.Process):
    """A kernel that answers what `jupyter_client` asks a `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def poll(self) -> int | None:
        """The exit status, or None as long as the kernel runs."""
        return self.exitcode

    def wait(self) -> int:
        """The exit status, once the kernel has ended."""
        self.join()
        return self.exitcode

    def send_signal(self, number: int) -> None:
        """Signal the kernel, unless it has ended."""
        if self.is_alive():
            os.kill(self.pid, number)


def be_a_kernel(arguments: list[str], folder: str, environment: dict[str, str], started) -> None:
    """Run in a session of its own, so that no other process gets this one's signals."""
    os.setsid()
    sys.path[:] = [path for path in sys.path if not Path(path).is_relative_to(TESTS)]
    del sys.modules[__name__]
    threading.Thread(target=end_with_the_tests, daemon=True).start()
    started.set()
    import matplotlib
    from ipykernel.kernelapp import launch_new_instance

    # what ipykernel sets by a variable that matplotlib reads when it is imported
    matplotlib.rcParams["backend"] = "module://matplotlib_inline.backend_inline"
    os.chdir(folder)
    os.environ.update(environment)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    sys.argv = arguments
    launch_new_instance()


def end_with_the_tests() -> None:
    """Leave no kernel behind if the process that runs the tests is killed."""
    multiprocessing.parent_process().join()
    os._exit(1)


def start_kernel(cmd: list[str], *, env: dict[str, str], cwd: str = ".", **_) -> Kernel:
    """Start what the command `cmd`, python -m ipykernel_launcher, would have started."""
    started = FORKS.Event()
    kernel = Kernel(target=be_a_kernel, args=(cmd[2:], cwd, env, started))
    kernel.start()
    if not started.wait(timeout=60):
        raise RuntimeError(f"the kernel {cmd} has not started in a minute")
    return kernel


def install() -> None:
    """Start all kernels of this process so."""
    local_provisioner.launch_kernel = start_kernel
