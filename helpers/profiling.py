"""Where the time of a training run goes: sections by the clock, operations by the profiler."""

import contextlib
from collections.abc import Callable, Iterator

import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile, schedule

from helpers.timing import synchronised_clock


class Sections:
    """Add up the seconds of named parts of a loop: `with sections("input"): …`.

    An accelerator is synchronised at both borders, else its work would be billed to whichever line waits for it
    next (https://github.com/nerfstudio-project/nerfstudio/issues/183). That costs speed: measure so, do not train so.
    """

    def __init__(self, device: torch.device | str = "cpu") -> None:
        self.device = torch.device(device)
        self.seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Count the block's time to `name`."""
        start = synchronised_clock(self.device)
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + synchronised_clock(self.device) - start

    def shares(self) -> dict[str, float]:
        """Return each section's share of the time of all, from 0 to 1."""
        total = sum(self.seconds.values())
        return {name: seconds / total for name, seconds in self.seconds.items()}


def operations(step: Callable[[], object], device: torch.device | str = "cpu", *, steps: int = 3) -> dict[str, float]:
    """Profile `step()` and return the seconds that each operation took itself in one step, the longest first.

    Two steps run before anything is recorded: the first would count what only a start costs
    (https://github.com/pytorch/kineto/issues/328). On CUDA the times are those of the kernels that
    each operation started.
    """
    on_cuda = torch.device(device).type == "cuda"
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * on_cuda
    with profile(activities=activities, schedule=schedule(wait=1, warmup=1, active=steps, repeat=1)) as profiler:
        for _ in range(2 + steps):
            step()
            profiler.step()
    time_of = "self_device_time_total" if on_cuda else "self_cpu_time_total"  # microseconds
    seconds = {
        event.key: getattr(event, time_of) / 1e6 / steps
        for event in profiler.key_averages()
        if not event.key.startswith("ProfilerStep") and event.device_type == DeviceType.CPU  # not the kernels again
    }
    return dict(sorted(((k, s) for k, s in seconds.items() if s > 0), key=lambda item: -item[1]))
