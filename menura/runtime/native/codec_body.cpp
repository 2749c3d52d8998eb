// The operations of the codec decoder. Compiled once for each body, with that body's flags.
//
// An operation falls into items that touch no output of each other; threads take the next item when
// they have finished one, so a core that was disturbed does not hold up the rest.

#include <cstring>
#include <type_traits>

#include "codec.h"
#include "codec_tiles.h"
#include "codec_vectors.h"

namespace menura::codec::MENURA_BODY {
namespace {

// The number formats of a mode. A body without products of bfloat16 keeps its acts in float32.
struct Exact {
    using Weight = float;
    using Act = float;
};
struct Halved {
    using Weight = Bf16;
    using Act = std::conditional_t<BF16_PRODUCTS, Bf16, float>;
};

template <class T>
const T* at(const Work& work, int64_t offset) {
    return reinterpret_cast<const T*>(work.weights + offset);
}

// No templates of the standard library here: the linker would keep one body's copy for all.
int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Acts that an operation writes step by step, in the format that the next one reads.
template <class Mode>
struct Acts {
    using Act = typename Mode::Act;
    void* to;
    bool is_wide;

    explicit Acts(const Work& work, int64_t place) : is_wide(work.op->writes_wide != 0) {
        const int64_t bytes = is_wide ? sizeof(float) : sizeof(Act);
        to = static_cast<unsigned char*>(work.out) + place * bytes;
    }
    void put(int64_t c, F32 x) const {
        is_wide ? store(static_cast<float*>(to) + c, x) : store(static_cast<Act*>(to) + c, x);
    }
};

template <class Item>
void each_item(Work& work, Item item) {
    for (;;) {
        const int64_t i = work.next_item.fetch_add(1, std::memory_order_relaxed);
        if (i >= work.n_items) return;
        item(i);
    }
}

// ---- convolution

// How a convolution is cut: an item is `tiles` tiles of channels over `steps` output positions.
struct Cut {
    int64_t n_tiles, tiles, n_blocks, steps;
};

// Weights that do not fit the second-level cache are read by one thread only, for all steps: items
// are tiles. Smaller ones stay there, and items are blocks of time.
template <class Weight>
Cut cut_of(const Work& work) {
    constexpr int64_t CACHED_BYTES = 600 * 1024;
    const CodecOp& op = *work.op;
    const int64_t given = op.activation == Activation::gated ? HALF_TILE : TILE;  // by a tile
    const int64_t n_tiles = op.rate * op.out_channels / given;
    const int64_t bytes = n_tiles * TILE * op.taps * op.in_channels * int64_t(sizeof(Weight));
    const int64_t wanted = 4 * work.n_threads;
    const bool is_large = bytes > CACHED_BYTES;
    const int64_t n_groups = is_large ? n_tiles : 1;
    const int64_t n_blocks = ceil_div(wanted, n_groups);
    const int64_t per_block = ceil_div(ceil_div(work.steps, n_blocks), TILE_STEPS) * TILE_STEPS;
    return {n_tiles, n_tiles / n_groups, ceil_div(work.steps, per_block), per_block};
}

// What becomes of a tile's sums: bias, residual, activation, and where the result goes.
template <class Act>
struct TileEnd {
    const CodecOp& op;
    const float *bias, *frequency, *scale;
    float *stream, *scratch;
    Act* acts;
    int64_t n_tiles;

    explicit TileEnd(const Work& work, int64_t tiles)
        : op(*work.op),
          bias(at<float>(work, op.bias)),
          frequency(at<float>(work, op.frequency)),
          scale(at<float>(work, op.scale)),
          stream(work.stream),
          scratch(work.scratch),
          acts(static_cast<Act*>(work.out)),
          n_tiles(tiles) {}

    void finish(const float* sums, int64_t step, int64_t tile, int64_t n_steps) const {
        for (int64_t t = 0; t < n_steps; t++, sums += TILE) {
            const int64_t place = (step + t) * n_tiles + tile;
            if (op.activation == Activation::gated) {
                finish_gated(sums, tile, acts + place * HALF_TILE);
            } else {
                for (int64_t c = 0; c < TILE; c += LANES) {
                    finish_vector(sums, tile * TILE, place, c);
                }
            }
        }
    }

    void finish_vector(const float* sums, int64_t channel, int64_t place, int64_t c) const {
        F32 x = load(sums + c) + load(bias + channel + c);
        const int64_t to = place * TILE + c;
        if (op.adds) x += load(stream + to);
        if (op.keeps) store(stream + to, x);
        if (op.scratches) store(scratch + to, x);
        if (!op.feeds) return;
        if (op.activation == Activation::snake) {
            x = snake(x, load(frequency + channel + c), load(scale + channel + c));
        } else if (op.activation == Activation::gelu) {
            x = gelu(x);
        }
        store(acts + to, x);
    }

    // The first half of the tile holds gates, the second what they let through.
    void finish_gated(const float* sums, int64_t tile, Act* to) const {
        const float* b = bias + tile * TILE;
        for (int64_t c = 0; c < HALF_TILE; c += LANES) {
            const F32 gate = load(sums + c) + load(b + c);
            const F32 up = load(sums + HALF_TILE + c) + load(b + HALF_TILE + c);
            store(to + c, silu(gate) * up);
        }
    }
};

template <class Weight, class In, class Out>
void convolve_as(Work& work) {
    const CodecOp& op = *work.op;
    const Cut cut = cut_of<Weight>(work);
    const Weight* weights = at<Weight>(work, op.weights);
    const int64_t tile_weights = op.taps * op.in_channels * TILE;
    const TileEnd<Out> end(work, cut.n_tiles);
    each_item(work, [&](int64_t item) {
        alignas(64) float sums[TILE_STEPS * TILE];
        const int64_t first = item % cut.n_blocks * cut.steps;
        const int64_t last = least(first + cut.steps, work.steps);
        const int64_t first_tile = item / cut.n_blocks * cut.tiles;
        const int64_t n = ceil_div(last - first, TILE_STEPS);  // tiles of nearly equal length
        for (int64_t tile = first_tile; tile < first_tile + cut.tiles; tile++) {
            int64_t step = first;
            for (int64_t i = 0; i < n; i++) {
                const int64_t n_steps = ceil_div(last - step, n - i);
                const In* x = static_cast<const In*>(work.in) + step * op.in_channels;
                const int64_t tap = op.dilation * op.in_channels;
                const TileInput<In> in{x, op.in_channels, op.in_channels, tap, op.taps};
                tile_function<Weight, In>(n_steps)(in, weights + tile * tile_weights, sums);
                end.finish(sums, step, tile, n_steps);
                step += n_steps;
            }
        }
    });
}

template <class Mode>
void convolve(Work& work, int) {
    using Weight = typename Mode::Weight;
    using Act = typename Mode::Act;
    const bool writes_wide = work.op->writes_wide != 0;
    if (work.op->reads_wide) {
        writes_wide ? convolve_as<Weight, float, float>(work)
                    : convolve_as<Weight, float, Act>(work);
    } else {
        writes_wide ? convolve_as<Weight, Act, float>(work) : convolve_as<Weight, Act, Act>(work);
    }
}

// ---- lookup

// The summed entries of the first codebooks in the first half of the channels, the others' behind.
template <class Mode>
void look_up(Work& work, int thread) {
    const CodecOp& op = *work.op;
    const int64_t size = op.out_channels / (op.first_group < op.codebooks ? 2 : 1);
    const float* tables = at<float>(work, op.weights);
    float* row = work.rows + thread * work.row_floats;
    each_item(work, [&](int64_t t) {
        std::memset(row, 0, op.out_channels * sizeof(float));
        for (int64_t q = 0; q < op.codebooks; q++) {
            const float* entry =
                tables + (q * op.entries + work.codes[t * op.codebooks + q]) * size;
            float* to = q < op.first_group ? row : row + size;
            for (int64_t c = 0; c < size; c += LANES) {
                store(to + c, load(to + c) + load(entry + c));
            }
        }
        const Acts<Mode> acts(work, t * op.out_channels);
        for (int64_t c = 0; c < op.out_channels; c += LANES) acts.put(c, load(row + c));
    });
}

// ---- norms, with weights that were folded into what follows them

// Writes (x - mean) / sqrt(variance + eps). Only the channels that are no padding (`entries`) count
// for the variance; what is written into the padding meets weights of zero.
template <class Mode>
void normalise(const float* x, float mean, const CodecOp& op, const Acts<Mode>& acts) {
    const int64_t n = op.entries;
    float squares = 0;
    F32 total{};
    int64_t c = 0;
    for (; c + LANES <= n; c += LANES) {
        const F32 d = load(x + c) - mean;
        total += d * d;
    }
    for (; c < n; c++) squares += (x[c] - mean) * (x[c] - mean);
    squares += sum(total);
    const float factor = 1.0f / __builtin_sqrtf(squares / float(n) + float(op.eps));
    for (c = 0; c < op.out_channels; c += LANES) acts.put(c, (load(x + c) - mean) * factor);
}

template <class Mode>
void norm(Work& work, int) {
    const CodecOp& op = *work.op;
    each_item(work, [&](int64_t t) {
        const float* x = work.stream + t * op.in_channels;
        normalise(x, 0.0f, op, Acts<Mode>(work, t * op.out_channels));
    });
}

// A convolution over time in each channel, then a layer norm over the channels.
template <class Mode>
void mix(Work& work, int thread) {
    const CodecOp& op = *work.op;
    const int64_t n = op.in_channels;
    const float* weights = at<float>(work, op.weights);
    const float* bias = at<float>(work, op.bias);
    float* row = work.rows + thread * work.row_floats;
    each_item(work, [&](int64_t t) {
        const float* x = work.stream + (t - (op.taps - 1)) * n;
        F32 total{};
        for (int64_t c = 0; c < n; c += LANES) {
            F32 y = load(bias + c);
            for (int64_t k = 0; k < op.taps; k++) {
                y += load(weights + k * n + c) * load(x + k * n + c);
            }
            store(row + c, y);
            total += y;  // the padding adds zeros
        }
        const float mean = sum(total) / float(op.entries);
        normalise(row, mean, op, Acts<Mode>(work, t * op.out_channels));
    });
}

// ---- attention

// Turns the halves of a head [d] by the position's angles, in place.
void turn(float* x, const float* cosines, int64_t half) {
    const float* sines = cosines + half;
    for (int64_t c = 0; c < half; c += LANES) {
        const F32 a = load(x + c), b = load(x + half + c);
        store(x + c, a * load(cosines + c) - b * load(sines + c));
        store(x + half + c, b * load(cosines + c) + a * load(sines + c));
    }
}

float dot(const float* a, const float* b, int64_t n) {
    F32 total{};
    for (int64_t c = 0; c < n; c += LANES) total += load(a + c) * load(b + c);
    return sum(total);
}

// Scores [n] to weights that add up to one; `n` is rounded up to whole vectors inside.
void softmax(float* scores, int64_t n) {
    float top = scores[0];
    for (int64_t i = 1; i < n; i++) top = scores[i] > top ? scores[i] : top;
    for (int64_t i = n; i % LANES; i++) scores[i] = top - 200.0f;  // weighs nothing
    F32 total{};
    for (int64_t i = 0; i < n; i += LANES) {
        const F32 weight = exponential(load(scores + i) - top);
        store(scores + i, weight);
        total += weight;
    }
    const float factor = 1.0f / sum(total);
    for (int64_t i = 0; i < n; i++) scores[i] *= factor;
}

// One head at one position: the mean of the window's values, weighted by the keys' scores.
template <class Mode>
void gather(
    const Work& work, const float* query, int64_t group, int64_t position, float* scores,
    const Acts<Mode>& acts) {
    const int64_t d = work.op->head_size;
    const float* keys = work.keys + group * work.ring * d;
    const float* values = work.values + group * work.ring * d;
    const int64_t first = most(0, position - work.op->window + 1);
    const int64_t n = position - first + 1;
    for (int64_t i = 0; i < n; i++) scores[i] = dot(query, keys + (first + i) % work.ring * d, d);
    softmax(scores, n);
    for (int64_t c = 0; c < d; c += LANES) {
        F32 mean{};
        for (int64_t i = 0; i < n; i++) {
            mean += load(values + (first + i) % work.ring * d + c) * scores[i];
        }
        acts.put(c, mean);
    }
}

// Items are the key heads: each keeps the new keys and values, then serves its query heads.
template <class Mode>
void attend(Work& work, int thread) {
    const CodecOp& op = *work.op;
    const int64_t d = op.head_size, shared = op.heads / op.kv_heads;
    const int64_t row_size = (op.heads + 2 * op.kv_heads) * d;
    float* scores = work.rows + thread * work.row_floats;
    each_item(work, [&](int64_t group) {
        for (int64_t t = 0; t < work.steps; t++) {
            float* key = work.scratch + t * row_size + (op.heads + group) * d;
            const float* value = key + op.kv_heads * d;
            const int64_t slot = (group * work.ring + (work.position + t) % work.ring) * d;
            turn(key, work.turns + t * d, d / 2);
            std::memcpy(work.keys + slot, key, d * sizeof(float));
            std::memcpy(work.values + slot, value, d * sizeof(float));
        }
        for (int64_t t = 0; t < work.steps; t++) {
            for (int64_t h = group * shared; h < (group + 1) * shared; h++) {
                float* query = work.scratch + t * row_size + h * d;
                const Acts<Mode> acts(work, t * op.out_channels + h * d);
                turn(query, work.turns + t * d, d / 2);
                gather(work, query, group, work.position + t, scores, acts);
            }
        }
    });
}

// ---- output

// NaN is handed on, as torch's clamp does.
float limited(float x, Activation by) {
    if (by == Activation::tanh) return __builtin_tanhf(x);
    return x > 1.0f ? 1.0f : x < -1.0f ? -1.0f : x;
}

constexpr int64_t OUTPUT_ITEM = 64, OUTPUT_STEPS = 4;

// A convolution to one channel. What the taps of a step see stands in one row, so a sample is one
// long product of two rows; several steps at once share what is read of the weights.
template <class Mode>
void give_samples(Work& work, int) {
    using Act = typename Mode::Act;
    const CodecOp& op = *work.op;
    const float* weights = at<float>(work, op.weights);
    const float bias = *at<float>(work, op.bias);
    const int64_t n = op.taps * op.in_channels;
    each_item(work, [&](int64_t item) {
        const int64_t last = least((item + 1) * OUTPUT_ITEM, work.steps);
        for (int64_t t = item * OUTPUT_ITEM; t < last; t += OUTPUT_STEPS) {
            const Act* rows[OUTPUT_STEPS];
            for (int i = 0; i < OUTPUT_STEPS; i++) {
                rows[i] =
                    static_cast<const Act*>(work.in) + least(t + i, last - 1) * op.in_channels;
            }
            F32 sums[OUTPUT_STEPS] = {};
            for (int64_t c = 0; c < n; c += LANES) {
                const F32 w = load(weights + c);
                MENURA_UNROLL
                for (int i = 0; i < OUTPUT_STEPS; i++) sums[i] += w * load(rows[i] + c);
            }
            for (int i = 0; i < OUTPUT_STEPS && t + i < last; i++) {
                work.samples[t + i] = limited(bias + sum(sums[i]), op.activation);
            }
        }
    });
}

template <class Mode>
int64_t n_items(const Work& work) {
    switch (work.op->kind) {
        case Kind::convolution: {
            const Cut cut = cut_of<typename Mode::Weight>(work);
            return cut.n_tiles / cut.tiles * cut.n_blocks;
        }
        case Kind::attention: return work.op->kv_heads;
        case Kind::output: return ceil_div(work.steps, OUTPUT_ITEM);
        default: return work.steps;
    }
}

template <class Mode>
constexpr CodecKernels kernels() {
    return {
        sizeof(typename Mode::Act),
        n_items<Mode>,
        {look_up<Mode>, convolve<Mode>, mix<Mode>, norm<Mode>, attend<Mode>, give_samples<Mode>}};
}

#define MENURA_STRING_OF(x) #x
#define MENURA_STRING(x) MENURA_STRING_OF(x)

}  // namespace

extern const CodecBody codec_body;
const CodecBody codec_body = {MENURA_STRING(MENURA_BODY), {kernels<Exact>(), kernels<Halved>()}};

}  // namespace menura::codec::MENURA_BODY
