import pytest
import torch
from torch import Tensor, nn

from menura.engines.qwen3_tts.code_predictor import CodePredictor
from menura.runtime.sampling import Sampling, draw
from menura.runtime.torch_noise import TorchNoise
from tests.unit.engines.qwen3_tts.random_models import (
    CODEBOOK_SIZE,
    N_CODEBOOKS,
    TALKER_SIZE,
    random_models,
)

SAMPLING = Sampling(temperature=0.9, top_k=5)


def states(seed: int) -> Tensor:
    return torch.randn(1, 1, TALKER_SIZE, generator=torch.Generator().manual_seed(seed))


def codes_of(predictor: CodePredictor, seed: int) -> list[int]:
    drawn = predictor.predict(states(1), states(2), SAMPLING, TorchNoise(seed))
    return [int(choice.code) for choice in drawn]


def again_without_a_cache(predictor: CodePredictor, seed: int) -> list[int]:
    """Every code from a whole forward pass over all the inputs so far."""
    noise = TorchNoise(seed)
    inputs = torch.cat((states(1), states(2)), dim=1)
    codes = []
    for codebook in range(1, N_CODEBOOKS):
        positions = torch.arange(inputs.shape[1])[None]
        hidden = predictor.transformer(predictor.projection(inputs), positions)
        scores = predictor.heads[codebook - 1](hidden[0, -1])
        codes.append(draw(scores, SAMPLING, noise, "x").code)
        following = predictor.embed(codebook, codes[-1])[None, None]
        inputs = torch.cat((inputs, following), dim=1)
    return [int(code) for code in codes]


@pytest.mark.parametrize("predictor_size", [8, TALKER_SIZE])
def test_codes_follow_from_all_the_codes_before(predictor_size: int) -> None:
    predictor = random_models(predictor_size=predictor_size).code_predictor
    rounds = [codes_of(predictor, seed) for seed in range(20)]
    assert rounds == [again_without_a_cache(predictor, seed) for seed in range(20)]
    assert {len(codes) for codes in rounds} == {N_CODEBOOKS - 1}
    assert len({tuple(codes) for codes in rounds}) > 5


def test_a_projection_exists_only_between_different_widths() -> None:
    narrow = random_models(predictor_size=8).code_predictor.projection
    equal = random_models(predictor_size=TALKER_SIZE).code_predictor.projection
    assert isinstance(narrow, nn.Linear)
    assert not list(equal.parameters())


def test_every_codebook_has_its_own_embedding_of_the_talkers_width() -> None:
    predictor = random_models().code_predictor
    rows = [predictor.embed(codebook, torch.tensor([3, 0])) for codebook in (1, 2, 3)]
    assert [row.shape for row in rows] == [(2, TALKER_SIZE)] * 3
    for number, row in enumerate(rows):
        assert torch.equal(row[0], predictor.get_parameter(f"embeddings.{number}.weight")[3])


def test_each_draw_takes_one_vector_of_noise() -> None:
    noise, reference = TorchNoise(1), TorchNoise(1)
    random_models().code_predictor.predict(states(1), states(2), SAMPLING, noise)
    for _ in range(N_CODEBOOKS - 1):
        reference.draw("x", (CODEBOOK_SIZE,))
    assert torch.equal(noise.draw("x", (3,)), reference.draw("x", (3,)))
