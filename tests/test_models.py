"""The networks: padding, directions, states, and what the article's one does."""

import pytest
import torch
from torch import nn

from helpers.batching import Collate
from helpers.models import SimpleRNN, TextClassifier

TEXTS = [[5, 3, 8], [2], [9, 4, 7, 6, 2, 3], [3, 3]]  # not sorted by length
BATCH = Collate()([(text, 0) for text in TEXTS])


@pytest.mark.parametrize("size", [64, 4, 1])
def test_the_state_is_made_for_the_batch_at_hand(size):
    model = SimpleRNN(input_size=10, hidden_size=20, output_size=3)
    output, hidden = model(torch.randn(size, 7, 10), model.init_hidden(size))
    assert output.shape == (size, 3)
    assert hidden.shape == (1, size, 20)
    assert torch.equal(model(torch.ones(size, 7, 10))[0], model(torch.ones(size, 7, 10), model.init_hidden(size))[0])


def test_the_article_s_three_lines_run():
    model = SimpleRNN(input_size=10, hidden_size=20, output_size=1)
    x, hidden = torch.randn(64, 10, 10), torch.zeros(1, 64, 20)
    output, hidden = model(x, hidden)
    nn.MSELoss()(output, torch.randn(64, 1)).backward()
    assert model.rnn.weight_hh_l0.grad.abs().sum() > 0


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_a_state_follows_the_dtype_of_the_input(dtype):
    model = SimpleRNN(3, 4, 2).to(dtype)
    assert model.init_hidden(2).dtype == dtype
    assert model(torch.ones(2, 5, 3, dtype=dtype), torch.zeros(1, 2, 4))[1].dtype == dtype


def test_a_state_follows_the_device_of_the_input():
    model = SimpleRNN(3, 4, 2).to("meta")
    assert model.init_hidden(2).device.type == "meta"
    assert model(torch.ones(2, 5, 3, device="meta"))[0].device.type == "meta"


def test_a_state_of_another_batch_size_is_an_error():
    with pytest.raises(RuntimeError, match=r"Expected hidden"):
        SimpleRNN(3, 4, 2)(torch.ones(2, 5, 3), torch.zeros(1, 3, 4))


def test_the_article_s_network_reads_padding():
    torch.manual_seed(0)
    model, x = SimpleRNN(3, 4, 2), torch.randn(1, 2, 3)
    padded = torch.cat([x, torch.zeros(1, 3, 3)], dim=1)
    assert not torch.allclose(model(x)[0], model(padded)[0], atol=1e-3)


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("pooling", ["last", "max"])
def test_a_text_gives_the_same_alone_and_in_a_batch(cell, bidirectional, pooling):
    torch.manual_seed(0)
    model = TextClassifier(10, 4, cell=cell, bidirectional=bidirectional, pooling=pooling, hidden_size=16).eval()
    alone = torch.cat([model(torch.tensor([text]), torch.tensor([len(text)])) for text in TEXTS])
    torch.testing.assert_close(model(BATCH.tokens, BATCH.lengths), alone, rtol=1e-4, atol=1e-6)


def test_what_stands_in_the_padding_does_not_matter():
    torch.manual_seed(0)
    model = TextClassifier(10, 2, hidden_size=16).eval()
    other = BATCH.tokens.masked_fill(BATCH.tokens == 0, 7)
    torch.testing.assert_close(model(other, BATCH.lengths), model(BATCH.tokens, BATCH.lengths))


@pytest.mark.parametrize("pooling", ["last", "max"])
def test_both_halves_notice_every_token(pooling):
    torch.manual_seed(0)
    size = 16
    model = TextClassifier(10, 2, hidden_size=size, pooling=pooling).eval()
    text = torch.tensor([[1, 2, 3, 4, 5]])
    other = text.clone()
    other[:, :-1] += 1  # all but the last
    before, after = (model.features(tokens, torch.tensor([5])) for tokens in (text, other))
    assert not torch.allclose(before[:, :size], after[:, :size])
    assert not torch.allclose(before[:, size:], after[:, size:])


def test_the_last_state_is_that_of_the_layer_read_over_the_text_alone():
    torch.manual_seed(0)
    model = TextClassifier(10, 2, cell="gru", hidden_size=16, pooling="last").eval()
    _, state = model.rnn(model.embedding(torch.tensor([TEXTS[0]])))
    features = model.features(BATCH.tokens, BATCH.lengths)[0]
    torch.testing.assert_close(features, torch.cat([state[-2, 0], state[-1, 0]]))


def test_forward_returns_logits_that_can_overfit():
    """A softmax before the loss would keep it above ln(1 + 1/e) = 0.3133."""
    torch.manual_seed(0)
    model = TextClassifier(10, 2, hidden_size=16, dropout=0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    labels = torch.tensor([0, 1, 0, 1])
    for _ in range(80):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(BATCH.tokens, BATCH.lengths), labels)
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.05


def test_the_padding_row_stays_zero_in_training():
    model = TextClassifier(10, 2, hidden_size=8)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1, weight_decay=0.1)
    model(BATCH.tokens, BATCH.lengths).sum().backward()
    optimizer.step()
    assert (model.embedding.weight[0] == 0).all()


@pytest.mark.parametrize("wrong", [{"cell": "transformer"}, {"pooling": "mean"}])
def test_an_unknown_cell_or_pooling_is_refused(wrong):
    with pytest.raises(ValueError, match="must be one of rnn, gru, lstm"):
        TextClassifier(10, 2, **wrong)
