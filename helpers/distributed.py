"""One training run in several processes: ranks, what they agree on, and their shares of the data.

The engine is torch.distributed; this room has what a training loop needs of it, and works alone, too: a process that
was not started by torchrun is rank 0 of 1.
"""

import contextlib
import gc
import os
from collections.abc import Callable, Iterator, Sequence, Sized
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DistributedSampler, Sampler

T = TypeVar("T")


@dataclass(frozen=True)
class Ranks:
    """This process among its peers. All methods are collective: each rank calls them, in the same order."""

    rank: int = 0
    world_size: int = 1

    @property
    def first(self) -> bool:
        """Whether this is the rank that prints and writes."""
        return self.rank == 0

    def total(self, values: Tensor) -> Tensor:
        """Return the sum over all ranks of `values`, on the CPU and of one shape; the given tensor is left as it is."""
        if self.world_size == 1:
            return values
        total = values.to("cuda" if dist.get_backend() == "nccl" else "cpu", copy=True)
        dist.all_reduce(total)
        return total.cpu()

    def gathered(self, items: Sequence[T]) -> list[T]:
        """Return the items of all ranks on each of them, those of rank 0 first. They may differ in number."""
        if self.world_size == 1:
            return list(items)
        parts: list[Any] = [None] * self.world_size
        dist.all_gather_object(parts, list(items))
        return [item for part in parts for item in part]

    def from_first(self, make: Callable[[], T]) -> T:
        """Call `make` on rank 0 alone, and return its result on every rank; what it raises is raised on every rank.

        So no rank waits for one that has failed, and all have read the same file.
        """
        if self.world_size == 1:
            return make()
        answer: list[Any] = [None, None]
        if self.first:
            try:
                answer = [make(), None]
            except Exception as error:
                answer = [None, error]
        dist.broadcast_object_list(answer)
        result, error = answer
        if error is not None:
            raise error
        return result


ALONE = Ranks()


def launched() -> bool:
    """Return whether torchrun (or a scheduler that sets the same variables) started this process as one of several."""
    return {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"} <= set(os.environ)


@contextlib.contextmanager
def process_group(device: torch.device, seconds: float = 600) -> Iterator[Ranks]:
    """Join the processes that torchrun started together, and leave them at the end; alone where it started none.

    nccl joins CUDA devices, gloo everything else. A rank that waits for another longer than `seconds` raises an error
    and does not hang. A rank that fails keeps its connections until its process ends, after its own error is written:
    those of the others, who lose it, come later.
    """
    if not launched():
        yield ALONE
        return
    if device.type == "cuda":
        torch.cuda.set_device(device)
    backend = "nccl" if device.type == "cuda" else "gloo"
    store, rank, world_size = next(dist.rendezvous("env://", timeout=timedelta(seconds=seconds)))
    store = dist.PrefixStore(_attempt(), store)
    dist.init_process_group(backend, store=store, rank=rank, world_size=world_size, timeout=timedelta(seconds=seconds))
    yield Ranks(rank, world_size)
    gc.collect()  # a model in DDP that waits to be collected would keep the group's threads beyond the end of Python
    dist.destroy_process_group()


def _attempt() -> str:
    """Return a name that this attempt of the run has for itself.

    From one attempt to the next torchrun keeps its store, with the addresses of processes that have ended, and a new
    one now and then connects to those. On one host all workers are started again together and know the attempt's
    number; on several the numbers may differ, and only a store for each attempt will do.
    """
    kept = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    if kept and os.environ["GROUP_WORLD_SIZE"] != "1" and os.environ["TORCHELASTIC_MAX_RESTARTS"] != "0":
        raise ValueError(
            "several hosts and --max-restarts: set TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 for torchrun on each host, "
            "else restarted processes look for those that have ended"
        )
    return f"attempt {os.environ.get('TORCHELASTIC_RESTART_COUNT', 0)}"


def local_device(name: str | None = None) -> str | None:
    """Return the name of the device of this rank: one process drives one device, so rank n of a host has cuda:n.

    Alone, and on anything but CUDA, `name` is what it was. Raises ValueError where a host has fewer GPUs than ranks.
    """
    if not launched() or name not in (None, "cuda") or not torch.cuda.is_available():
        return name
    local, gpus = int(os.environ["LOCAL_RANK"]), torch.cuda.device_count()
    if local >= gpus:
        raise ValueError(f"{gpus} GPUs here, and no one left for local rank {local}: --nproc-per-node {gpus} or fewer")
    return f"cuda:{local}"


def training_share(examples: Sized, ranks: Ranks, seed: int) -> DistributedSampler:
    """Return the sampler of this rank: every `world_size`-th example of an order that all ranks shuffle alike.

    All shares are equally long, so that no rank waits for a step which another does not take; where the number of
    examples does not divide, up to `world_size` - 1 of them come twice. Call its `set_epoch` before each epoch, else
    every epoch has one order.
    """
    return DistributedSampler(examples, ranks.world_size, ranks.rank, seed=seed)


class EvaluationShare(Sampler[int]):
    """Every `world_size`-th example, in order and without repeats: the shares may differ by one."""

    def __init__(self, examples: Sized, ranks: Ranks) -> None:
        self.places = range(ranks.rank, len(examples), ranks.world_size)

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[int]:
        return iter(self.places)


def batch_share(batch_size: int, ranks: Ranks) -> int:
    """Return the examples a step of one rank, so that all ranks together take `batch_size`.

    Raises ValueError where that does not come out even: the mean of the ranks' gradients is that of the batch only
    if all have the same number of examples.
    """
    if batch_size % ranks.world_size:
        raise ValueError(
            f"a batch of {batch_size} cannot be shared by {ranks.world_size} processes: start a number that divides it"
        )
    return batch_size // ranks.world_size


def unused_parameters(model: nn.Module, loss: Tensor) -> list[str]:
    """Return the names of the parameters that `loss` does not depend on."""
    named = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
    gradients = torch.autograd.grad(loss, [parameter for _, parameter in named], allow_unused=True)
    return [name for (name, _), gradient in zip(named, gradients, strict=True) if gradient is None]


def distribute(model: nn.Module, loss: Callable[[nn.Module], Tensor], device: torch.device, ranks: Ranks) -> nn.Module:
    """Return the model in DDP, which averages gradients over the ranks during `backward()`; alone, the model itself.

    Raises ValueError, naming them, where the `loss` of the model does not depend on some parameters: DDP would wait
    for their gradients, and say so at the second step only.
    """
    if ranks.world_size == 1:
        return model
    if unused := unused_parameters(model, loss(model)):
        raise ValueError(f"the loss does not depend on {', '.join(unused)}: take them out of the model, or freeze them")
    return DistributedDataParallel(model, device_ids=[device.index] if device.type == "cuda" else None)
