#include "lm.h"

#include <algorithm>
#include <cstring>

namespace menura {
namespace {

Limits limits_of(const menura_model& model) {
    Limits limits;
    for (const menura_stack* stack : {&model.talker, &model.predictor}) {
        for (int i = 0; i < stack->n_layers; ++i) {
            const menura_layer& layer = stack->layers[i];
            for (const auto* matrix : {&layer.qkv, &layer.output, &layer.gate_up, &layer.down}) {
                limits.include(*matrix);
            }
        }
    }
    limits.include(model.talker_head);
    for (int i = 0; i < model.n_codebooks - 1; ++i) {
        limits.include(model.predictor_heads[i]);
    }
    if (model.projection.tiles != nullptr) {
        limits.include(model.projection);
    }
    return limits;
}

std::unique_ptr<Workspace> workspace_for(const menura_model& model, int n_products) {
    const menura_stack& a = model.talker;
    const menura_stack& b = model.predictor;
    return std::make_unique<Workspace>(
        std::max(a.hidden, b.hidden), n_products,
        std::max(a.n_heads * a.head_dim, b.n_heads * b.head_dim), std::max(a.inner, b.inner));
}

menura_stack with_layers(menura_stack stack, const std::vector<menura_layer>& layers) {
    stack.layers = layers.data();
    return stack;
}

}  // namespace

LanguageModel::LanguageModel(const menura_model& model, const LmKernels& kernels, int n_threads)
    : model_(model),
      talker_layers_(model.talker.layers, model.talker.layers + model.talker.n_layers),
      predictor_layers_(
          model.predictor.layers, model.predictor.layers + model.predictor.n_layers),
      heads_(model.predictor_heads, model.predictor_heads + model.n_codebooks - 1),
      embeddings_(
          model.predictor_embeddings, model.predictor_embeddings + model.n_codebooks - 1),
      talker_(with_layers(model.talker, talker_layers_)),
      predictor_(with_layers(model.predictor, predictor_layers_)),
      pool_(shared_pool(n_threads)),
      paces_(MAX_ROWS, Pace(n_threads)),
      draws_(static_cast<size_t>(n_threads)),
      inputs_(zeroed<float>(static_cast<int64_t>(MAX_TOKENS) * model.talker.hidden)),
      sums_(zeroed<float>(static_cast<int64_t>(MAX_ROWS) * model.talker.hidden)) {
    const Limits limits = limits_of(model);
    // Rows a multiple of 4096 bytes apart would share the same few places of the cache.
    space_ = workspace_for(model, limits.n_rows + TILE_ROWS);
    for (int thread = 0; thread < n_threads; ++thread) {
        workers_.push_back(std::make_unique<Worker>(kernels, limits));
    }
    for (int slot = 0; slot < model.n_slots; ++slot) {
        slots_.emplace_back(model.talker);
    }
    for (int row = 0; row < MAX_ROWS; ++row) {
        frames_.emplace_back(model.predictor);
    }
    predictor_.reserve_positions(std::max(model.n_codebooks, MAX_TOKENS));
    reserve_positions(std::max(model.n_codebooks, MAX_TOKENS));
}

void LanguageModel::reserve_positions(int n_positions) {
    talker_.reserve_positions(n_positions);
    for (std::unique_ptr<Worker>& worker : workers_) {
        worker->reserve_positions(n_positions);
    }
}

int LanguageModel::prefill(
    Cache& cache, int position, int n_tokens, const float* inputs, float* hidden, float* scores) {
    if (!pool_->is_of_this_process()) {
        return MENURA_FORKED;
    }
    const menura_stack& stack = talker_.sizes();
    const size_t size = static_cast<size_t>(stack.hidden);
    Pool::Turn turn(*pool_);
    cache.reserve(position + n_tokens);
    reserve_positions(position + n_tokens);
    for (int start = 0; start < n_tokens; start += MAX_TOKENS) {
        const int n = std::min(MAX_TOKENS, n_tokens - start);
        Token tokens[MAX_TOKENS];
        for (int i = 0; i < n; ++i) {
            tokens[i] = {&cache, position + start + i};
        }
        std::memcpy(space_->residual.get(), inputs + start * size, n * size * sizeof(float));
        const float* last = space_->residual.get() + (n - 1) * size;
        const bool is_end = start + n == n_tokens;
        const auto pass = [&](Worker& worker, int) {
            talker_.run(worker, *space_, tokens, n);
            if (is_end) {
                score(worker, stack, model_.talker_head, last, stack.hidden, 1);
            }
        };
        run(turn, pass, paces_[0].is_alone_faster() ? 1 : pool_->n_free());
        cache.n_positions = position + start + n;
        workers_[0]->kernels.normalise(
            last, stack.final_norm, stack.norm_eps, stack.hidden, hidden);
    }
    std::memcpy(scores, scores_of(0), static_cast<size_t>(model_.talker_vocab) * sizeof *scores);
    return MENURA_OK;
}

int LanguageModel::trace(bool of_predictor, int n_tokens, const float* inputs, float* states) {
    if (!pool_->is_of_this_process()) {
        return MENURA_FORKED;
    }
    const Stack& stack = of_predictor ? predictor_ : talker_;
    const menura_stack& sizes = stack.sizes();
    const size_t size = static_cast<size_t>(sizes.hidden);
    Cache cache(sizes);
    cache.reserve(n_tokens);
    Token tokens[MAX_TOKENS];
    for (int i = 0; i < n_tokens; ++i) {
        tokens[i] = {&cache, i};
    }
    std::memcpy(space_->residual.get(), inputs, n_tokens * size * sizeof(float));
    Pool::Turn turn(*pool_);
    const auto pass = [&](Worker& worker, int) {
        stack.run(worker, *space_, tokens, n_tokens, states);
    };
    run(turn, pass, pool_->n_free());
    float* normed = states + static_cast<size_t>(sizes.n_layers) * n_tokens * size;
    for (int i = 0; i < n_tokens; ++i) {
        workers_[0]->kernels.normalise(
            space_->residual.get() + i * size, sizes.final_norm, sizes.norm_eps, sizes.hidden,
            normed + i * size);
    }
    return MENURA_OK;
}

// The head's scores of final states [n_rows] that are `stride` apart, to `scores_of` each.
void LanguageModel::score(
    Worker& worker, const menura_stack& stack, const menura_matrix& head, const float* rows,
    int64_t stride, int n_rows) {
    worker.prepare_normed(
        head.kind, rows, stack.final_norm, stack.norm_eps, stack.hidden, stride, n_rows);
    worker.multiply(head, space_->products.get(), space_->n_products);
}

}  // namespace menura
