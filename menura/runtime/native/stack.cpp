#include "stack.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "bf16.h"

namespace menura {
namespace {

// Tiles go to threads in fours: a pair of gate and up stays together, and so do the tiles that a
// body works on at once.
constexpr int SHARE_TILES = 4;

constexpr int padded_rows(int n_rows) {
    return static_cast<int>(round_up(n_rows, SHARE_TILES * TILE_ROWS));
}

}  // namespace

void Limits::include(const menura_matrix& matrix) {
    const int64_t padded = round_up(matrix.n_columns, SCALED_GROUPS * INT8_GROUP);
    n_columns = std::max(n_columns, static_cast<int>(padded));
    n_rows = std::max(n_rows, padded_rows(matrix.n_rows));
}

// --- workers ----------------------------------------------------------------------------------

Worker::Worker(const LmKernels& kernels, const Limits& limits)
    : kernels(kernels),
      // The widest format is a float for each column.
      values_bytes_(round_up(4LL * limits.n_columns * kernels.block_tokens, LINE_BYTES)),
      n_groups_(static_cast<int64_t>(limits.n_columns) / INT4_GROUP * kernels.block_tokens),
      normed_(zeroed<float>(limits.n_columns)) {
    const int64_t n_blocks = (MAX_TOKENS + kernels.block_tokens - 1) / kernels.block_tokens;
    values_ = zeroed<uint8_t>(values_bytes_ * n_blocks);
    scales_ = zeroed<float>(n_groups_ * n_blocks);
    sums_ = zeroed<int32_t>(n_groups_ * n_blocks);
    totals_ = zeroed<float>(MAX_TOTALS);
}

void Worker::reserve_positions(int n_positions) {
    const size_t n = static_cast<size_t>(round_up(n_positions, TILE_ROWS));
    if (scores_.size() < n) {
        scores_.resize(std::max(n, 2 * scores_.size()));
    }
}

void Worker::begin(Pool& pool, int thread, int n_threads) {
    pool_ = &pool;
    thread_ = thread;
    n_threads_ = n_threads;
}

Worker::Share Worker::share(int n, int step) const {
    const int64_t n_steps = (n + step - 1) / step;
    const int first = static_cast<int>(n_steps * thread_ / n_threads_) * step;
    const int last = static_cast<int>(n_steps * (thread_ + 1) / n_threads_) * step;
    return {std::min(first, n), std::min(last, n)};
}

Block Worker::block(int index) const {
    const int size = kernels.block_tokens;
    return {values_.get() + index * values_bytes_, scales_.get() + index * n_groups_,
            sums_.get() + index * n_groups_, totals_.get(),
            std::min(size, n_tokens_ - index * size)};
}

void Worker::prepare(int kind, const float* rows, int n_values, int64_t stride, int n_tokens) {
    n_tokens_ = n_tokens;
    for (int token = 0; token < n_tokens; ++token) {
        const Block into = block(token / kernels.block_tokens);
        kernels.prepare(kind, rows + token * stride, n_values, token % kernels.block_tokens, &into);
    }
}

void Worker::prepare_normed(
    int kind, const float* rows, const float* weight, float eps, int n_values, int64_t stride,
    int n_tokens) {
    n_tokens_ = n_tokens;
    for (int token = 0; token < n_tokens; ++token) {
        kernels.normalise(rows + token * stride, weight, eps, n_values, normed_.get());
        const Block into = block(token / kernels.block_tokens);
        kernels.prepare(kind, normed_.get(), n_values, token % kernels.block_tokens, &into);
    }
}

// A few tiles serve all blocks of tokens before the next few are read: they come from memory once.
Worker::Share Worker::multiply(const menura_matrix& matrix, float* out, int64_t stride) const {
    const Share tiles = share(n_tiles(matrix.n_rows), SHARE_TILES);
    const int size = kernels.block_tokens;
    if (n_tokens_ <= size) {
        const Block only = block(0);
        kernels.multiply(&matrix, tiles.first, tiles.last, &only, out, stride);
        return tiles;
    }
    for (int first = tiles.first; first < tiles.last; first += SHARE_TILES) {
        const int last = std::min(first + SHARE_TILES, tiles.last);
        for (int token = 0; token < n_tokens_; token += size) {
            const Block part = block(token / size);
            kernels.multiply(&matrix, first, last, &part, out + token * stride, stride);
        }
    }
    return tiles;
}

// --- blocks -----------------------------------------------------------------------------------

Workspace::Workspace(int hidden, int n_products, int gathered, int inner)
    : n_products(n_products),
      residual(zeroed<float>(static_cast<int64_t>(MAX_TOKENS) * hidden)),
      products(zeroed<float>(static_cast<int64_t>(MAX_TOKENS) * n_products)),
      gathered(zeroed<float>(static_cast<int64_t>(MAX_TOKENS) * gathered)),
      inner(zeroed<float>(static_cast<int64_t>(MAX_TOKENS) * inner)) {}

Stack::Stack(const menura_stack& sizes) : sizes_(sizes) {}

// Computed in fp32 as the model's tables are: at large angles their rounding is part of the model.
void Stack::reserve_positions(int n_positions) {
    const int half = sizes_.head_dim / 2;
    int position = static_cast<int>(cosines_.size()) / half;
    if (position >= n_positions) {
        return;
    }
    n_positions = std::max(n_positions, 2 * position);
    cosines_.resize(static_cast<size_t>(n_positions) * half);
    sines_.resize(static_cast<size_t>(n_positions) * half);
    for (; position < n_positions; ++position) {
        for (int i = 0; i < half; ++i) {
            const float exponent = static_cast<float>(2 * i) / static_cast<float>(2 * half);
            const float frequency = 1.0f / std::pow(sizes_.rope_theta, exponent);
            const float angle = static_cast<float>(position) * frequency;
            const size_t place = static_cast<size_t>(position) * half + i;
            cosines_[place] = static_cast<float>(std::cos(static_cast<double>(angle)));
            sines_[place] = static_cast<float>(std::sin(static_cast<double>(angle)));
        }
    }
}

void Stack::run(
    Worker& worker, Workspace& space, const Token* tokens, int n_tokens, float* trace) const {
    const int hidden = sizes_.hidden;
    float* x = space.residual.get();
    float* products = space.products.get();
    for (int i = 0; i < sizes_.n_layers; ++i) {
        const menura_layer& layer = sizes_.layers[i];
        worker.prepare_normed(
            layer.qkv.kind, x, layer.attention_norm, sizes_.norm_eps, hidden, hidden,
            n_tokens);
        worker.multiply(layer.qkv, products, space.n_products);
        worker.barrier();
        attend(worker, space, tokens, n_tokens, i);
        worker.barrier();
        const int n_gathered = sizes_.n_heads * sizes_.head_dim;
        worker.prepare(
            layer.output.kind, space.gathered.get(), n_gathered, n_gathered, n_tokens);
        add_product(worker, space, layer.output, n_tokens);
        worker.barrier();
        worker.prepare_normed(
            layer.gate_up.kind, x, layer.feed_forward_norm, sizes_.norm_eps, hidden, hidden,
            n_tokens);
        const Worker::Share tiles = worker.multiply(layer.gate_up, products, space.n_products);
        for (int token = 0; token < n_tokens; ++token) {
            worker.kernels.swiglu(
                products + token * space.n_products + tiles.first * TILE_ROWS,
                (tiles.last - tiles.first) / 2,
                space.inner.get() + static_cast<int64_t>(token) * sizes_.inner +
                    tiles.first / 2 * TILE_ROWS);
        }
        worker.barrier();
        worker.prepare(
            layer.down.kind, space.inner.get(), sizes_.inner, sizes_.inner, n_tokens);
        add_product(worker, space, layer.down, n_tokens);
        worker.barrier();
        if (trace != nullptr && worker.is_first()) {
            const size_t n = static_cast<size_t>(n_tokens) * hidden;
            std::memcpy(trace + i * n, x, n * sizeof *x);
        }
    }
}

// This thread's channels of the residual get what a matrix made of the prepared tokens.
void Stack::add_product(
    Worker& worker, Workspace& space, const menura_matrix& matrix, int n_tokens) const {
    const Worker::Share tiles = worker.multiply(matrix, space.products.get(), space.n_products);
    const int first = tiles.first * TILE_ROWS;
    const int n = std::min(tiles.last * TILE_ROWS, sizes_.hidden) - first;
    for (int token = 0; token < n_tokens; ++token) {
        worker.kernels.add(
            space.residual.get() + static_cast<int64_t>(token) * sizes_.hidden + first,
            space.products.get() + token * space.n_products + first, n);
    }
}

// A thread does whole key heads, with all tokens: their keys first, since a prompt's tokens read
// those of the tokens before them.
void Stack::attend(
    Worker& worker, Workspace& space, const Token* tokens, int n_tokens, int layer) const {
    const int n_queries = sizes_.n_heads / sizes_.n_kv_heads;
    const int query_values = n_queries * sizes_.head_dim;
    const int64_t n_gathered = static_cast<int64_t>(query_values) * sizes_.n_kv_heads;
    const Worker::Share heads = worker.share(sizes_.n_kv_heads, 1);
    for (int head = heads.first; head < heads.last; ++head) {
        for (int t = 0; t < n_tokens; ++t) {
            place_keys(worker, space.products.get() + t * space.n_products, tokens[t], layer, head);
        }
        for (int t = 0; t < n_tokens; ++t) {
            Attention attention;
            attention.queries =
                space.products.get() + t * space.n_products + head * query_values;
            attention.gathered = space.gathered.get() + t * n_gathered + head * query_values;
            attention.scores = worker.scores();
            attention.pages = tokens[t].cache->pages();
            attention.head_offset = tokens[t].cache->head_offset(layer, head);
            attention.n_queries = n_queries;
            attention.n_positions = tokens[t].position + 1;
            attention.head_dim = sizes_.head_dim;
            worker.kernels.attend(&attention);
        }
    }
}

// Norms and turns the token's queries and key of one key head, and puts key and value away.
void Stack::place_keys(
    Worker& worker, float* qkv, const Token& token, int layer, int kv_head) const {
    const menura_layer& weights = sizes_.layers[layer];
    const int head_dim = sizes_.head_dim;
    const int n_queries = sizes_.n_heads / sizes_.n_kv_heads;
    const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
    float* queries = qkv + static_cast<int64_t>(kv_head) * n_queries * head_dim;
    for (int q = 0; q < n_queries; ++q) {
        turn(worker, queries + q * head_dim, weights.query_norm, token.position);
    }
    for (int i = 0; i < n_queries * head_dim; ++i) {
        queries[i] *= scale;
    }
    float* key = qkv + static_cast<int64_t>(sizes_.n_heads + kv_head) * head_dim;
    turn(worker, key, weights.key_norm, token.position);
    const float* value = key + static_cast<int64_t>(sizes_.n_kv_heads) * head_dim;
    uint16_t* page = token.cache->head(layer, kv_head, token.position);
    const int place = token.position % PAGE_POSITIONS;
    for (int channel = 0; channel < head_dim; ++channel) {
        page[key_place(place, channel, head_dim)] = to_bf16(key[channel]);
        page[value_place(place, channel, head_dim)] = to_bf16(value[channel]);
    }
}

// Norm, then rotary: channel i is turned together with channel i + head_dim / 2.
void Stack::turn(const Worker& worker, float* head, const float* norm, int position) const {
    const int half = sizes_.head_dim / 2;
    const float* cosines = cosines_.data() + static_cast<int64_t>(position) * half;
    const float* sines = sines_.data() + static_cast<int64_t>(position) * half;
    worker.kernels.normalise(head, norm, sizes_.norm_eps, sizes_.head_dim, head);
    for (int i = 0; i < half; ++i) {
        const float a = head[i];
        const float b = head[i + half];
        head[i] = a * cosines[i] - b * sines[i];
        head[i + half] = b * cosines[i] + a * sines[i];
    }
}

}  // namespace menura
