"""Padding, lengths and labels."""

import pickle

import pytest
import torch
from torch.utils.data import DataLoader

from helpers.batching import Collate, batches, encode, lengths_to_mask
from helpers.corpora import Headline
from helpers.text import Vocabulary

PAIRS = [([5, 6], 1), ([7, 8, 9, 4], 0), ([3], 1)]


def test_texts_are_padded_at_the_end_and_keep_their_lengths_and_labels():
    batch = Collate()(PAIRS)
    assert batch.tokens.tolist() == [[5, 6, 0, 0], [7, 8, 9, 4], [3, 0, 0, 0]]
    assert batch.lengths.tolist() == [2, 4, 1]
    assert batch.labels.tolist() == [1, 0, 1]
    assert batch.tokens.dtype == batch.lengths.dtype == batch.labels.dtype == torch.int64


def test_labels_are_int64_whatever_kind_of_number_they_were():
    import numpy as np

    assert Collate()([([1], np.int32(1)), ([2], 2)]).labels.dtype == torch.int64


def test_cutting_a_text_cuts_its_length():
    batch = Collate(max_length=3)(PAIRS)
    assert batch.tokens.shape == (3, 3)
    assert int(batch.lengths.max()) == 3


def test_a_text_without_tokens_is_refused_by_its_place():
    with pytest.raises(ValueError, match="example 1 of the batch"):
        Collate()([([1], 0), ([], 1)])


def test_the_last_batch_is_smaller_and_nothing_is_left_out():
    sizes = [len(batch.labels) for batch in batches([([1, 2], 0)] * 2500, 64)]
    assert sizes[-1] == 2500 % 64 == 4
    assert sum(sizes) == 2500


def test_the_order_follows_the_seed():
    examples = [([number], 0) for number in range(1, 50)]

    def order(seed):
        torch.manual_seed(seed)
        return [batch.tokens.tolist() for batch in batches(examples, 8, shuffle=True)]

    assert order(1) == order(1) != order(2)


def test_the_mask_is_made_from_lengths():
    assert lengths_to_mask(torch.tensor([3, 1]), 4).tolist() == [[True] * 3 + [False], [True] + [False] * 3]


def test_a_real_token_numbered_zero_is_not_masked():
    batch = Collate()([([0, 5, 0], 1), ([4], 0)])
    assert lengths_to_mask(batch.lengths, 3).sum() == 4


@pytest.mark.parametrize("start", ["spawn", "forkserver"])
def test_workers_that_inherit_nothing_can_make_batches(start):
    loader = DataLoader(
        PAIRS, batch_size=3, collate_fn=Collate(), num_workers=1, multiprocessing_context=start, timeout=60
    )
    (batch,) = loader
    assert batch.lengths.tolist() == [2, 4, 1]


def test_what_makes_batches_can_be_pickled():
    assert pickle.loads(pickle.dumps(Collate(7))) == Collate(7)  # noqa: S301


def test_examples_become_numbers_on_the_cpu():
    vocabulary = Vocabulary.build([["good", "news"]])
    encoded = encode([Headline("Good day", "positive", 1)], vocabulary, ["negative", "positive"])
    assert encoded == [([2, 1], 1)]


def test_a_label_that_is_not_known_is_named_with_its_line():
    with pytest.raises(ValueError, match="line 7: label 'mixed' is none of negative, positive"):
        encode([Headline("So so", "mixed", 7)], Vocabulary.build([]), ["negative", "positive"])
