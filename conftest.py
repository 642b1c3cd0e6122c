"""nbval 0.11 made strict: its kernel behaves as JupyterLab's does, and no broken cell slips through.

tests/test_nbval_is_strict.py breaks a cell in each of these ways and sees it fail.
"""

import os
import time
from queue import Empty

import nbval.kernel
import nbval.plugin
import pytest

os.environ["TQDM_DISABLE"] = "1"  # no progress bars in outputs that are compared
_start_new_kernel = nbval.kernel.start_new_kernel
_get_message = nbval.kernel.RunningKernel.get_message


def _start_kernel_without_pytest(*args, **kwargs):
    """Hide a variable of pytest's, at which ipykernel leaves the output of child processes uncaptured."""
    env = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    return _start_new_kernel(*args, env=env, **kwargs)


def _execute_with_history(self, cell_input, allow_stdin=None):
    """Without a history, as nbval asks for it, IPython shows what a trailing semicolon hides."""
    return self.kc.execute(cell_input, store_history=True, allow_stdin=allow_stdin, stop_on_error=False)


def _get_message_while_alive(self, stream, timeout=None):
    """Wait for the kernel's reply a second at a time, so that a dead kernel is noticed at once."""
    if stream != "shell":
        return _get_message(self, stream, timeout)
    end = time.monotonic() + (timeout or float("inf"))
    while True:
        try:
            message = _get_message(self, stream, 1.0)
        except Empty:
            if not self.is_alive():
                raise RuntimeError("the kernel died in this cell") from None
            if time.monotonic() > end:
                raise
        else:
            self.last_reply = message["content"]
            return message


nbval.kernel.start_new_kernel = _start_kernel_without_pytest
nbval.kernel.RunningKernel.execute_cell_input = _execute_with_history
nbval.kernel.RunningKernel.get_message = _get_message_while_alive


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Fail cells that nbval lets pass: a failed magic, an expected error that does not come, no stored run."""
    result = yield
    if isinstance(item, nbval.plugin.IPyNbCell) and item.cell.source.strip():
        status = item.parent.kernel.last_reply.get("status")
        expects_error = item.options["check_exception"]
        if status == "error" and not expects_error:
            item.raise_cell_error("the cell failed without showing an error (an unknown magic?)")
        if status == "ok" and expects_error:
            item.raise_cell_error("tagged raises-exception, but nothing was raised")
        if item.cell.execution_count is None:
            item.raise_cell_error("stored without a run, so that nothing was compared: make notebooks")
    return result
