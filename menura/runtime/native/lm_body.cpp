// The language model's arithmetic, compiled once for each body (see simd.h).
//
// A token's sums never depend on the other tokens of a call: each has its own accumulators, which
// go through the columns in order. So a row gives the same numbers alone and beside others.
#include "lm_kernels.h"
#include "simd.h"
#include "tiles.h"

namespace menura {
namespace MENURA_BODY {
namespace {

constexpr int64_t AHEAD_BYTES = 512;
constexpr float PLANE_STEPS = 128.0f;  // of the low plane in one step of the high one

void normalise(const float* x, const float* weight, float eps, int n, float* out) {
    F32 squares = zero();
    for (int i = 0; i < n; i += LANES) {
        const F32 v = load(x + i);
        squares = fma(v, v, squares);
    }
    const F32 factor = splat(1.0f / __builtin_sqrtf(sum(squares) / static_cast<float>(n) + eps));
    for (int i = 0; i < n; i += LANES) {
        store(out + i, mul(mul(load(x + i), factor), load(weight + i)));
    }
}

void add_to(float* x, const float* y, int n) {
    for (int i = 0; i < n; i += LANES) {
        store(x + i, add(load(x + i), load(y + i)));
    }
}

void swiglu(const float* gate_up, int n_pairs, float* out) {
    for (int i = 0; i < n_pairs; ++i) {
        const F32 gate = load(gate_up + 2 * LANES * i);
        const F32 up = load(gate_up + 2 * LANES * i + LANES);
        const F32 denominator = add(splat(1.0f), exp(sub(zero(), gate)));
        store(out + LANES * i, mul(div(gate, denominator), up));
    }
}

// --- activations ------------------------------------------------------------------------------

// Puts the `count` parts of one token into a block, between those of other tokens.
template <typename Part>
MENURA_INLINE void interleave(const Part* parts, int count, Part* places, int stride) {
    for (int i = 0; i < count; ++i) {
        places[static_cast<int64_t>(i) * stride] = parts[i];
    }
}

// Zeros past the end: the last group of a row may be filled up with them.
MENURA_INLINE F32 load_within(const float* x, int i, int n) { return i < n ? load(x + i) : zero(); }

void prepare_bf16(const float* x, int n, int token, const Block* block) {
    Pair* places = static_cast<Pair*>(block->values) + token;
    for (int i = 0; i < n; i += LANES) {
        Pair pairs[LANES / 2];
        store_pairs(pairs, load(x + i));
        interleave(pairs, LANES / 2, places + i / 2 * block->n_tokens, block->n_tokens);
    }
}

struct GroupScale {
    float scale, inverse;
};

// The scale that makes the largest number of a group 127. NaN or infinity anywhere makes it NaN,
// and with it every result: int8 itself could not carry them.
MENURA_INLINE GroupScale group_scale(const float* x, int start, int stop, int n) {
    F32 size = zero();
    F32 poison = zero();
    for (int i = start; i < stop; i += LANES) {
        const F32 v = load_within(x, i, n);
        size = max(size, abs(v));
        poison = fma(v, zero(), poison);
    }
    const float amax = largest(size);
    return {amax / 127.0f + sum(poison), amax > 0 ? 127.0f / amax : 0.0f};
}

// Puts sixteen whole numbers away as bytes, in fours that are `stride` apart; gives the numbers.
MENURA_INLINE I32 place_bytes(F32 whole, int32_t* places, int stride) {
    const I32 numbers = round_i32(whole);
    int32_t fours[LANES / 4];
    store_i8(reinterpret_cast<int8_t*>(fours), numbers);
    interleave(fours, LANES / 4, places, stride);
    return numbers;
}

// Activations for int8 weights have two planes of int8: x = scale * (high + low / 128). One plane
// alone would add as much error as the weights do. The low plane takes arithmetic, but no memory.
void prepare_two_planes(const float* x, int n, int token, const Block* block) {
    const int n_tokens = block->n_tokens;
    int32_t* places = static_cast<int32_t*>(block->values) + token;
    int32_t* sums = block->sums + token;
    const int n_padded = padded_columns(MENURA_INT8, n);
    for (int start = 0, g = 0; start < n_padded; start += INT8_GROUP, ++g) {
        const GroupScale scale = group_scale(x, start, start + INT8_GROUP, n);
        I32 highs = splat_i32(0);
        I32 lows = splat_i32(0);
        for (int i = start; i < start + INT8_GROUP; i += LANES) {
            const F32 scaled = mul(load_within(x, i, n), splat(scale.inverse));
            const F32 high = round(scaled);
            const F32 low = mul(sub(scaled, high), splat(PLANE_STEPS));
            int32_t* place = places + i / 4 * 2 * n_tokens;
            highs = add_i32(highs, place_bytes(high, place, 2 * n_tokens));
            lows = add_i32(lows, place_bytes(low, place + n_tokens, 2 * n_tokens));
        }
        block->scales[g * n_tokens + token] = scale.scale / PLANE_STEPS;
        sums[2 * g * n_tokens] = sum_i32(highs);
        sums[(2 * g + 1) * n_tokens] = sum_i32(lows);
    }
}

// For int4 weights, whose own error is far larger, one plane is enough.
void prepare_one_plane(const float* x, int n, int token, const Block* block) {
    const int n_tokens = block->n_tokens;
    int32_t* places = static_cast<int32_t*>(block->values) + token;
    const int n_padded = padded_columns(MENURA_INT4, n);
    for (int start = 0, g = 0; start < n_padded; start += INT4_GROUP, ++g) {
        const GroupScale scale = group_scale(x, start, start + INT4_GROUP, n);
        I32 total = splat_i32(0);
        for (int i = start; i < start + INT4_GROUP; i += LANES) {
            const F32 scaled = mul(load_within(x, i, n), splat(scale.inverse));
            total = add_i32(total, place_bytes(scaled, places + i / 4 * n_tokens, n_tokens));
        }
        block->scales[g * n_tokens + token] = scale.scale;
        block->sums[g * n_tokens + token] = sum_i32(total);
    }
}

void prepare(int kind, const float* x, int n, int token, const Block* block) {
    if (kind == MENURA_BF16) {
        prepare_bf16(x, n, token, block);
    } else if (kind == MENURA_INT8) {
        prepare_two_planes(x, n, token, block);
    } else {
        prepare_one_plane(x, n, token, block);
    }
}

// --- products ---------------------------------------------------------------------------------
// Each kind of matrix has a product of R tiles with M tokens. A line of weights is loaded once for
// all M tokens. `SUMS` is how many sums a token needs in each tile: together they must fit into the
// registers.

// R tiles of one matrix, and where their results go.
struct Tiles {
    const uint8_t* first;
    int64_t stride;        // bytes from one of the tiles to the next
    int n_columns;
    float* out;            // of the first tile and token
    int64_t out_stride;    // from one of the tiles to the next
    int64_t token_stride;  // from one token to the next
};

// With one token or two, memory is the limit and the hardware reads ahead by itself. With more, it
// reads too late: lines are asked for while earlier ones are still multiplied. What lies past the
// end may be asked for; it is not read.
template <int M>
MENURA_INLINE void ask_ahead(const uint8_t* place) {
    if constexpr (M > 2) {
        __builtin_prefetch(place + AHEAD_BYTES, 0, 3);
    }
}

struct Bf16Product {
    static constexpr int SUMS = 1;

    template <int R, int M>
    static void multiply(const Tiles& tiles, const Block* block) {
        const int n_lines = padded_columns(MENURA_BF16, tiles.n_columns) / 2;
        const uint8_t* weights = tiles.first;
        const Pair* x = static_cast<const Pair*>(block->values);
        F32 acc[R][M];
        for (int r = 0; r < R; ++r) {
            for (int m = 0; m < M; ++m) {
                acc[r][m] = zero();
            }
        }
        for (int line = 0; line < n_lines; ++line, x += M, weights += LINE_BYTES) {
            for (int r = 0; r < R; ++r) {
                const uint8_t* place = weights + r * tiles.stride;
                ask_ahead<M>(place);
                const Line w = load_line(place);
                for (int m = 0; m < M; ++m) {
                    acc[r][m] = dot2(acc[r][m], w, x[m]);
                }
            }
        }
        for (int r = 0; r < R; ++r) {
            for (int m = 0; m < M; ++m) {
                store(tiles.out + m * tiles.token_stride + r * tiles.out_stride, acc[r][m]);
            }
        }
    }
};

// Adds a group's exact integer sums to the totals [R, M], in units of both scales. The totals stay
// in memory, since the integer sums need the registers; and together, since results that are a
// multiple of 4096 bytes apart would drive each other out of the cache.
template <int R, int M>
MENURA_INLINE void add_group(
    const Tiles& tiles, const uint16_t* weight_scales, const float* scales, const I32 (*acc)[M],
    bool is_first, float* totals) {
    for (int r = 0; r < R; ++r) {
        const F32 weight_scale = load_bf16(weight_scales + r * (tiles.stride / 2));
        for (int m = 0; m < M; ++m, totals += LANES) {
            const F32 before = is_first ? zero() : load(totals);
            store(totals, fma(to_f32(acc[r][m]), mul(weight_scale, splat(scales[m])), before));
        }
    }
}

// R tiles times M tokens, group by group; two groups have a line of scales before them.
template <typename Product, int R, int M>
void multiply_groups(const Tiles& tiles, const Block* block) {
    static_assert(R * M * LANES <= MAX_TOTALS, "the totals have room");
    constexpr int KIND = Product::KIND;
    constexpr int WORDS = group_lines(KIND) * 2 * M;  // of a group's activations
    const int n_groups = padded_columns(KIND, tiles.n_columns) / group_columns(KIND);
    const uint8_t* weights = tiles.first;
    const int32_t* x = static_cast<const int32_t*>(block->values);
    for (int g = 0; g < n_groups; g += SCALED_GROUPS) {
        const uint16_t* scales = reinterpret_cast<const uint16_t*>(weights);
        weights += LINE_BYTES;
        for (int i = g; i < g + SCALED_GROUPS; ++i) {
            I32 acc[R][M];
            Product::template sum_group<R, M>(
                weights, tiles.stride, x, block->sums + i * Product::SUMS * M, acc);
            add_group<R, M>(tiles, scales, block->scales + i * M, acc, i == 0, block->totals);
            weights += group_lines(KIND) * LINE_BYTES;
            scales += TILE_ROWS;
            x += WORDS;
        }
    }
    for (int i = 0; i < R * M; ++i) {
        float* place = tiles.out + i % M * tiles.token_stride + i / M * tiles.out_stride;
        store(place, load(block->totals + i * LANES));
    }
}

struct Int8Product {
    static constexpr int KIND = MENURA_INT8;
    static constexpr int SUMS = 2;  // one for each plane of the activations

    template <int R, int M>
    static void multiply(const Tiles& tiles, const Block* block) {
        multiply_groups<Int8Product, R, M>(tiles, block);
    }

    // The exact sums of one group: 128 times that of the high plane, and that of the low plane.
    template <int R, int M>
    MENURA_INLINE void sum_group(
        const uint8_t* weights, int64_t stride, const int32_t* x, const int32_t* plane_sums,
        I32 (*sums)[M]) {
        I32 low[R][M];
        I32 high[R][M];
        for (int r = 0; r < R; ++r) {
            for (int m = 0; m < M; ++m) {
                high[r][m] = int8_start(plane_sums[m]);
                low[r][m] = int8_start(plane_sums[M + m]);
            }
        }
        for (int line = 0; line < group_lines(KIND); ++line, x += 2 * M, weights += LINE_BYTES) {
            for (int r = 0; r < R; ++r) {
                const uint8_t* place = weights + r * stride;
                ask_ahead<M>(place);
                const Int8Line w = ready_int8(load_line(place));
                for (int m = 0; m < M; ++m) {
                    high[r][m] = dot4_int8(high[r][m], w, x[m]);
                    low[r][m] = dot4_int8(low[r][m], w, x[M + m]);
                }
            }
        }
        for (int r = 0; r < R; ++r) {
            for (int m = 0; m < M; ++m) {
                sums[r][m] = add_i32(times_128(high[r][m]), low[r][m]);
            }
        }
    }
};

struct Int4Product {
    static constexpr int KIND = MENURA_INT4;
    static constexpr int SUMS = 1;

    template <int R, int M>
    static void multiply(const Tiles& tiles, const Block* block) {
        multiply_groups<Int4Product, R, M>(tiles, block);
    }

    template <int R, int M>
    MENURA_INLINE void sum_group(
        const uint8_t* weights, int64_t stride, const int32_t* x, const int32_t* activation_sums,
        I32 (*sums)[M]) {
        for (int r = 0; r < R; ++r) {
            for (int m = 0; m < M; ++m) {
                sums[r][m] = splat_i32(-8 * activation_sums[m]);  // takes the weights' bias off
            }
        }
        for (int line = 0; line < group_lines(KIND); ++line, x += 2 * M, weights += LINE_BYTES) {
            for (int r = 0; r < R; ++r) {
                const uint8_t* place = weights + r * stride;
                ask_ahead<M>(place);
                const Line w = load_line(place);
                const Line low = low_nibbles(w);
                const Line high = high_nibbles(w);
                for (int m = 0; m < M; ++m) {
                    sums[r][m] = dot4_nibbles(sums[r][m], low, x[m]);
                    sums[r][m] = dot4_nibbles(sums[r][m], high, x[M + m]);
                }
            }
        }
    }
};

// The tiles are cut into R runs, and the i-th tiles of all runs are done together. So memory is
// read in R streams that go on from tile to tile: a stream that starts anew waits for memory.
template <typename Product, int M>
void multiply_block(
    const menura_matrix* matrix, int first, int last, const Block* block, float* out,
    int64_t stride) {
    constexpr int R = tiles_in_flight(M * Product::SUMS);
    const int64_t bytes = tile_bytes(matrix->kind, matrix->n_columns);
    const int run = (last - first) / R;
    Tiles tiles = {
        matrix->tiles + first * bytes, run * bytes, matrix->n_columns, out + first * TILE_ROWS,
        run * TILE_ROWS, stride};
    for (int i = 0; i < run; ++i) {
        Product::template multiply<R, M>(tiles, block);
        tiles.first += bytes;
        tiles.out += TILE_ROWS;
    }
    for (int tile = first + R * run; tile < last; ++tile) {
        tiles.first = matrix->tiles + tile * bytes;
        tiles.out = out + tile * TILE_ROWS;
        Product::template multiply<1, M>(tiles, block);
    }
}

// Picks the code for this number of tokens: M counts down from the largest.
template <typename Product, int M>
void multiply_for(
    const menura_matrix* matrix, int first, int last, const Block* block, float* out,
    int64_t stride) {
    if constexpr (M > 0) {
        if (block->n_tokens == M) {
            multiply_block<Product, M>(matrix, first, last, block, out, stride);
        } else {
            multiply_for<Product, M - 1>(matrix, first, last, block, out, stride);
        }
    }
}

void multiply(
    const menura_matrix* matrix, int first, int last, const Block* block, float* out,
    int64_t stride) {
    if (matrix->kind == MENURA_INT8) {
        multiply_for<Int8Product, BLOCK_TOKENS>(matrix, first, last, block, out, stride);
    } else if (matrix->kind == MENURA_INT4) {
        multiply_for<Int4Product, BLOCK_TOKENS>(matrix, first, last, block, out, stride);
    } else {
        multiply_for<Bf16Product, BLOCK_TOKENS>(matrix, first, last, block, out, stride);
    }
}

// --- attention --------------------------------------------------------------------------------

// Scores of 16 positions, which are the rows of a bf16 tile; queries stay in fp32.
MENURA_INLINE F32 score_tile(const uint16_t* keys, const float* query, int head_dim) {
    F32 even = zero();
    F32 odd = zero();
    for (int channel = 0; channel < head_dim; channel += 2, keys += 2 * TILE_ROWS) {
        const Line line = load_line(reinterpret_cast<const uint8_t*>(keys));
        even = fma(even_columns(line), splat(query[channel]), even);
        odd = fma(odd_columns(line), splat(query[channel + 1]), odd);
    }
    return add(even, odd);
}

MENURA_INLINE const uint16_t* page_of(const Attention* a, int position) {
    return a->pages[position / PAGE_POSITIONS] + a->head_offset;
}

// The scores of every position; past the last one stands a number that its softmax makes 0.
float score_all(const Attention* a, const float* query) {
    F32 highest = splat(-3e38f);
    for (int position = 0; position < a->n_positions; position += TILE_ROWS) {
        const int64_t tile = key_place(position % PAGE_POSITIONS, 0, a->head_dim);
        float* scores = a->scores + position;
        store(scores, score_tile(page_of(a, position) + tile, query, a->head_dim));
        for (int i = a->n_positions - position; i < TILE_ROWS; ++i) {
            scores[i] = -3e38f;
        }
        highest = max(highest, load(scores));
    }
    return largest(highest);
}

// The scores become e^(score - highest); gives their sum.
float exponentiate(const Attention* a, float highest) {
    F32 total = zero();
    for (int position = 0; position < a->n_positions; position += LANES) {
        const F32 odds = exp(sub(load(a->scores + position), splat(highest)));
        store(a->scores + position, odds);
        total = add(total, odds);
    }
    return sum(total);
}

// V vectors of channels of the weighted mean of all values.
template <int V>
void gather(const Attention* a, int channel, float total, float* out) {
    F32 acc[V];
    for (int v = 0; v < V; ++v) {
        acc[v] = zero();
    }
    for (int position = 0; position < a->n_positions; ++position) {
        const int64_t place = value_place(position % PAGE_POSITIONS, channel, a->head_dim);
        const uint16_t* values = page_of(a, position) + place;
        const F32 odds = splat(a->scores[position]);
        for (int v = 0; v < V; ++v) {
            acc[v] = fma(odds, load_bf16(values + v * LANES), acc[v]);
        }
    }
    const F32 factor = splat(1.0f / total);
    for (int v = 0; v < V; ++v) {
        store(out + channel + v * LANES, mul(acc[v], factor));
    }
}

void attend(const Attention* a) {
    constexpr int VECTORS = 4;
    for (int head = 0; head < a->n_queries; ++head) {
        const float* query = a->queries + static_cast<int64_t>(head) * a->head_dim;
        float* out = a->gathered + static_cast<int64_t>(head) * a->head_dim;
        const float total = exponentiate(a, score_all(a, query));
        int channel = 0;
        for (; channel + VECTORS * LANES <= a->head_dim; channel += VECTORS * LANES) {
            gather<VECTORS>(a, channel, total, out);
        }
        for (; channel < a->head_dim; channel += LANES) {
            gather<1>(a, channel, total, out);
        }
    }
}

}  // namespace
}  // namespace MENURA_BODY

// Joins a prefix and the name of the body, after the body's macro was replaced by that name.
#define MENURA_JOIN_NOW(prefix, name) prefix##name
#define MENURA_JOIN(prefix, name) MENURA_JOIN_NOW(prefix, name)
#define MENURA_STRING_NOW(name) #name
#define MENURA_STRING(name) MENURA_STRING_NOW(name)

const LmKernels* MENURA_JOIN(lm_kernels_, MENURA_BODY)() {
    namespace body = MENURA_BODY;
    static const LmKernels kernels = {
        MENURA_STRING(MENURA_BODY), body::BLOCK_TOKENS, body::normalise,
        body::prepare, body::multiply, body::swiglu,
        body::add_to, body::attend,
    };
    return &kernels;
}

}  // namespace menura
