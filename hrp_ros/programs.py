# PYTHON_ARGCOMPLETE_OK
"""Entry points of the programs: Ctrl-C ends them without a traceback, even during imports.

Importing this module makes SIGINT end the process at once, with status 130, until the program
installs its own handler (see ``hrp_model.program.command``). An exception during an import could
be wrapped, printed or lost by libraries, and there is nothing to clean up yet. Therefore this
module imports next to nothing, and is outside of the packages that do.
"""

import os

_INTERRUPTED = 130

try:
    import signal
    import sys

    def _end_at_once(*_: object) -> None:
        os._exit(_INTERRUPTED)

    # Background jobs of scripts, and nohup, ignore Ctrl-C; the program keeps that.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end_at_once)
except KeyboardInterrupt:
    os._exit(_INTERRUPTED)


def hrp_model() -> int:
    """Run ``hrp-model``."""
    return _run("hrp_model.cli.main", "main")


def hrp_sim() -> int:
    """Run ``hrp-sim``."""
    return _run("hrp_sim.cli.main", "main")


def model_node() -> int:
    """Run ``model_node``."""
    return _run("hrp_model.program.command", "run_node", "hrp_model.ros.model_node", "model_node")


def sim_node() -> int:
    """Run ``sim_node``."""
    return _run("hrp_model.program.command", "run_node", "hrp_sim.ros.sim_node", "sim_node")


def view_node() -> int:
    """Run ``view_node``."""
    return _run("hrp_model.program.command", "run_node", "hrp_model.ros.view_node", "view_node")


def _run(module: str, function: str, *arguments: str) -> int:
    """Return the exit status of a program, and ignore Ctrl-C from then on."""
    # Matrices of robots are small: threads of NumPy's library would only cost time and memory.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    __import__(module)
    try:
        status: int = getattr(sys.modules[module], function)(*arguments)
    except KeyboardInterrupt:  # just before the end
        status = _INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return status
