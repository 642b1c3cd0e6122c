"""Recurrent networks: the article's, and one that reads padded text rightly."""

from typing import Literal

import torch
from torch import Tensor, nn

from helpers.batching import PADDING, lengths_to_mask

CELLS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


class SimpleRNN(nn.Module):
    """The source article's network: one nn.RNN layer and a linear layer on the last time step.

    It knows no lengths: in a padded batch the last step of a short sequence is padding.
    """

    def __init__(self, input_size: int, hidden_size: int, output_size: int) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.rnn = nn.RNN(input_size, hidden_size, batch_first=True)
        self.fc = nn.Linear(hidden_size, output_size)

    def forward(self, x: Tensor, hidden: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the output [batch, output_size] and the new state [1, batch, hidden_size].

        `x` is [batch, time, input_size]. Without `hidden` the state starts at zero, for as many sequences as `x`
        has; a given one is taken to the device and dtype of `x`.
        """
        hidden = x.new_zeros(1, x.size(0), self.hidden_size) if hidden is None else hidden.to(x)
        out, hidden = self.rnn(x, hidden)  # out: [batch, time, hidden_size]
        return self.fc(out[:, -1, :]), hidden

    def init_hidden(self, batch_size: int) -> Tensor:
        """Return a state of zeros [1, batch_size, hidden_size], on the device and in the dtype of the weights."""
        return self.fc.weight.new_zeros(1, batch_size, self.hidden_size)


class TextClassifier(nn.Module):
    """Embedding, one recurrent layer, pooling over real tokens, linear layer.

    Padding changes nothing: a text alone and in a batch gives the same logits, for each cell and in both
    directions. Pooling "last" takes the state after the last real token (and after the first, read backwards);
    "max" the largest value of each feature over the real tokens. Both directions need packing, which is slow; in one
    direction padding comes after all that counts, so the layer runs over the rectangle and padding is left unread.
    """

    def __init__(
        self,
        vocabulary_size: int,
        classes: int,
        *,
        cell: Literal["rnn", "gru", "lstm"] = "lstm",
        embedding_size: int = 128,
        hidden_size: int = 128,
        bidirectional: bool = True,
        pooling: Literal["last", "max"] = "max",
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        if cell not in CELLS or pooling not in ("last", "max"):
            raise ValueError(f"cell must be one of {', '.join(CELLS)} and pooling last or max: got {cell}, {pooling}")
        self.pooling = pooling
        self.embedding = nn.Embedding(vocabulary_size, embedding_size, padding_idx=PADDING)
        self.rnn = CELLS[cell](embedding_size, hidden_size, batch_first=True, bidirectional=bidirectional)
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(hidden_size * (1 + bidirectional), classes)

    def features(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Return [batch, hidden_size × directions] for `tokens` [batch, time] and `lengths` [batch] on the CPU."""
        embedded = self.dropout(self.embedding(tokens))  # [batch, time, embedding_size]
        if not self.rnn.bidirectional:
            out, _ = self.rnn(embedded)  # [batch, time, hidden_size]
            lengths = lengths.to(out.device)
            if self.pooling == "last":
                return out[torch.arange(len(out), device=out.device), lengths - 1]
            return out.masked_fill(~lengths_to_mask(lengths, out.size(1)).unsqueeze(2), -torch.inf).amax(1)
        packed = nn.utils.rnn.pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        out, state = self.rnn(packed)
        if self.pooling == "last":
            hidden = state[0] if isinstance(state, tuple) else state  # [directions, batch, hidden_size]
            return hidden.transpose(0, 1).flatten(1)
        out, _ = nn.utils.rnn.pad_packed_sequence(out, batch_first=True, padding_value=-torch.inf)
        return out.amax(1)  # [batch, time, hidden_size × directions], padding below everything

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Return logits [batch, classes]; softmax is the loss's business."""
        return self.fc(self.dropout(self.features(tokens, lengths)))
