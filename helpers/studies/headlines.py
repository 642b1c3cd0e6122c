"""The classifier: headlines to labels."""

import hashlib
from pathlib import Path

import torch
from torch.utils.data import DataLoader

from helpers.batching import Batch, Buckets, Collate, batches, encode
from helpers.corpora import DATA, read_headlines, refuse_untrainable, split
from helpers.models import TextClassifier
from helpers.recipes import Recipe
from helpers.studies.tasks import Rung, Task, evenly
from helpers.text import Vocabulary
from helpers.training import evaluate

LENGTH = 50  # what the slow version pads to


class CollateFixed(Collate):
    """As `Collate`, padded always to 50 steps."""

    def __call__(self, pairs: list) -> Batch:
        """Pad the texts to 50."""
        batch = super().__call__(pairs)
        room = LENGTH - batch.tokens.size(1)
        return batch._replace(tokens=torch.nn.functional.pad(batch.tokens, (0, room)))


def headlines_task(path: Path | None = None) -> Task:
    """Headlines of a file, or the course's own, each read at its last real step: padding would drown it."""
    path = path or DATA / "headlines.tsv"
    reading = read_headlines(path)
    refuse_untrainable(reading)
    parts = split(reading.examples)
    labels = sorted({example.label for example in parts.train})
    vocabulary = Vocabulary.build((example.tokens for example in parts.train), min_count=2)
    train, test = (encode(part, vocabulary, labels) for part in (parts.train, parts.test))
    test_batches = list(batches(sorted(test, key=lambda pair: len(pair[0])), 128))

    def loader(recipe: Recipe) -> DataLoader:
        if recipe.buckets:
            lengths = [len(numbers) for numbers, _ in train]
            return DataLoader(train, batch_sampler=Buckets(lengths, recipe.batch_size), collate_fn=Collate(LENGTH))
        return DataLoader(train, batch_size=recipe.batch_size, shuffle=True, collate_fn=CollateFixed(LENGTH))

    def sample(recipe: Recipe, count: int) -> list:
        collate = Collate(LENGTH) if recipe.buckets else CollateFixed(LENGTH)
        pairs = sorted(train, key=lambda pair: len(pair[0])) if recipe.buckets and count > 1 else train
        return [collate(pairs[part]) for part in evenly(len(pairs), recipe.batch_size, count)]

    def largest(recipe: Recipe) -> Batch:
        collate = Collate(LENGTH) if recipe.buckets else CollateFixed(LENGTH)
        return collate(sorted(train, key=lambda pair: len(pair[0]))[-recipe.batch_size :])

    def build(recipe: Recipe) -> TextClassifier:
        return TextClassifier(
            len(vocabulary),
            len(labels),
            cell=recipe.cell,
            embedding_size=100,
            hidden_size=256,
            bidirectional=False,
            pooling=recipe.pooling,
            dropout=0.0,
        )

    slow = "the article's loop"
    return Task(
        name="headlines",
        unit="headlines",
        quality="accuracy",
        build=build,
        loader=loader,
        sample=sample,
        largest=largest,
        judge=lambda model: evaluate(model, test_batches, next(model.parameters()).device).accuracy,
        units_an_epoch=len(train),
        units=lambda batch: len(batch.labels),
        slow=Recipe(),
        rungs=(
            Rung(slow, "nn.RNN, read at the last real step, padded to 50, Adam, eager", None, {}),
            Rung("torch.compile(model)", "the whole model compiled", slow, {"compile": "model"}, True, False),
            Rung("buckets", "batches of like length", slow, {"buckets": True}, True),
            Rung("fused Adam", "all parameters in one kernel", "buckets", {"adam": "fused"}, True, False),
            Rung("bfloat16", "autocast", "buckets", {"autocast": True}, kept=False),
            Rung("largest over time", "reads the largest of each feature, not the last", "buckets", {"pooling": "max"}),
            Rung("LSTM", "nn.LSTM, at a rate of 4e-3", "largest over time", {"cell": "lstm", "learning_rate": 4e-3}),
            Rung("batch of 64", "twice the headlines a step", "LSTM", {"batch_size": 64}, kept=False),
        ),
        epochs=5,
        looks=4,
        facts={
            "data": path.name,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "rejected": len(reading.rejected),
            "training_headlines": len(train),
            "test_headlines": len(test),
        },
    )
