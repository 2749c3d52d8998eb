// The one heavy loop of the codec: a tile of a convolution, summed in registers.
//
// A tile is 32 output channels by up to TILE_STEPS output steps. Weights are packed in the order of
// reading, [tap][in channel][32], so they stream through once; each is multiplied with the same
// input channel of every step. An output's sum runs over taps and channels in one fixed order,
// whatever the tile: pieces of any size give the same numbers.
#ifndef MENURA_CODEC_TILES_H
#define MENURA_CODEC_TILES_H

#include <utility>

#include "codec.h"
#include "codec_vectors.h"

namespace menura::codec::MENURA_BODY {

// Where a tile's input steps are: step t of tap k starts at x + t * step + k * tap.
template <class Act>
struct TileInput {
    const Act* x;
    int64_t channels, step, tap, taps;
};

// How sums take in one input channel, or a pair of them, for each pair of number formats.
template <class Weight, class Act>
struct Products;

template <>
struct Products<float, float> {
    static constexpr int CHANNELS = 1;
    template <int Steps>
    static inline void add(
        F32 (&sums)[Steps][TILE_VECTORS], const float* w, const float* x, int64_t step) {
        F32 rows[TILE_VECTORS];
        MENURA_UNROLL
        for (int v = 0; v < TILE_VECTORS; v++) rows[v] = load(w + v * LANES);
        MENURA_UNROLL
        for (int t = 0; t < Steps; t++) {
            const F32 input = all(x[t * step]);
            MENURA_UNROLL
            for (int v = 0; v < TILE_VECTORS; v++) sums[t][v] += rows[v] * input;
        }
    }
};

// Weights in pairs of channels, the first in the lower half of each 32 bits.
template <>
struct Products<Bf16, float> {
    static constexpr int CHANNELS = 2;
    template <int Steps>
    static inline void add(
        F32 (&sums)[Steps][TILE_VECTORS], const Bf16* w, const float* x, int64_t step) {
        F32 rows[TILE_VECTORS];
        MENURA_UNROLL
        for (int v = 0; v < TILE_VECTORS; v++) {
            rows[v] = as_float(load_bits(w + v * 2 * LANES) << 16);
        }
        MENURA_UNROLL
        for (int t = 0; t < Steps; t++) {
            const F32 input = all(x[t * step]);
            MENURA_UNROLL
            for (int v = 0; v < TILE_VECTORS; v++) sums[t][v] += rows[v] * input;
        }
        MENURA_UNROLL
        for (int v = 0; v < TILE_VECTORS; v++) {
            rows[v] = as_float(load_bits(w + v * 2 * LANES) & 0xffff0000u);
        }
        MENURA_UNROLL
        for (int t = 0; t < Steps; t++) {
            const F32 input = all(x[t * step + 1]);
            MENURA_UNROLL
            for (int v = 0; v < TILE_VECTORS; v++) sums[t][v] += rows[v] * input;
        }
    }
};

#if defined(MENURA_BODY_AVX512)
inline __m512bh load_pairs(const Bf16* from) {
    return reinterpret_cast<__m512bh>(_mm512_loadu_si512(from));
}
inline __m512bh all_pairs(const void* from) {
    int pair;
    std::memcpy(&pair, from, sizeof pair);
    return reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
}
inline F32 add_pairs(F32 sum, __m512bh a, __m512bh b) {
    return reinterpret_cast<F32>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum), a, b));
}

template <>
struct Products<Bf16, Bf16> {
    static constexpr int CHANNELS = 2;
    template <int Steps>
    static inline void add(
        F32 (&sums)[Steps][TILE_VECTORS], const Bf16* w, const Bf16* x, int64_t step) {
        __m512bh rows[TILE_VECTORS];
        MENURA_UNROLL
        for (int v = 0; v < TILE_VECTORS; v++) rows[v] = load_pairs(w + v * 2 * LANES);
        MENURA_UNROLL
        for (int t = 0; t < Steps; t++) {
            const __m512bh input = all_pairs(x + t * step);
            MENURA_UNROLL
            for (int v = 0; v < TILE_VECTORS; v++) {
                sums[t][v] = add_pairs(sums[t][v], rows[v], input);
            }
        }
    }
};
#endif

// The sums [Steps, 32] of one tile. Bodies with narrow registers walk it in strips of channels.
template <class Weight, class Act, int Steps>
void tile_sums(const TileInput<Act>& in, const Weight* weights, float* out) {
    using P = Products<Weight, Act>;
    constexpr int STRIP = TILE_VECTORS * LANES;
    static_assert(TILE % STRIP == 0, "a tile is whole strips");
    for (int strip = 0; strip < TILE; strip += STRIP) {
        F32 sums[Steps][TILE_VECTORS] = {};
        const Weight* w = weights + strip * P::CHANNELS;
        for (int64_t k = 0; k < in.taps; k++) {
            const Act* x = in.x + k * in.tap;
            for (int64_t c = 0; c < in.channels; c += P::CHANNELS, w += TILE * P::CHANNELS) {
                P::template add<Steps>(sums, w, x + c, in.step);
            }
        }
        MENURA_UNROLL
        for (int t = 0; t < Steps; t++) {
            MENURA_UNROLL
            for (int v = 0; v < TILE_VECTORS; v++) {
                store(out + t * TILE + strip + v * LANES, sums[t][v]);
            }
        }
    }
}

template <class Weight, class Act>
using TileSums = void (*)(const TileInput<Act>&, const Weight*, float*);

template <class Weight, class Act, int... Index>
constexpr TileSums<Weight, Act> choose(int64_t steps, std::integer_sequence<int, Index...>) {
    constexpr TileSums<Weight, Act> table[] = {tile_sums<Weight, Act, Index + 1>...};
    return table[steps - 1];
}

// The function for a tile of 1 to TILE_STEPS steps.
template <class Weight, class Act>
TileSums<Weight, Act> tile_function(int64_t steps) {
    return choose<Weight, Act>(steps, std::make_integer_sequence<int, TILE_STEPS>());
}

}  // namespace menura::codec::MENURA_BODY

#endif
