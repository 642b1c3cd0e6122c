"""The code that several notebooks of Fast RNNs in PyTorch share."""
