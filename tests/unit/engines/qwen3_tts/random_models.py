"""The two parts that make codes, with few channels, few codebooks and random weights."""

from menura.engines.qwen3_tts.code_predictor import CodePredictor
from menura.engines.qwen3_tts.config import CodePredictorConfig, TalkerConfig, TransformerConfig
from menura.engines.qwen3_tts.generate import Models
from menura.engines.qwen3_tts.talker import Talker
from tests.unit.nn.random_weights import fill

N_CODEBOOKS = 4
CODEBOOK_SIZE = 12
CODEC_VOCAB_SIZE = 20
EOS_ID = 14
TALKER_SIZE = 16


def talker_config(predictor_size: int = 8) -> TalkerConfig:
    """A talker of 12 codes and 8 control ids."""
    predictor = CodePredictorConfig(
        TransformerConfig(predictor_size, 16, 1, 2, 1, 8, 1e-6, 1e6), CODEBOOK_SIZE, N_CODEBOOKS
    )
    return TalkerConfig(
        transformer=TransformerConfig(TALKER_SIZE, 24, 2, 4, 2, 8, 1e-6, 1e6),
        code_predictor=predictor,
        text_hidden_size=10,
        text_vocab_size=30,
        codec_vocab_size=CODEC_VOCAB_SIZE,
        n_codebooks=N_CODEBOOKS,
        pad_id=12,
        bos_id=13,
        eos_id=EOS_ID,
        think_id=15,
        nothink_id=16,
        think_bos_id=17,
        think_eos_id=18,
        language_ids={"english": 19},
        speaker_ids={},
        speaker_dialects={},
    )


def random_models(seed: int = 0, predictor_size: int = 8) -> Models:
    """A talker and a code predictor that fit together."""
    config = talker_config(predictor_size)
    talker = Talker(config)
    predictor = CodePredictor(config.code_predictor, config.transformer.hidden_size)
    fill(talker, seed)
    fill(predictor, seed + 1)
    return Models(talker, predictor)
