// The border between C and the language model: arguments are checked here, and no exception leaves.
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "bodies.h"
#include "lm.h"

struct menura_lm {
    menura::LanguageModel model;
};

namespace menura {
namespace {

constexpr int MAX_POSITIONS = 1 << 20;

const LmKernels* kernels_of(const char* body) {
#if defined(MENURA_HAS_AVX512)
    if (std::strcmp(body, "avx512") == 0) {
        return lm_kernels_avx512();
    }
#endif
#if defined(MENURA_HAS_AVX2)
    if (std::strcmp(body, "avx2") == 0) {
        return lm_kernels_avx2();
    }
#endif
#if defined(MENURA_HAS_NEON)
    if (std::strcmp(body, "neon") == 0) {
        return lm_kernels_neon();
    }
#endif
    return nullptr;
}

bool fits(const menura_stack& stack) {
    return stack.hidden > 0 && stack.hidden % TILE_ROWS == 0 && stack.inner > 0 &&
           stack.inner % TILE_ROWS == 0 && stack.head_dim > 0 &&
           stack.head_dim % TILE_ROWS == 0 && stack.n_kv_heads > 0 &&
           stack.n_heads % stack.n_kv_heads == 0 && stack.n_layers > 0;
}

// What is wrong with a model; empty if nothing is.
std::string fault_of(const menura_model& model, int n_threads) {
    if (!fits(model.talker) || !fits(model.predictor)) {
        return "widths and head sizes must be multiples of 16, and query heads one of key heads";
    }
    if (model.n_codebooks < 2 || model.codebook_size < 1 || model.talker_vocab < 1) {
        return "there must be two codebooks or more, with entries";
    }
    if (model.projection.tiles == nullptr && model.talker.hidden != model.predictor.hidden) {
        return "stacks of different widths need a projection";
    }
    if (n_threads < 1 || model.n_slots < 1) {
        return "there must be a thread and a slot";
    }
    return "";
}

bool has_slot(const menura_lm& lm, int slot) {
    return slot >= 0 && slot < lm.model.sizes().n_slots;
}

// Whether a token may go there: right behind what the slot holds, or over it.
bool can_place(menura_lm& lm, int slot, int64_t position, int64_t n_tokens) {
    return has_slot(lm, slot) && position >= 0 && n_tokens > 0 &&
           position <= lm.model.slot(slot).n_positions && position + n_tokens <= MAX_POSITIONS;
}

bool is_code(int64_t code, int n) { return code >= 0 && code < n; }

bool is_valid(menura_lm& lm, const menura_row& row) {
    const menura_model& model = lm.model.sizes();
    if (!can_place(lm, row.slot, row.position, 1) || !is_code(row.first, model.talker_vocab)) {
        return false;
    }
    if ((row.predictor.do_sample && row.predictor_noise == nullptr) ||
        (row.talker.do_sample && row.talker_noise == nullptr)) {
        return false;
    }
    for (int i = 1; i < model.n_codebooks && row.forced != nullptr; ++i) {
        if (!is_code(row.forced[i], model.codebook_size)) {
            return false;
        }
    }
    return true;
}

bool are_valid(menura_lm& lm, int n_rows, const menura_row* rows) {
    for (int i = 0; i < n_rows; ++i) {
        if (!is_valid(lm, rows[i])) {
            return false;
        }
        for (int j = 0; j < i; ++j) {
            if (rows[j].slot == rows[i].slot) {
                return false;
            }
        }
    }
    return n_rows > 0 && n_rows <= MAX_ROWS;
}

// Copies between a cache and a flat state [layers, key heads, keys then values, positions,
// channels]; `copy(place in the cache, place in the state)`.
template <typename Copy>
void each_value(const menura_stack& sizes, const Cache& cache, int n_positions, const Copy& copy) {
    int64_t place = 0;
    for (int layer = 0; layer < sizes.n_layers; ++layer) {
        for (int head = 0; head < sizes.n_kv_heads; ++head) {
            for (const bool is_key : {true, false}) {
                for (int position = 0; position < n_positions; ++position) {
                    uint16_t* page = cache.head(layer, head, position);
                    const int within = position % PAGE_POSITIONS;
                    for (int channel = 0; channel < sizes.head_dim; ++channel, ++place) {
                        copy(page[is_key ? key_place(within, channel, sizes.head_dim)
                                         : value_place(within, channel, sizes.head_dim)],
                             place);
                    }
                }
            }
        }
    }
}

// Runs what may throw; gives its status.
template <typename Call>
int32_t guarded(const Call& call) {
    try {
        return call();
    } catch (const std::exception&) {
        return MENURA_NO_MEMORY;  // nothing else here throws
    }
}

}  // namespace
}  // namespace menura

using namespace menura;

menura_lm* menura_lm_open(
    const menura_model* model, int32_t n_threads, char* error, int32_t error_bytes) {
    const std::string fault = fault_of(*model, n_threads);
    const LmKernels* kernels = kernels_of(chosen_body());
    if (!fault.empty() || kernels == nullptr) {
        const char* words =
            fault.empty() ? "this CPU runs none of the library's bodies" : fault.c_str();
        std::snprintf(error, static_cast<size_t>(error_bytes), "%s", words);
        return nullptr;
    }
    try {
        return new menura_lm{LanguageModel(*model, *kernels, n_threads)};
    } catch (const std::exception& failure) {
        std::snprintf(error, static_cast<size_t>(error_bytes), "%s", failure.what());
        return nullptr;
    }
}

int32_t menura_lm_prefill(
    menura_lm* lm, int32_t slot, int32_t position, int32_t n_tokens, const float* inputs,
    float* hidden, float* scores) {
    if (!can_place(*lm, slot, position, n_tokens)) {
        return MENURA_BAD_ARGUMENT;
    }
    return guarded([&] {
        return lm->model.prefill(
            lm->model.slot(slot), position, n_tokens, inputs, hidden, scores);
    });
}

int32_t menura_lm_frame(menura_lm* lm, int32_t n_rows, menura_row* rows) {
    if (!are_valid(*lm, n_rows, rows)) {
        return MENURA_BAD_ARGUMENT;
    }
    return guarded([&] { return lm->model.frame(n_rows, rows); });
}

int32_t menura_lm_trace(
    menura_lm* lm, int32_t is_predictor, int32_t n_tokens, const float* inputs, float* states) {
    if (n_tokens < 1 || n_tokens > MAX_TOKENS) {
        return MENURA_BAD_ARGUMENT;
    }
    return guarded([&] { return lm->model.trace(is_predictor != 0, n_tokens, inputs, states); });
}

int64_t menura_lm_state_bytes(const menura_lm* lm, int32_t n_positions) {
    const menura_stack& talker = lm->model.sizes().talker;
    return 2LL * sizeof(uint16_t) * talker.n_layers * talker.n_kv_heads * talker.head_dim *
           n_positions;
}

int32_t menura_lm_export(menura_lm* lm, int32_t slot, int32_t n_positions, void* state) {
    if (!has_slot(*lm, slot) || n_positions < 0 ||
        n_positions > lm->model.slot(slot).n_positions) {
        return MENURA_BAD_ARGUMENT;
    }
    uint16_t* values = static_cast<uint16_t*>(state);
    each_value(
        lm->model.sizes().talker, lm->model.slot(slot), n_positions,
        [&](const uint16_t& cached, int64_t place) { values[place] = cached; });
    return MENURA_OK;
}

int32_t menura_lm_import(
    menura_lm* lm, int32_t slot, int32_t n_positions, const void* state) {
    if (!has_slot(*lm, slot) || n_positions < 0 || n_positions > MAX_POSITIONS) {
        return MENURA_BAD_ARGUMENT;
    }
    return guarded([&] {
        Cache& cache = lm->model.slot(slot);
        cache.reserve(n_positions);
        const uint16_t* values = static_cast<const uint16_t*>(state);
        each_value(
            lm->model.sizes().talker, cache, n_positions,
            [&](uint16_t& cached, int64_t place) { cached = values[place]; });
        cache.n_positions = n_positions;
        return MENURA_OK;
    });
}

int32_t menura_lm_release(menura_lm* lm, int32_t slot) {
    if (!has_slot(*lm, slot)) {
        return MENURA_BAD_ARGUMENT;
    }
    lm->model.slot(slot).clear();
    return MENURA_OK;
}

void menura_lm_close(menura_lm* lm) { delete lm; }
