// Vectors of float32 for the codec's kernels, as wide as the body's registers.
//
// The compilers' own vector types carry all arithmetic, so one text serves every body. Only what
// they cannot say stands here by instruction: the products of bfloat16 pairs of AVX-512.
#ifndef MENURA_CODEC_VECTORS_H
#define MENURA_CODEC_VECTORS_H

#include <cstdint>
#include <cstring>

#if defined(MENURA_BODY_AVX512)
#include <immintrin.h>
#endif

#if defined(__GNUC__) && !defined(__clang__)
#define MENURA_UNROLL _Pragma("GCC unroll 16")
#else
#define MENURA_UNROLL _Pragma("clang loop unroll(full)")
#endif

namespace menura::codec::MENURA_BODY {

#if defined(MENURA_BODY_AVX512)
constexpr int LANES = 16, TILE_VECTORS = 2, TILE_STEPS = 12;  // 24 of 32 registers hold sums
constexpr bool BF16_PRODUCTS = true;
#elif defined(MENURA_BODY_AVX2)
constexpr int LANES = 8, TILE_VECTORS = 2, TILE_STEPS = 6;  // 12 of 16
constexpr bool BF16_PRODUCTS = false;
#else  // NEON; nothing in it needs an ARM compiler, so its loops can be tried on any machine
constexpr int LANES = 4, TILE_VECTORS = 4, TILE_STEPS = 6;  // 24 of 32
constexpr bool BF16_PRODUCTS = false;
#endif

typedef float F32 __attribute__((vector_size(LANES * 4)));
typedef uint32_t U32 __attribute__((vector_size(LANES * 4)));

struct Bf16 {
    uint16_t bits;
};

inline F32 all(float x) { return x - F32{}; }
inline F32 load(const float* from) {
    F32 x;
    std::memcpy(&x, from, sizeof x);
    return x;
}
inline U32 load_bits(const void* from) {
    U32 x;
    std::memcpy(&x, from, sizeof x);
    return x;
}
inline void store(float* to, F32 x) { std::memcpy(to, &x, sizeof x); }
inline F32 as_float(U32 bits) { return reinterpret_cast<F32>(bits); }
inline U32 as_bits(F32 x) { return reinterpret_cast<U32>(x); }

inline float sum(F32 x) {
    float total = 0;
    for (int lane = 0; lane < LANES; lane++) total += x[lane];
    return total;
}

#if defined(MENURA_BODY_AVX512)
inline F32 load(const Bf16* from) {
    typedef uint16_t U16 __attribute__((vector_size(LANES * 2)));
    U16 halves;
    std::memcpy(&halves, from, sizeof halves);
    return as_float(__builtin_convertvector(halves, U32) << 16);
}
inline void store(Bf16* to, F32 x) {
    const __m256bh half = _mm512_cvtneps_pbh(reinterpret_cast<__m512>(x));
    std::memcpy(to, &half, sizeof half);
}
#endif

// ---- elementary functions, accurate to a few units in the last place; NaN stays NaN

// Adding it moves a number's whole part into the lowest bits of the mantissa.
constexpr float ROUNDER = 12582912.0f;  // 1.5 * 2^23

inline F32 sine(F32 x) {
    // x = n * pi + r with r in -pi/2..pi/2; the sign of an odd n is not needed, see snake.
    const F32 n = (x * 0.318309886f + ROUNDER) - ROUNDER;
    const F32 r = (x - n * 3.140625f) - n * 9.67653589793e-4f;
    const F32 square = r * r;
    F32 p = square * -2.3889859e-08f + 2.7525562e-06f;
    p = p * square - 0.00019840874f;
    p = p * square + 0.0083333310f;
    p = p * square - 0.16666667f;
    return p * square * r + r;
}

inline F32 snake(F32 x, F32 frequency, F32 scale) {
    const F32 s = sine(x * frequency);  // only its square counts, so its sign may be wrong
    return s * s * scale + x;
}

inline F32 exponential(F32 x) {
    x = x < -87.0f ? all(-87.0f) : x;
    x = x > 88.0f ? all(88.0f) : x;
    const F32 shifted = x * 1.44269504f + ROUNDER;
    const F32 n = shifted - ROUNDER;
    const F32 r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    F32 p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    const U32 power = (as_bits(shifted) + 127u) << 23;  // 2^n; the bits above are shifted out
    return (p * r * r + r + 1.0f) * as_float(power);
}

inline F32 silu(F32 x) { return x / (exponential(-x) + 1.0f); }

// x * P(z <= x) of a standard normal z. Source: Abramowitz and Stegun 7.1.26 (1.5e-7) for erf.
inline F32 gelu(F32 x) {
    const F32 magnitude = as_float(as_bits(x) & 0x7fffffffu) * 0.707106781f;
    const F32 t = 1.0f / (magnitude * 0.3275911f + 1.0f);
    F32 p = t * 1.061405429f - 1.453152027f;
    p = p * t + 1.421413741f;
    p = p * t - 0.284496736f;
    p = p * t + 0.254829592f;
    const F32 tail = p * t * exponential(-magnitude * magnitude) * 0.5f;  // P(z > |x|)
    return x * (x < 0.0f ? tail : 1.0f - tail);
}

}  // namespace menura::codec::MENURA_BODY

#endif
