"""Word models: the same loss by every way, perplexity as defined, batches that lose no word."""

import itertools
import math

import pytest
import torch

from helpers.batching import IGNORED, Buckets
from helpers.corpora import DATA, Dialogue, read_dialogues
from helpers.generation import reply, reply_from_prefix, sample
from helpers.language import WordModel, detach, evaluate_words, perplexity
from helpers.sequences import encode_exchanges, exchange_batches, exchange_texts, stream_batches
from helpers.text import Vocabulary

DIALOGUES = read_dialogues(DATA / "dialogues.txt").examples[:20]
TEXTS = exchange_texts(DIALOGUES)
VOCABULARY = Vocabulary.build(part for text in TEXTS for part in text)
EXCHANGES = encode_exchanges(TEXTS, VOCABULARY)
CELLS = pytest.mark.parametrize("cell", ["rnn", "fast rnn", "gru", "lstm"])
SOFTMAXES = pytest.mark.parametrize("softmax", ["full", "adaptive"])


def model(seed=0, **options):
    torch.manual_seed(seed)
    return WordModel(len(VOCABULARY), embedding_size=8, hidden_size=16, **options)


def test_perplexity_is_weighted_by_tokens():
    assert perplexity(180.0 + 60.0, 90 + 10) == pytest.approx(11.0232, rel=1e-4)  # and not 54.60, nor 205.41
    assert perplexity(0.1 + 0.2 + 0.1 + 0.3 + 0.5 + 0.1 + 0.4 + 0.2, 8) == pytest.approx(1.26807, abs=1e-4)
    with pytest.raises(ValueError, match="at least one token"):
        perplexity(0.0, 0)


@SOFTMAXES
def test_the_perplexity_of_a_set_does_not_depend_on_its_batches_or_their_padding(softmax):
    word_model = model(softmax=softmax)
    values = [
        evaluate_words(word_model, exchange_batches(EXCHANGES, size, buckets=buckets, shuffle=False))
        for size, buckets in ((1, True), (7, True), (32, False))
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-5) == pytest.approx(values[2], rel=1e-5)


def test_evaluation_switches_nothing_and_skips_a_batch_without_a_target():
    word_model = model().train()
    (batch, *_) = exchange_batches(EXCHANGES, 4, buckets=True, shuffle=False)
    empty = batch._replace(targets=torch.full_like(batch.targets, IGNORED))
    assert evaluate_words(word_model, [batch]) == evaluate_words(word_model, [empty, batch])
    assert word_model.training


@CELLS
@SOFTMAXES
def test_log_probabilities_sum_to_one_and_the_loss_and_the_prediction_agree_with_them(cell, softmax):
    word_model = model(cell=cell, softmax=softmax)
    (batch, *_) = exchange_batches(EXCHANGES, 4, buckets=True, shuffle=False)
    hidden, _ = word_model(batch.tokens)
    log_probabilities = word_model.log_probabilities(hidden.flatten(0, 1))
    torch.testing.assert_close(log_probabilities.exp().sum(1), torch.ones(len(log_probabilities)))
    assert torch.equal(word_model.predict(hidden.flatten(0, 1)), log_probabilities.argmax(1))
    real = batch.targets.flatten() != IGNORED
    by_hand = -log_probabilities[real].gather(1, batch.targets.flatten()[real].unsqueeze(1)).mean()
    torch.testing.assert_close(word_model.loss(hidden, batch.targets), by_hand)


def test_scores_computed_everywhere_give_the_same_loss_and_gradients():
    word_model = model()
    (batch, *_) = exchange_batches(EXCHANGES, 8, buckets=False, shuffle=False)
    results = []
    for everywhere in (True, False):
        loss = word_model.loss(word_model(batch.tokens)[0], batch.targets, everywhere=everywhere)
        results.append((loss, *torch.autograd.grad(loss, list(word_model.parameters()))))
    torch.testing.assert_close(*results)


@pytest.mark.parametrize("cell", ["rnn", "lstm"])
def test_a_detached_state_ends_the_backward_pass(cell):
    word_model, state = model(cell=cell), None
    for batch in stream_batches(torch.arange(60) % 20, 2, 5):
        hidden, state = word_model(batch.tokens, detach(state))
        word_model.loss(hidden, batch.targets).backward()
    assert detach(None) is None
    cut = detach(state)
    assert type(cut) is type(state)
    assert not any(part.requires_grad for part in (cut if isinstance(cut, tuple) else (cut,)))


def test_a_stream_is_cut_without_losing_or_repeating_a_target():
    batches = stream_batches(range(103), batch_size=4, length=6)
    rows = torch.cat([batch.targets for batch in batches], dim=1)  # [4, 24]
    assert rows.tolist() == [list(range(begin + 1, begin + 25)) for begin in (0, 25, 50, 75)]
    for batch in batches:
        assert torch.equal(batch.targets - 1, batch.tokens)
    assert [batch.tokens.size(1) for batch in batches] == [6, 6, 6, 6]


def test_a_carried_state_makes_the_cut_invisible():
    word_model, words = model(), torch.arange(90) % 20
    whole = evaluate_words(word_model, stream_batches(words, 2, 100), carry=True)
    assert evaluate_words(word_model, stream_batches(words, 2, 7), carry=True) == pytest.approx(whole, rel=1e-5)


def test_a_stream_too_short_for_its_rows_is_refused():
    with pytest.raises(ValueError, match="7 words are too few for 4 rows"):
        stream_batches(range(7), 4, 5)


@pytest.mark.parametrize("buckets", [True, False])
def test_the_targets_are_the_words_of_the_replies_and_their_ends(buckets):
    (batch, *_) = exchange_batches(EXCHANGES, 4, buckets=buckets, shuffle=False)
    if not buckets:
        for tokens, targets, (numbers, begin) in zip(batch.tokens, batch.targets, EXCHANGES, strict=False):
            assert targets[targets != IGNORED].tolist() == numbers[begin:].tolist()
            assert tokens[begin - 1] == VOCABULARY.encode(["<eos>"])[0]
    words = sum(len(numbers) - begin for numbers, begin in EXCHANGES)
    loader = exchange_batches(EXCHANGES, 4, buckets=buckets)
    assert sum(int((batch.targets != IGNORED).sum()) for batch in loader) == words


def test_an_exchange_longer_than_the_limit_is_cut_and_one_whose_utterance_fills_it_is_left_out():
    long = Dialogue(1, (), (), (("a " * 4, "b " * 9), ("a " * 30, "b")))
    texts = exchange_texts([long])
    vocabulary = Vocabulary.build(part for text in texts for part in text)
    (batch,) = exchange_batches(encode_exchanges(texts, vocabulary), 2, buckets=False, length=10, shuffle=False)
    assert batch.tokens.shape == (1, 10)
    assert (batch.targets != IGNORED).sum(1).tolist() == [6]


def test_buckets_hold_every_example_once_and_examples_of_like_length():
    lengths = [3, 9, 3, 4, 9, 8, 4, 3, 1]
    torch.manual_seed(0)
    sampler = Buckets(lengths, 2)
    first, second = list(sampler), list(sampler)
    assert sorted(place for batch in first for place in batch) == list(range(9))
    assert len(first) == len(sampler) == 5
    assert first != second
    spans = sorted((min(lengths[i] for i in batch), max(lengths[i] for i in batch)) for batch in first)
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))
    torch.manual_seed(0)
    assert list(Buckets(lengths, 2)) == first


def test_buckets_refuse_a_batch_size_of_nothing():
    with pytest.raises(ValueError, match="batch_size must be 1 or more"):
        Buckets([1, 2], 0)


@CELLS
@SOFTMAXES
def test_a_reply_with_the_state_carried_says_the_same_words(cell, softmax):
    word_model = model(cell=cell, softmax=softmax).eval()
    prompt = EXCHANGES[0].numbers[:6]
    assert reply(word_model, prompt, 12) == reply_from_prefix(word_model, prompt, 12)


def test_a_reply_ends_after_its_end_word():
    word_model, prompt = model().eval(), EXCHANGES[0].numbers[:6]
    words = reply(word_model, prompt, 12)
    assert reply(word_model, prompt, 12, end=words[2]) == words[: words.index(words[2]) + 1]


def test_sampling_at_temperature_zero_or_close_to_it_takes_the_best_word():
    scores = torch.tensor([[1.0, 3.0, 2.0]])
    assert sample(scores, temperature=0).item() == 1 == sample(scores, temperature=1e-4).item()
    assert sample(scores, temperature=1e-300).item() == 1


def test_sampling_follows_the_softmax_of_the_scores_over_the_temperature():
    generator = torch.Generator().manual_seed(0)
    scores = torch.tensor([[0.0, math.log(4.0)]]).expand(20_000, 2)
    for temperature, share in ((1.0, 0.8), (2.0, 2 / 3), (0.5, 16 / 17)):
        drawn = sample(scores, temperature, generator).double().mean().item()
        assert drawn == pytest.approx(share, abs=0.015)


@pytest.mark.parametrize("temperature", [-1, math.nan])
def test_sampling_refuses_a_temperature_that_is_none(temperature):
    with pytest.raises(ValueError, match="temperature must be 0 or more"):
        sample(torch.zeros(1, 3), temperature)


def test_sampling_never_draws_a_banned_word_and_refuses_where_all_are():
    scores = torch.tensor([[0.0, -torch.inf, 0.0]]).expand(500, 3)
    assert 1 not in sample(scores, 5.0)
    with pytest.raises(ValueError, match="no word to draw from"):
        sample(torch.full((1, 3), -torch.inf))
