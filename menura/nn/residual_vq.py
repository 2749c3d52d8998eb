"""Residual vector quantisation: a vector as a sum of rows, one row from each of several codebooks.

Each codebook quantises what the ones before it left over. A row is kept as it was trained: the sum
of the vectors that chose it, and how often it was chosen (a moving average of both); the row is
their quotient. A split quantiser has two such stacks, and both describe the same vector.
A factorised quantiser instead keeps plain entries, chosen by their direction, and each codebook
has projections of its own.

Source: Zeghidour et al. 2021 (SoundStream); Défossez et al. 2024 (Moshi) for the split; Kumar et
al. 2023 (DAC) for the factorised one.
Legend: B rows, Q codebooks, V entries of a codebook, D size of an entry, H hidden size, T frames.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

LEAST_USAGE = 1e-5


class Codebook(nn.Module):
    """V vectors of size D, held as the sums [V, D] and the usage [V] of their training."""

    def __init__(self, n_entries: int, size: int) -> None:
        super().__init__()
        self.embedding_sum = nn.Parameter(torch.empty(n_entries, size))
        self.cluster_usage = nn.Parameter(torch.empty(n_entries))

    def vectors(self) -> Tensor:
        """Every entry [V, D]."""
        return self.embedding_sum / self.cluster_usage.clamp(min=LEAST_USAGE)[:, None]

    def rows(self, codes: Tensor) -> Tensor:
        """The entries [B, T, D] of these codes [B, T]; only they are divided."""
        usage = self.cluster_usage[codes].clamp(min=LEAST_USAGE)
        return F.embedding(codes, self.embedding_sum) / usage[..., None]

    def nearest(self, x: Tensor) -> Tensor:
        """The code int64 [B, T] of the entry nearest to each x [B, T, D], in float32."""
        distances = torch.cdist(x.reshape(1, -1, x.shape[-1]).float(), self.vectors()[None].float())
        return distances[0].argmin(dim=-1).view(x.shape[:-1])


class ResidualVQ(nn.Module):
    """Q codebooks in a row, between two projections: hidden size H outside, entry size D inside."""

    def __init__(self, n_codebooks: int, n_entries: int, size: int, hidden_size: int) -> None:
        super().__init__()
        self.input_proj = nn.Conv1d(hidden_size, size, 1, bias=False)
        self.output_proj = nn.Conv1d(size, hidden_size, 1, bias=False)
        self.codebooks = nn.ModuleList(Codebook(n_entries, size) for _ in range(n_codebooks))

    def encode(self, x: Tensor) -> Tensor:
        """The codes int64 [B, Q, T] of hidden vectors x [B, H, T]."""
        left_over = self.input_proj(x).transpose(1, 2)
        codes = []
        for codebook in self.codebooks:
            assert isinstance(codebook, Codebook)
            chosen = codebook.nearest(left_over)
            left_over = left_over - codebook.rows(chosen)
            codes.append(chosen)
        return torch.stack(codes, dim=1)

    def decode(self, codes: Tensor) -> Tensor:
        """The hidden vectors [B, H, T] of codes [B, Q, T]."""
        total = torch.zeros((), device=codes.device, dtype=self.output_proj.weight.dtype)
        for codebook, chosen in zip(self.codebooks, codes.unbind(1), strict=True):
            assert isinstance(codebook, Codebook)
            total = total + codebook.rows(chosen)
        out: Tensor = self.output_proj(total.transpose(1, 2))
        return out


class SplitResidualVQ(nn.Module):
    """Two stacks: the semantic codebooks carry the words, the acoustic ones the rest."""

    def __init__(self, semantic: ResidualVQ, acoustic: ResidualVQ) -> None:
        super().__init__()
        self.semantic = semantic
        self.acoustic = acoustic

    def encode(self, x: Tensor) -> Tensor:
        """The codes int64 [B, Q, T] of hidden vectors x [B, H, T]; both stacks start from x."""
        return torch.cat([self.semantic.encode(x), self.acoustic.encode(x)], dim=1)

    def decode(self, codes: Tensor) -> Tensor:
        """The hidden vectors [B, H, T] of codes [B, Q, T]: the sum of both stacks."""
        n_semantic = len(self.semantic.codebooks)
        semantic = self.semantic.decode(codes[:, :n_semantic])
        return semantic + self.acoustic.decode(codes[:, n_semantic:])


class FactorizedVQ(nn.Module):
    """One codebook of small unit vectors: the code is the entry that points most like the input.

    The input of size H is projected to the entries' size D, and an entry back to H. Only the choice
    uses directions; what is projected back is the entry as it is, with its length.
    """

    def __init__(self, n_entries: int, size: int, hidden_size: int) -> None:
        super().__init__()
        self.in_proj = nn.Conv1d(hidden_size, size, 1)
        self.out_proj = nn.Conv1d(size, hidden_size, 1)
        self.codebook = nn.Embedding(n_entries, size)

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The codes int64 [B, T] of x [B, H, T], and what they stand for [B, H, T]."""
        projected = self.in_proj(x)
        codes = self._nearest(projected.transpose(1, 2))
        chosen = self.codebook(codes).transpose(1, 2)
        # The bridge over which training sends its gradients: the entry, rounded once more.
        bridged = projected + (chosen - projected)
        return codes, self.out_proj(bridged)

    def decode(self, codes: Tensor) -> Tensor:
        """The hidden vectors [B, H, T] of codes [B, T]."""
        out: Tensor = self.out_proj(self.codebook(codes).transpose(1, 2))
        return out

    def _nearest(self, x: Tensor) -> Tensor:
        """The codes int64 [B, T] of the entries with the largest cosine to x [B, T, D].

        Between unit vectors that is the smallest distance, and models compare distances.
        """
        directions = F.normalize(x.flatten(0, 1))
        entries = F.normalize(self.codebook.weight)
        distances = (
            directions.pow(2).sum(1, keepdim=True)
            - 2 * directions @ entries.t()
            + entries.pow(2).sum(1, keepdim=True).t()
        )
        return (-distances).argmax(dim=1).view(x.shape[:-1])


class FactorizedResidualVQ(nn.Module):
    """Q factorised codebooks in a row, all of the same sizes."""

    def __init__(self, n_codebooks: int, n_entries: int, size: int, hidden_size: int) -> None:
        super().__init__()
        self.quantizers = nn.ModuleList(
            FactorizedVQ(n_entries, size, hidden_size) for _ in range(n_codebooks)
        )

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The codes int64 [B, Q, T] of x [B, H, T], and the sum that they stand for [B, H, T]."""
        left_over, total = x, torch.zeros((), device=x.device, dtype=x.dtype)
        codes = []
        for quantizer in self.quantizers:
            assert isinstance(quantizer, FactorizedVQ)
            chosen, quantized = quantizer.encode(left_over)
            left_over = left_over - quantized
            total = total + quantized
            codes.append(chosen)
        return torch.stack(codes, dim=1), total

    def decode(self, codes: Tensor) -> Tensor:
        """The hidden vectors [B, H, T] of codes [B, Q, T]."""
        total = torch.zeros((), device=codes.device)
        for quantizer, chosen in zip(self.quantizers, codes.unbind(1), strict=True):
            assert isinstance(quantizer, FactorizedVQ)
            total = total + quantizer.decode(chosen)
        return total
