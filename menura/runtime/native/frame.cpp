// One frame of several rows in one call: the predictor draws each row's codes 1 to Q - 1, one after
// another, then the talker hears the frame and the next text row and draws the next first code.
//
// All threads walk through the same steps. Matrices and heads are shared out among them, and so
// are the rows where each row has its own work (drawing, embedding). How many threads there are may
// change from step to step; no number depends on it.
//
// The twin of menura/engines/qwen3_tts/generate.py, whose order of draws it keeps.
#include <algorithm>
#include <cstring>

#include "bf16.h"
#include "lm.h"

namespace menura {

int LanguageModel::frame(int n_rows, menura_row* rows) {
    if (!pool_->is_of_this_process()) {
        return MENURA_FORKED;
    }
    Frame frame = begin(n_rows, rows);
    Pool::Turn turn(*pool_);
    TimedPass pass(paces_[static_cast<size_t>(n_rows) - 1], !pool_->is_lent());
    // Each step takes the threads that are free when it begins: the codec may have one of them.
    const auto step = [&](const auto& task) {
        if (pool_->is_lent()) {
            pass.disregard();
        }
        run(turn, task, pass.is_alone() ? 1 : pool_->n_free());
    };
    step([&](Worker& worker, int) { show_first(worker, frame); });
    for (int codebook = 1; codebook < model_.n_codebooks; ++codebook) {
        step([&](Worker& worker, int thread) {
            predict(worker, frame, codebook, draws_[static_cast<size_t>(thread)]);
        });
    }
    step([&](Worker& worker, int thread) {
        listen(worker, frame, draws_[static_cast<size_t>(thread)]);
    });
    for (int i = 0; i < n_rows; ++i) {
        slot(rows[i].slot).n_positions = rows[i].position + 1;
    }
    return MENURA_OK;
}

LanguageModel::Frame LanguageModel::begin(int n_rows, menura_row* rows) {
    Frame frame = {n_rows, rows, {}, {}};
    for (int i = 0; i < n_rows; ++i) {
        Cache& utterance = slot(rows[i].slot);
        utterance.reserve(rows[i].position + 1);
        reserve_positions(rows[i].position + 1);
        frame.talker_tokens[i] = {&utterance, rows[i].position};
        Cache& codes = frames_[static_cast<size_t>(i)];
        codes.reserve(model_.n_codebooks);
        frame.predictor_tokens[2 * i] = {&codes, 0};
        frame.predictor_tokens[2 * i + 1] = {&codes, 1};
    }
    return frame;
}

// The predictor's first two tokens a row: the talker's state, and the first code.
void LanguageModel::show_first(Worker& worker, const Frame& frame) {
    const int64_t size = model_.talker.hidden;
    const Worker::Share share = worker.share(frame.n_rows, 1);
    for (int i = share.first; i < share.last; ++i) {
        menura_row& row = frame.rows[i];
        float* sum = sums_.get() + i * size;
        float* pair = shown() + 2 * i * size;
        row.codes[0] = row.first;
        embed(0, row.first, sum);
        std::memcpy(pair, row.hidden, size * sizeof *pair);
        std::memcpy(pair + size, sum, size * sizeof *pair);
    }
    worker.barrier();
}

void LanguageModel::predict(Worker& worker, Frame& frame, int codebook, DrawScratch& scratch) {
    const int64_t hidden = model_.predictor.hidden;
    const int per_row = codebook == 1 ? 2 : 1;
    const int n_tokens = per_row * frame.n_rows;
    Token later[MAX_ROWS];
    for (int i = 0; i < frame.n_rows; ++i) {
        later[i] = {frame.predictor_tokens[2 * i].cache, codebook};
    }
    project(worker, n_tokens);
    predictor_.run(worker, *space_, codebook == 1 ? frame.predictor_tokens : later, n_tokens);
    const float* last = space_->residual.get() + (per_row - 1) * hidden;
    const menura_matrix& head = heads_[static_cast<size_t>(codebook) - 1];
    score(worker, model_.predictor, head, last, per_row * hidden, frame.n_rows);
    worker.barrier();
    const Worker::Share share = worker.share(frame.n_rows, 1);
    for (int i = share.first; i < share.last; ++i) {
        draw_other(frame.rows[i], i, codebook, scratch);
    }
    worker.barrier();
}

// From the width of the talker's embeddings to that of the predictor, where they differ.
void LanguageModel::project(Worker& worker, int n_tokens) {
    if (model_.projection.tiles == nullptr) {
        return;  // what is shown is the residual already
    }
    const menura_matrix& matrix = model_.projection;
    const int64_t width = model_.talker.hidden;
    const int64_t hidden = model_.predictor.hidden;
    float* residual = space_->residual.get();
    worker.prepare(matrix.kind, inputs_.get(), model_.talker.hidden, width, n_tokens);
    const Worker::Share tiles = worker.multiply(matrix, residual, hidden);
    const int64_t first = static_cast<int64_t>(tiles.first) * TILE_ROWS;
    const int64_t last = std::min<int64_t>(static_cast<int64_t>(tiles.last) * TILE_ROWS, hidden);
    for (int token = 0; token < n_tokens; ++token) {
        for (int64_t i = first; i < last; ++i) {
            residual[token * hidden + i] += model_.projection_bias[i];
        }
    }
    worker.barrier();
}

// Draws a row's code, and shows the predictor what it will go on from.
void LanguageModel::draw_other(
    const menura_row& row, int index, int codebook, DrawScratch& scratch) {
    const int64_t size = model_.talker.hidden;
    const int n = model_.codebook_size;
    const int64_t place = static_cast<int64_t>(codebook - 1) * n;
    const float* noise = row.predictor_noise != nullptr ? row.predictor_noise + place : nullptr;
    const float* scores = scores_of(index);
    const Drawn drawn = draw(scores, n, {&row.predictor, noise, nullptr, nullptr}, scratch);
    row.codes[codebook] = drawn.code;
    row.sound[codebook - 1] = drawn.is_sound;
    if (row.scores != nullptr) {
        std::memcpy(row.scores + place, scores, static_cast<size_t>(n) * sizeof *scores);
    }
    float* next = shown() + index * size;
    float* sum = sums_.get() + index * size;
    embed(codebook, row.forced != nullptr ? row.forced[codebook] : drawn.code, next);
    for (int64_t i = 0; i < size; ++i) {
        sum[i] += next[i];
    }
}

// The talker hears the frame: all its codes' embeddings and the text row that goes with it.
void LanguageModel::listen(Worker& worker, const Frame& frame, DrawScratch& scratch) {
    const int64_t size = model_.talker.hidden;
    float* residual = space_->residual.get();
    const Worker::Share share = worker.share(frame.n_rows, 1);
    for (int row = share.first; row < share.last; ++row) {
        const float* text = frame.rows[row].text;
        const float* sum = sums_.get() + row * size;
        for (int64_t i = 0; i < size; ++i) {
            residual[row * size + i] = sum[i] + text[i];
        }
    }
    worker.barrier();
    talker_.run(worker, *space_, frame.talker_tokens, frame.n_rows);
    score(worker, model_.talker, model_.talker_head, residual, size, frame.n_rows);
    for (int row = share.first; row < share.last; ++row) {
        worker.kernels.normalise(
            residual + row * size, model_.talker.final_norm, model_.talker.norm_eps,
            model_.talker.hidden, frame.rows[row].hidden);
    }
    worker.barrier();
    for (int row = share.first; row < share.last; ++row) {
        draw_next(frame.rows[row], row, scratch);
    }
}

void LanguageModel::draw_next(menura_row& row, int index, DrawScratch& scratch) {
    const int n = model_.talker_vocab;
    const float* scores = scores_of(index);
    const Drawn drawn =
        draw(scores, n, {&row.talker, row.talker_noise, row.seen, row.allowed}, scratch);
    row.next = drawn.code;
    row.sound[model_.n_codebooks - 1] = drawn.is_sound;
    if (row.scores != nullptr) {
        const int64_t place = static_cast<int64_t>(model_.n_codebooks - 1) * model_.codebook_size;
        std::memcpy(row.scores + place, scores, static_cast<size_t>(n) * sizeof *scores);
    }
}

void LanguageModel::embed(int codebook, int64_t code, float* out) const {
    const int64_t size = model_.talker.hidden;
    const uint16_t* table = codebook == 0 ? model_.talker_embedding
                                          : embeddings_[static_cast<size_t>(codebook) - 1];
    for (int64_t i = 0; i < size; ++i) {
        out[i] = from_bf16(table[code * size + i]);
    }
}

}  // namespace menura
