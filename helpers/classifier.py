"""The headline classifier from texts to judgement, in one process or several."""

import hashlib
import time
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from helpers.batching import Collate, encode
from helpers.checkpoints import set_aside
from helpers.corpora import Reading, split
from helpers.device import to_device
from helpers.distributed import ALONE, EvaluationShare, Ranks, batch_share, distribute, training_share
from helpers.models import TextClassifier
from helpers.text import Vocabulary
from helpers.training import bag_of_words, evaluate, fit, majority

BATCH = 32  # headlines a step, of all processes together


def train_classifier(
    reading: Reading,
    *,
    device: torch.device,
    epochs: int,
    seed: int = 0,
    accumulate: int = 1,
    checkpoint: Path | None = None,
    resume: bool = False,
    ranks: Ranks = ALONE,
) -> dict[str, float | int | str]:
    """Split a reading, train on its larger part and judge on the rest, beside baselines; return figures to print.

    The processes of `ranks` share each batch, so that their number changes the speed and not the training, but for
    what dropout draws. What was
    at `checkpoint` is set aside unless the run is to `resume`.
    Raises ValueError where a batch of 32 cannot be shared by so many processes, and what `fit` raises.
    """
    start = time.perf_counter()
    if ranks.first and ranks.world_size > 1:
        print(f"{ranks.world_size} processes share each batch of {BATCH}", flush=True)
    parts = split(reading.examples)
    labels = sorted({example.label for example in parts.train})
    vocabulary = Vocabulary.build((example.tokens for example in parts.train), min_count=2)
    train, test = (encode(part, vocabulary, labels) for part in (parts.train, parts.test))
    train_batches = DataLoader(
        train, batch_share(BATCH, ranks), sampler=training_share(train, ranks, seed), collate_fn=Collate()
    )
    test_batches = DataLoader(test, 256, sampler=EvaluationShare(test, ranks), collate_fn=Collate())
    torch.manual_seed(seed)
    classifier = TextClassifier(len(vocabulary), len(labels)).to(device)
    first_batch = to_device(next(iter(train_batches)), device)

    def loss(model: nn.Module) -> Tensor:
        return nn.functional.cross_entropy(model(first_batch.tokens, first_batch.lengths), first_batch.labels)

    model = distribute(classifier, loss, device, ranks)
    if checkpoint is not None and not resume:
        aside = ranks.from_first(lambda: set_aside(checkpoint))
        if aside is not None and ranks.first:
            print(f"the checkpoint that was there is kept as {aside}", flush=True)
    fit(
        model,
        train_batches,
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-5),
        epochs=epochs,
        device=device,
        seed=seed,
        test_batches=test_batches,
        checkpoint=checkpoint,
        resume=resume,
        facts={
            "data": hashlib.sha256(reading.path.read_bytes()).hexdigest(),
            "labels": labels,
            "vocabulary": list(vocabulary.tokens),
            "accumulate": accumulate,
        },
        accumulate=accumulate,
        ranks=ranks,
    )
    truth = [example.label for example in parts.test]
    accuracy = evaluate(model, test_batches, device, ranks).accuracy
    answers = ranks.from_first(lambda: bag_of_words(parts.train, parts.test))
    bag_right = [answer == label for answer, label in zip(answers, truth, strict=True)]
    return {
        "test_accuracy": round(accuracy, 4),
        "majority_accuracy": round(truth.count(majority(parts.train)) / len(truth), 4),
        "bag_of_words_accuracy": round(sum(bag_right) / len(truth), 4),
        "examples": len(parts.train) + len(parts.test),
        "rejected": len(reading.rejected),
        "seconds": round(time.perf_counter() - start, 1),
        "device": str(device),
    }
