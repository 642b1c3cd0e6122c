"""torchrun out of a notebook: workers in processes of their own, and none of them left behind."""

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

import psutil

RUN_VARIABLE = "TORCHELASTIC_RUN_ID"  # torchrun gives it to every worker, and they to their children
GRACE_SECONDS = 10


class LaunchError(RuntimeError):
    """Workers that failed or took too long; the message has the failed rank's own traceback."""


def launch(
    module: str,
    *arguments: str,
    processes: int = 2,
    threads: int = 1,
    seconds: float = 120,
    restarts: int = 0,
) -> str:
    """Run `python -m module arguments` in so many processes under torchrun, and return what they printed.

    Each process has `threads` threads. A failed process ends all, and they are started anew up to `restarts` times.
    The port is a free one each time. When this returns or raises, by Ctrl-C too, no process of the run is left.
    Raises ValueError for a module that another process could not import, LaunchError where the run fails or takes
    longer than `seconds`.
    """
    if not isinstance(module, str) or importlib.util.find_spec(module) is None:
        raise ValueError(
            f"{module!r} is no module that another process can import: a function of a notebook cannot be found there"
        )
    run = uuid.uuid4().hex
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder)
        command = [sys.executable, "-m", "torch.distributed.run", "--nnodes=1", f"--nproc-per-node={processes}"]
        command += ["--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0", "--local-addr=127.0.0.1", f"--rdzv-id={run}"]
        command += [f"--max-restarts={restarts}", f"--log-dir={folder}", "--shutdown-timeout=5", "-m", module]
        # Files and no pipes: a pipe would stay open as long as any worker lives, and this would wait for it.
        with open(logs / "out", "wb") as out, open(logs / "err", "wb") as err:
            process = subprocess.Popen(  # noqa: S603 - a list, and no shell
                [*command, *arguments],
                stdout=out,
                stderr=err,
                env={**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONUTF8": "1"},
                start_new_session=True,  # Ctrl-C comes here alone, and the workers are ended in order
            )
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                raise LaunchError(f"{module} took longer than {seconds:g} s and was ended") from None
            finally:
                _end(process, run)
        printed, complaints = ((logs / name).read_text(encoding="utf-8", errors="replace") for name in ("out", "err"))
        if code:
            raise LaunchError(f"{module} failed: {_traceback(logs) or complaints.strip()[-3000:]}")
    return printed


def left_behind(run: str) -> list[psutil.Process]:
    """Return the living processes of a run, workers and their children."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):  # it ended meanwhile, or is another user's
            if process.environ().get(RUN_VARIABLE) == run and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def _end(process: subprocess.Popen, run: str) -> None:
    """End torchrun, which ends its workers, and then whatever is left of the run."""
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)
    process.kill()
    process.wait()
    left = left_behind(run)
    for worker in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            worker.kill()
    psutil.wait_procs(left, GRACE_SECONDS)


def _traceback(logs: Path) -> str | None:
    """Return which rank failed first and its traceback, from torchrun's own files; None where there is none."""
    failures = []
    for file in logs.rglob("error.json"):
        callstack = json.loads(file.read_text(encoding="utf-8"))["message"]["extraInfo"]["py_callstack"]
        failures.append((file.stat().st_mtime_ns, int(file.parent.name), callstack))
    if not failures:
        return None
    _, rank, callstack = min(failures)
    return f"rank {rank} says\n{callstack.strip()}"
