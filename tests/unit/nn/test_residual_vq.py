import numpy as np
import torch

from menura.nn.residual_vq import (
    Codebook,
    FactorizedResidualVQ,
    FactorizedVQ,
    ResidualVQ,
    SplitResidualVQ,
)
from tests.unit.nn.random_weights import fill

N_ENTRIES, SIZE, HIDDEN_SIZE = 10, 3, 5


def stack(n_codebooks: int, seed: int) -> ResidualVQ:
    made = ResidualVQ(n_codebooks, N_ENTRIES, SIZE, HIDDEN_SIZE)
    fill(made, seed, scale=1.0)
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if name.endswith("cluster_usage"):
                parameter.abs_().add_(0.5)
    return made


def hidden(n_frames: int) -> torch.Tensor:
    return torch.randn(2, HIDDEN_SIZE, n_frames, generator=torch.Generator().manual_seed(9))


def codebook(sums: list[list[float]], usage: list[float]) -> Codebook:
    made = Codebook(len(usage), len(sums[0]))
    with torch.no_grad():
        made.embedding_sum.copy_(torch.tensor(sums))
        made.cluster_usage.copy_(torch.tensor(usage))
    return made


def test_an_entry_is_its_sum_over_its_usage() -> None:
    made = codebook([[2.0, 4.0], [3.0, 0.0]], [2.0, 3.0])
    assert made.vectors().tolist() == [[1.0, 2.0], [1.0, 0.0]]


def test_an_entry_that_was_hardly_used_is_not_divided_by_zero() -> None:
    made = codebook([[1e-5, 2e-5]], [0.0])
    torch.testing.assert_close(made.vectors(), torch.tensor([[1.0, 2.0]]))


def test_rows_are_the_same_bits_as_the_whole_table() -> None:
    made = stack(1, seed=0).codebooks[0]
    assert isinstance(made, Codebook)
    codes = torch.tensor([[3, 0, 9], [9, 1, 1]])
    assert torch.equal(made.rows(codes), made.vectors()[codes])


def test_the_nearest_entry_is_chosen() -> None:
    made = codebook([[0.0, 0.0], [4.0, 0.0], [0.0, 9.0]], [1.0, 1.0, 3.0])
    x = torch.tensor([[[0.1, 2.0], [3.0, 0.5], [0.0, 0.0]]])
    assert made.nearest(x).tolist() == [[2, 1, 0]]


def test_each_codebook_takes_what_the_ones_before_left_over() -> None:
    made, x = stack(4, seed=1), hidden(6)
    left = made.input_proj(x).transpose(1, 2).detach().double().numpy()
    expected = []
    for book in made.codebooks:
        assert isinstance(book, Codebook)
        entries = book.vectors().detach().double().numpy()
        chosen = ((left[:, :, None] - entries) ** 2).sum(-1).argmin(-1)
        left = left - entries[chosen]
        expected.append(chosen)
    assert np.array_equal(made.encode(x).numpy(), np.stack(expected, axis=1))


def test_decoding_sums_the_entries_and_projects() -> None:
    made = stack(3, seed=2)
    codes = torch.tensor([[[1, 2], [3, 4], [5, 6]]])
    total = sum(
        book.vectors()[codes[0, i]]
        for i, book in enumerate(made.codebooks)
        if isinstance(book, Codebook)
    )
    assert isinstance(total, torch.Tensor)
    expected = made.output_proj.weight[:, :, 0] @ total.T
    torch.testing.assert_close(made.decode(codes)[0], expected)


def test_both_stacks_describe_the_same_vector() -> None:
    semantic, acoustic, x = stack(1, seed=3), stack(3, seed=4), hidden(5)
    split = SplitResidualVQ(semantic, acoustic)
    codes = split.encode(x)
    assert codes.shape == (2, 4, 5)
    assert torch.equal(codes, torch.cat([semantic.encode(x), acoustic.encode(x)], dim=1))
    both = semantic.decode(codes[:, :1]) + acoustic.decode(codes[:, 1:])
    assert torch.equal(split.decode(codes), both)


def factorized(n_codebooks: int) -> FactorizedResidualVQ:
    made = FactorizedResidualVQ(n_codebooks, N_ENTRIES, SIZE, HIDDEN_SIZE)
    fill(made, seed=3, scale=1.0)
    return made


def test_the_code_is_the_entry_of_the_same_direction_whatever_its_length() -> None:
    made = FactorizedVQ(3, 2, 2)
    with torch.no_grad():
        made.in_proj.weight.copy_(torch.eye(2)[:, :, None])
        made.out_proj.weight.copy_(2 * torch.eye(2)[:, :, None])
        for projection, bias in ((made.in_proj, 0.0), (made.out_proj, 1.0)):
            assert projection.bias is not None
            projection.bias.fill_(bias)
        made.codebook.weight.copy_(torch.tensor([[5.0, 5.0], [0.0, 0.1], [1.0, 0.0]]))
    codes, quantized = made.encode(torch.tensor([[[0.2, 3.0, 4.0], [9.0, 0.3, 4.0]]]))
    assert codes.tolist() == [[1, 2, 0]]
    # Its own length comes out, not that of the unit vector.
    torch.testing.assert_close(quantized, torch.tensor([[[1.0, 3.0, 11.0], [1.2, 1.0, 11.0]]]))
    torch.testing.assert_close(made.decode(codes), quantized)


@torch.no_grad()
def test_every_factorized_codebook_describes_what_is_left_over() -> None:
    made, x = factorized(3), hidden(6)
    codes, total = made.encode(x)
    assert codes.shape == (2, 3, 6)
    left_over = x
    for place, quantizer in enumerate(made.quantizers):
        assert isinstance(quantizer, FactorizedVQ)
        projected = quantizer.in_proj(left_over).transpose(1, 2)
        cosine = torch.cosine_similarity(
            projected[:, :, None], quantizer.codebook.weight[None, None], dim=-1
        )
        assert torch.equal(codes[:, place], cosine.argmax(dim=-1))
        left_over = left_over - quantizer.decode(codes[:, place])
    torch.testing.assert_close(x - left_over, total)
    torch.testing.assert_close(made.decode(codes), total)
