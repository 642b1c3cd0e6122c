"""The workers of notebook 07: `python -m helpers.workers NAME` runs one of them in each process of torchrun.

They stand in a module because another process cannot import what a notebook's cell defines. What a worker returns on
rank 0 is printed as JSON.
"""

import json
import os
import signal
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.distributed.algorithms.join import Join
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from helpers.batching import Batch
from helpers.device import to_device
from helpers.distributed import Ranks, process_group
from helpers.models import TextClassifier
from helpers.timing import synchronised_clock
from helpers.training import fit

WORDS, CLASSES = 2000, 2
PATIENCE = 5  # seconds that a rank of `uneven` waits for another


def classifier(device: torch.device, dtype: torch.dtype = torch.float32) -> TextClassifier:
    """Return the course's classifier with the same weights in every process, and without dropout."""
    torch.manual_seed(0)
    return TextClassifier(WORDS, CLASSES, cell="rnn", bidirectional=False, dropout=0).to(device, dtype)


def in_ddp(model: nn.Module, device: torch.device, group: dist.ProcessGroup | None = None) -> DistributedDataParallel:
    """Wrap a model: one process drives one device, and on a CPU none is named."""
    device_ids = [device.index] if device.type == "cuda" else None
    return DistributedDataParallel(model, device_ids=device_ids, process_group=group)


def made_up_batch(examples: int, device: torch.device, time: int = 20) -> Batch:
    """Return tokens [examples, time], their lengths and labels, alike in every process."""
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(1, WORDS, (examples, time), generator=generator)
    labels = torch.randint(CLASSES, (examples,), generator=generator)
    return to_device(Batch(tokens, torch.full((examples,), time), labels), device)


def batch_loss(model: nn.Module, batch: Batch) -> Tensor:
    """Return the mean loss over the examples of a batch."""
    return cross_entropy(model(batch.tokens, batch.lengths), batch.labels)


def gradient(model: nn.Module) -> Tensor:
    """Return the gradients of all parameters as one vector."""
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])


def share(batch: Batch, ranks: Ranks) -> Batch:
    """Return every `world_size`-th example, beginning with this rank's number."""
    return Batch(*(part[ranks.rank :: ranks.world_size] for part in batch))


def hello(ranks: Ranks, device: torch.device) -> list[str]:
    """Tell who is there."""
    return ranks.gathered([f"rank {ranks.rank} of {ranks.world_size}, threads: {torch.get_num_threads()}"])


def by_hand(ranks: Ranks, device: torch.device, dtype: str) -> float:
    """Average the gradients of the shares, and say how far they are from those of the whole batch."""
    model = classifier(device, getattr(torch, dtype))
    batch_loss(model, share(made_up_batch(32, device), ranks)).backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)  # in place: now the sum over all ranks
        parameter.grad /= ranks.world_size
    return difference_from_alone(model, device, dtype)


def by_ddp(ranks: Ranks, device: torch.device, dtype: str) -> float:
    """Let DDP average them, during `backward`."""
    model = in_ddp(classifier(device, getattr(torch, dtype)), device)
    batch_loss(model, share(made_up_batch(32, device), ranks)).backward()
    return difference_from_alone(model, device, dtype)


def difference_from_alone(model: nn.Module, device: torch.device, dtype: str) -> float:
    """Return the largest difference of any gradient from that of one process which has the whole batch."""
    alone = classifier(device, getattr(torch, dtype))
    batch_loss(alone, made_up_batch(32, device)).backward()
    return (gradient(model) - gradient(alone)).abs().max().item()


def uneven(ranks: Ranks, device: torch.device, way: str) -> list[int]:
    """Give each rank one batch more than the rank before it, with Join or without; return the steps of each."""
    group = dist.new_group(timeout=timedelta(seconds=PATIENCE))
    model, steps = in_ddp(classifier(device), device, group), 0
    with Join([model]) if way == "join" else nullcontext():
        for _ in range(5 + ranks.rank):
            batch_loss(model, made_up_batch(8, device)).backward()
            steps += 1
    if way != "join":
        time.sleep(3 * PATIENCE)  # rank 0 does something else meanwhile: it judges, or it writes
    return ranks.gathered([steps])


def accumulation(ranks: Ranks, device: torch.device) -> dict[str, float]:
    """Add up the gradients of four batches, with and without `no_sync`, and count how often they cross."""
    crossings, gradients = {"each batch": 0, "no_sync": 0}, []
    for way in crossings:
        model = in_ddp(classifier(device), device)

        def count(way: str, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
            crossings[way] += 1
            return allreduce_hook(dist.group.WORLD, bucket)

        model.register_comm_hook(way, count)
        for batch in range(4):
            with model.no_sync() if way == "no_sync" and batch < 3 else nullcontext():
                batch_loss(model, share(made_up_batch(32, device), ranks)).backward()
        gradients.append(gradient(model))
    return {**crossings, "largest difference": (gradients[0] - gradients[1]).abs().max().item()}


def killed(ranks: Ranks, device: torch.device, folder: str, die: str) -> dict[str, int]:
    """Train six epochs with a checkpoint after each; if asked to, the last rank is killed in the fourth, once."""
    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    dies = die == "die" and attempt == 0 and ranks.rank == ranks.world_size - 1
    epochs = 0

    class Batches:
        def __iter__(self) -> Iterator[Batch]:
            nonlocal epochs
            epochs += 1
            if dies and epochs == 4:
                os.kill(os.getpid(), signal.SIGKILL)  # as when memory runs out: no goodbye
            return iter([share(made_up_batch(32, device), ranks)] * 5)

    model = in_ddp(classifier(device), device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    checkpoint = Path(folder) / "run.checkpoint"
    fit(model, Batches(), optimizer=optimizer, epochs=6, device=device, checkpoint=checkpoint, resume=True, ranks=ranks)
    return {"restarts": attempt, "epochs of the last attempt": epochs}


def timed(ranks: Ranks, device: torch.device, batch_size: str) -> dict[str, float]:
    """Return the median seconds of a step whose gradients cross, and of one whose gradients stay, taken in turns."""
    model = classifier(device) if ranks.world_size == 1 else in_ddp(classifier(device), device)
    optimizer = torch.optim.Adam(model.parameters())
    batch = share(made_up_batch(int(batch_size), device), ranks)
    seconds: dict[str, list[float]] = {"crossing": [], "staying": []}
    for turn in range(15):
        for way, readings in seconds.items():
            stays = way == "staying" and ranks.world_size > 1
            start = synchronised_clock(device)
            with model.no_sync() if stays else nullcontext():
                optimizer.zero_grad()
                batch_loss(model, batch).backward()
                optimizer.step()
            if turn >= 4:  # warm by then
                readings.append(synchronised_clock(device) - start)
    return {way: statistics.median(readings) for way, readings in seconds.items()}


WORKERS = {worker.__name__: worker for worker in (hello, by_hand, by_ddp, uneven, accumulation, killed, timed)}


@record  # a rank that fails leaves its traceback where `launch` finds it
def main(name: str, *arguments: str) -> None:
    """Run a worker in this process, as one of those that torchrun started: on a GPU each where there are enough."""
    gpus, local = torch.cuda.device_count(), int(os.environ["LOCAL_RANK"])
    device = torch.device(f"cuda:{local}" if gpus >= int(os.environ["LOCAL_WORLD_SIZE"]) else "cpu")
    with process_group(device, seconds=60) as ranks:
        result = WORKERS[name](ranks, device, *arguments)
        if ranks.first:
            print(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
