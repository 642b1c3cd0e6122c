"""Two word tasks: the next word of a stream, and the next reply of a dialogue."""

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from helpers.batching import PADDING, WordBatch
from helpers.corpora import DATA, CorpusError, locate, python_manual, read_dialogues, read_words
from helpers.language import WordModel, evaluate_words
from helpers.recipes import Recipe
from helpers.sequences import CollateExchanges, Exchange, encode_exchanges, exchange_batches, exchange_texts
from helpers.sequences import stream_batches as cut
from helpers.studies.tasks import Rung, Task, evenly
from helpers.text import Vocabulary

LENGTH = 50  # time steps, the source article's
LSTM = {"cell": "lstm", "learning_rate": 8e-3}

_AT_THE_SLOW = (
    Rung("the article's loop", "nn.RNN, a full softmax at every step, padded to 50, Adam, eager", None, {}),
    Rung("torch.compile(model)", "the whole model compiled", "the article's loop", {"compile": "model"}, True, False),
)


def _tried(base: str) -> tuple[Rung, ...]:
    """Levers that are tried on a full softmax, and left."""
    return (
        Rung("output layer compiled", "output layer and loss compiled", base, {"compile": "output"}, True, False),
        Rung(
            "backward by hand", "nn.RNN with a backward pass written by hand", base, {"cell": "fast rnn"}, True, False
        ),
        Rung("foreach Adam", "all parameters in a few calls", base, {"adam": "foreach"}, True, False),
        Rung("fused Adam", "all parameters in one kernel", base, {"adam": "fused"}, True, False),
        Rung("output in 8 chunks", "each computed again in backward", base, {"output_chunks": 8}, True, False),
        Rung("checkpoint over time", "5 segments, each computed again", base, {"segments": 5}, True, False),
        Rung(
            "bfloat16",
            "autocast, in float16 with GradScaler on a GPU without bf16",
            base,
            {"autocast": True},
            kept=False,
        ),
        Rung("TF32", "matrix products in TF32", base, {"tf32": True}, kept=False, needs="cuda"),
    )


def dialogue_task(path: Path | None = None) -> tuple[Task, list[Tensor]]:
    """Return the task of replying, and test utterances to reply to.

    From `path`, else Persona-Chat, else the course's own dialogues. Of 1,000 and more the last 200 test and the first
    800 train; of fewer the last sixth tests and the rest trains.
    """
    try:
        path = path or locate("personachat-valid")
    except CorpusError as error:
        print(f"{error}\nthe course's own dialogues are taken instead", flush=True)
        path = DATA / "dialogues.txt"
    dialogues = read_dialogues(path).examples
    test_size = 200 if len(dialogues) >= 1000 else len(dialogues) // 6
    train = exchange_texts(dialogues[: 4 * test_size if test_size == 200 else -test_size])
    vocabulary = Vocabulary.build(part for text in train for part in text)
    trained, tested = (encode_exchanges(texts, vocabulary) for texts in (train, exchange_texts(dialogues[-test_size:])))
    test_batches = list(exchange_batches(tested, 64, buckets=True, length=LENGTH, shuffle=False))
    targets = "targets only"
    task = Task(
        name="dialogue",
        unit="real tokens",
        quality="perplexity",
        build=lambda recipe: _model(recipe, vocabulary),
        loader=lambda recipe: exchange_batches(
            trained, recipe.batch_size, buckets=recipe.buckets, length=LENGTH, pin_memory=recipe.pin_memory
        ),
        sample=lambda recipe, count: _sample(trained, recipe, count),
        largest=lambda recipe: _largest(trained, recipe),
        judge=lambda model: evaluate_words(model, test_batches, next(model.parameters()).device),
        units_an_epoch=sum(min(len(exchange.numbers) - 1, LENGTH) for exchange in trained),
        units=lambda batch: int((batch.tokens != PADDING).sum()),
        slow=Recipe(),
        rungs=(
            *_AT_THE_SLOW,
            Rung("buckets", "batches of like length", "the article's loop", {"buckets": True}, True),
            Rung(targets, "scores only where a word of a reply is wanted", "buckets", {"everywhere": False}, True),
            Rung(
                "CUDA graph",
                "the whole step replayed by one launch",
                "the article's loop",
                {"cuda_graph": True},
                kept=False,
                needs="cuda",
            ),
            *_tried(targets),
            Rung("pinned memory", "copies overlap with work", targets, {"pin_memory": True}, True, False, "cuda"),
            Rung("LSTM, old rate", "nn.LSTM at the rate of the slow version", targets, {"cell": "lstm"}, kept=False),
            Rung("LSTM", "nn.LSTM, which stands a rate of 8e-3", targets, LSTM),
            Rung("GRU", "nn.GRU at 8e-3", targets, {**LSTM, "cell": "gru"}, kept=False),
            Rung("adaptive softmax", "rare words in clusters", "LSTM", {"softmax": "adaptive"}),
            Rung("batch of 64", "twice the exchanges a step", "adaptive softmax", {"batch_size": 64}, kept=False),
        ),
        facts={
            "data": path.name,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "training_exchanges": len(trained),
            "test_exchanges": len(tested),
            "vocabulary": len(vocabulary),
        },
    )
    return task, [numbers[:begin] for numbers, begin in tested]


def language_task() -> Task:
    """The next word: WikiText-2's valid part to train on and its test part to test, else Python's manual, 5 to 1."""
    try:
        paths = [locate(f"wikitext2-{part}") for part in ("valid", "test")]
        train, test = (read_words(path).examples for path in paths)
        name = "WikiText-2, valid to train, test to test"
    except CorpusError as error:
        print(f"{error}\nPython's own manual is taken instead", flush=True)
        words, name = python_manual().examples, "Python's manual and docstrings"
        train, test = words[: -len(words) // 6], words[-len(words) // 6 :]
    checksum = hashlib.sha256(" ".join([*train, *test]).encode()).hexdigest()
    vocabulary = Vocabulary.build([train])
    numbers = torch.tensor(vocabulary.encode(train))
    test_batches = cut(vocabulary.encode(test), 32, LENGTH)
    batches = cache(lambda size: cut(numbers, size, LENGTH))
    slow = "the article's loop"
    return Task(
        name="language-model",
        unit="tokens",
        quality="perplexity",
        build=lambda recipe: _model(recipe, vocabulary),
        loader=lambda recipe: batches(recipe.batch_size),
        sample=lambda recipe, count: [
            batches(recipe.batch_size)[k * len(batches(recipe.batch_size)) // count] for k in range(count)
        ],
        largest=lambda recipe: batches(recipe.batch_size)[0],
        judge=lambda model: evaluate_words(model, test_batches, next(model.parameters()).device, carry=True),
        units_an_epoch=len(numbers),
        units=lambda batch: batch.tokens.numel(),
        slow=Recipe(),
        rungs=(
            *_AT_THE_SLOW,
            *_tried(slow),
            Rung("LSTM", "nn.LSTM, which stands a rate of 8e-3", slow, LSTM),
            Rung("adaptive softmax", "rare words in clusters", "LSTM", {"softmax": "adaptive"}),
            Rung("batch of 64", "twice the rows a step", "adaptive softmax", {"batch_size": 64}, kept=False),
        ),
        carry=True,
        looks=16,
        facts={
            "data": name,
            "sha256": checksum,
            "training_tokens": len(train),
            "test_tokens": len(test),
            "vocabulary": len(vocabulary),
        },
    )


def _model(recipe: Recipe, vocabulary: Vocabulary) -> WordModel:
    return WordModel(len(vocabulary), cell=recipe.cell, softmax=recipe.softmax)


def _sample(exchanges: Sequence[Exchange], recipe: Recipe, count: int) -> list[WordBatch]:
    """Return batches from all over an epoch; with one, the first examples in whatever order the recipe batches."""
    collate = CollateExchanges(LENGTH, fixed=not recipe.buckets)
    if recipe.buckets and count > 1:
        exchanges = sorted(exchanges, key=lambda exchange: len(exchange.numbers))
    batches = [collate(exchanges[part]) for part in evenly(len(exchanges), recipe.batch_size, count)]
    if recipe.pin_memory:
        batches = [WordBatch(*(part.pin_memory() for part in batch)) for batch in batches]
    return batches


def _largest(exchanges: Sequence[Exchange], recipe: Recipe) -> WordBatch:
    longest = sorted(exchanges, key=lambda exchange: len(exchange.numbers))[-recipe.batch_size :]
    return CollateExchanges(LENGTH, fixed=not recipe.buckets)(longest)
