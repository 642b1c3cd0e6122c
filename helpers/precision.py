"""Mixed precision: the type that fits a device, and one optimizer step in the right order."""

from collections.abc import Iterable
from pathlib import Path

import torch
from torch import Tensor, nn


def autocast_dtype(device: torch.device | str) -> torch.dtype:
    """Return the type for `torch.autocast` on `device`: bfloat16, or float16 on a CUDA device without bf16 units.

    `torch.cuda.is_bf16_supported()` counts emulation, which is slow
    (https://github.com/pytorch/pytorch/issues/148322), so the units themselves are asked for.
    """
    device = torch.device(device)
    if device.type == "cuda" and torch.cuda.get_device_capability(device) < (8, 0):
        return torch.float16
    return torch.float16 if device.type == "mps" else torch.bfloat16


def bf16_units() -> bool | None:
    """Return whether this CPU multiplies bfloat16 in hardware; None where the system does not tell."""
    try:
        words = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    except OSError:
        return None
    return bool({"avx512_bf16", "amx_bf16", "bf16"} & set(words))


def optimizer_step(
    loss: Tensor,
    optimizer: torch.optim.Optimizer,
    parameters: Iterable[nn.Parameter],
    *,
    clip: float | None = 1.0,
    scaler: torch.amp.GradScaler | None = None,
) -> Tensor | None:
    """Backward, clip, step; return the gradient's norm before clipping, or None where nothing clips.

    With a scaler (float16) the order is scale, backward, unscale, clip, step, update: clipping scaled gradients would
    shrink the step by the scale (https://github.com/pytorch/examples/issues/1196). A step whose gradients are not
    finite is left out by the scaler.
    """
    norm = None
    if scaler is None:
        loss.backward()
        if clip is not None:
            norm = nn.utils.clip_grad_norm_(parameters, clip)
        optimizer.step()
        return norm
    scaler.scale(loss).backward()
    if clip is not None:
        scaler.unscale_(optimizer)
        norm = nn.utils.clip_grad_norm_(parameters, clip)
    scaler.step(optimizer)
    scaler.update()
    return norm
