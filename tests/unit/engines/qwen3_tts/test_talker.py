import torch

from tests.unit.engines.qwen3_tts.random_models import (
    CODEC_VOCAB_SIZE,
    TALKER_SIZE,
    random_models,
)

TALKER = random_models().talker


def test_text_goes_through_the_projection() -> None:
    ids = torch.tensor([3, 29, 3])
    rows = TALKER.embed_text(ids)
    projection = TALKER.text_projection
    inner = torch.nn.functional.silu(projection.inner(TALKER.text_embedding.weight[29]))
    assert rows.shape == (3, TALKER_SIZE)
    assert torch.equal(rows[0], rows[2])
    assert torch.allclose(rows[1], projection.outer(inner), atol=1e-6)


def test_codes_and_control_ids_share_one_embedding() -> None:
    codes = torch.tensor([0, CODEC_VOCAB_SIZE - 1])
    assert torch.equal(TALKER.embed_code(codes), TALKER.codec_embedding.weight[[0, -1]])


def test_scores_of_a_position_do_not_know_later_inputs() -> None:
    inputs = torch.randn(1, 6, TALKER_SIZE, generator=torch.Generator().manual_seed(0))
    inputs.requires_grad_()
    scores = TALKER.codec_head(TALKER(inputs, torch.arange(6)[None]))
    assert scores.shape == (1, 6, CODEC_VOCAB_SIZE)
    [gradient] = torch.autograd.grad(scores[0, 2].square().sum(), inputs)
    assert gradient[0, 3:].abs().max() == 0
    assert (gradient[0, :3].abs().amax(dim=-1) > 0).all()


def test_padding_on_the_left_behind_a_mask_changes_nothing() -> None:
    inputs = torch.randn(1, 4, TALKER_SIZE, generator=torch.Generator().manual_seed(0))
    padded = torch.cat((torch.zeros(1, 2, TALKER_SIZE), inputs), dim=1)
    positions = torch.tensor([[1, 1, 0, 1, 2, 3]])
    mask = torch.ones(6, 6, dtype=torch.bool).tril()
    mask[:, :2] = False
    mask[:2, :2] = torch.eye(2, dtype=torch.bool)
    alone = TALKER(inputs, torch.arange(4)[None])
    beside = TALKER(padded, positions, mask=mask[None, None])
    assert torch.allclose(beside[:, 2:], alone, atol=1e-5)
