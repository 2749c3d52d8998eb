"""Random weights for modules that come without any."""

import torch
from torch import nn


def fill(module: nn.Module, seed: int = 0, scale: float = 0.3) -> None:
    """Draw every parameter from a normal distribution; norms and scales around one."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in module.named_parameters():
        with torch.no_grad():
            parameter.normal_(0, scale, generator=generator)
            if "norm" in name:
                parameter.add_(1)
