"""Checks of the exercises in 06 · Text generation."""

import math

import torch


def _perplexity_of(perplexity_of):
    batches = [(2.0, 90), (6.0, 10)]
    got = float(perplexity_of(batches))
    for wrong, remark in (
        (math.exp(4.0), "that is from the mean of the batches' losses: weigh each loss by its number of words"),
        ((math.exp(2.0) + math.exp(6.0)) / 2, "that is the mean of the batches' perplexities: add up losses, then exp"),
        ((90 * math.exp(2.0) + 10 * math.exp(6.0)) / 100, "exp comes last, once, and not for each batch"),
        (2.4, "that is the mean loss: its exp is the perplexity"),
    ):
        assert not math.isclose(got, wrong, rel_tol=1e-3), remark
    assert math.isclose(got, math.exp(2.4), rel_tol=1e-4), f"90 words at 2 and 10 at 6 give 11.02, not {got:.4g}"
    padded = float(perplexity_of([*batches, (math.nan, 0)]))
    assert not math.isnan(padded), "a batch of padding alone makes it nan: leave out batches without words"
    assert math.isclose(padded, math.exp(2.4), rel_tol=1e-4), "a batch without words changes it, and should not"
    return "11.02, however the words are batched."


def _top_k(top_k):
    scores = torch.tensor([[1.0, 3.0, 2.0, 0.0], [5.0, 5.0, 5.0, -1.0]])
    before = scores.clone()
    got = top_k(scores, 2)
    assert torch.equal(scores, before), "the scores that were given have changed: work on a copy"
    assert got.shape == scores.shape, "the shape should stay [n, vocabulary_size]: a word's number is its place"
    kept = got.isfinite().sum(1).tolist()
    assert kept != [4, 4], "all words can still be drawn: those left out need the score -inf"
    assert kept[0] == 2, f"of the first row {kept[0]} words are left, asked were 2: each row has its own k largest"
    assert kept[1] == 2, f"where scores are equal {kept[1]} words are left, not 2: take places, not a comparison"
    assert torch.equal(got[0], torch.tensor([-math.inf, 3.0, 2.0, -math.inf])), (
        "the k largest should keep their scores and their places"
    )
    assert top_k(scores, 9).isfinite().all(), "with a k above the vocabulary's size nothing is to be left out"
    return "Gravel is off the menu."


def _words_until(words_until):
    def step(word, state):
        state = (state or 0) + 1
        return (0 if state == 4 else word + 1), state

    got = words_until(step, 10, 20, 0)
    assert got != [11, 12, 13, 0], "`end` is a signal, and no part of the reply"
    assert 0 not in got, "it went on after the end: stop at once"
    assert len(got) < 20, "it never stops: is the new state handed on to the next call?"
    assert got[:1] != [10], "the word it begins with was said by someone else: it is no part of the reply"
    assert got == [11, 12, 13], f"the reply should be [11, 12, 13], it is {list(got)}: hand on each word and each state"
    short = words_until(step, 10, 2, 0)
    assert short == [11, 12], f"with a limit of 2 the reply should be [11, 12], it is {list(short)}"
    return "It knows when to stop."


CHECKS = {"6.1": _perplexity_of, "6.2": _top_k, "6.3": _words_until}
