"""One of the processes in the tests of several hosts: trains, resumes, and writes down what weights it ended with.

host_worker.py CHECKPOINT EPOCHS RESULTS SECONDS
"""

import hashlib
import json
import sys
import time
from pathlib import Path

import torch
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel

from helpers.distributed import process_group
from helpers.training import fit
from helpers.workers import classifier, made_up_batch, share


@record
def main(checkpoint, epochs, results, seconds):
    """Train with a pause in each epoch, so that a test can do something in the middle of one."""
    device = torch.device("cpu")
    with process_group(device, seconds=float(seconds)) as ranks:
        model = DistributedDataParallel(classifier(device))

        class Batches:
            def __iter__(self):
                time.sleep(0.5)
                return iter([share(made_up_batch(32, device), ranks)] * 5)

        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        fit(
            model,
            Batches(),
            optimizer=optimizer,
            epochs=int(epochs),
            checkpoint=Path(checkpoint),
            resume=True,
            ranks=ranks,
        )
        weights = b"".join(weight.numpy().tobytes() for weight in model.module.state_dict().values())
        found = {"rank": ranks.rank, "weights": hashlib.sha256(weights).hexdigest()}
        Path(results).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
