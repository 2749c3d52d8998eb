// Sixteen lanes on AVX-512 with VNNI and BF16: one register each.
#ifndef MENURA_SIMD_AVX512_H
#define MENURA_SIMD_AVX512_H

// GCC 12's own header makes its undefined vectors by reading one before it is set, and warns of it.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop

namespace menura {
namespace avx512 {

using F32 = __m512;
using I32 = __m512i;
using Line = __m512i;      // 64 bytes of a tile
using Int8Line = __m512i;  // a line of biased int8 weights, ready to multiply
using Pair = uint32_t;     // two neighbouring activations as bf16

// How many tokens one pass over the weights serves, and how many tiles are in flight where each
// needs so many sums: all sums of a pass stay in registers.
constexpr int BLOCK_TOKENS = 8;
constexpr int tiles_in_flight(int n_sums) { return n_sums <= 4 ? 4 : n_sums <= 7 ? 2 : 1; }

MENURA_INLINE F32 zero() { return _mm512_setzero_ps(); }
MENURA_INLINE F32 splat(float x) { return _mm512_set1_ps(x); }
MENURA_INLINE F32 load(const float* p) { return _mm512_loadu_ps(p); }
MENURA_INLINE void store(float* p, F32 x) { _mm512_storeu_ps(p, x); }
MENURA_INLINE F32 add(F32 a, F32 b) { return _mm512_add_ps(a, b); }
MENURA_INLINE F32 sub(F32 a, F32 b) { return _mm512_sub_ps(a, b); }
MENURA_INLINE F32 mul(F32 a, F32 b) { return _mm512_mul_ps(a, b); }
MENURA_INLINE F32 div(F32 a, F32 b) { return _mm512_div_ps(a, b); }
MENURA_INLINE F32 fma(F32 a, F32 b, F32 c) { return _mm512_fmadd_ps(a, b, c); }
MENURA_INLINE F32 max(F32 a, F32 b) { return _mm512_max_ps(a, b); }
MENURA_INLINE F32 min(F32 a, F32 b) { return _mm512_min_ps(a, b); }
MENURA_INLINE F32 abs(F32 x) { return _mm512_abs_ps(x); }
MENURA_INLINE F32 round(F32 x) { return _mm512_roundscale_ps(x, 0); }
MENURA_INLINE F32 times_power_of_two(F32 x, F32 n) { return _mm512_scalef_ps(x, n); }
MENURA_INLINE float sum(F32 x) { return _mm512_reduce_add_ps(x); }
MENURA_INLINE float largest(F32 x) { return _mm512_reduce_max_ps(x); }

MENURA_INLINE F32 load_bf16(const uint16_t* p) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}
MENURA_INLINE void store_bf16(uint16_t* p, F32 x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), (__m256i)_mm512_cvtneps_pbh(x));
}

MENURA_INLINE I32 splat_i32(int32_t x) { return _mm512_set1_epi32(x); }
MENURA_INLINE I32 add_i32(I32 a, I32 b) { return _mm512_add_epi32(a, b); }
MENURA_INLINE I32 times_128(I32 x) { return _mm512_slli_epi32(x, 7); }
MENURA_INLINE int32_t sum_i32(I32 x) { return _mm512_reduce_add_epi32(x); }
MENURA_INLINE F32 to_f32(I32 x) { return _mm512_cvtepi32_ps(x); }
MENURA_INLINE I32 round_i32(F32 x) { return _mm512_cvtps_epi32(x); }
MENURA_INLINE void store_i8(int8_t* p, I32 x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(x));
}

MENURA_INLINE Line load_line(const uint8_t* p) {
    return _mm512_loadu_si512(reinterpret_cast<const void*>(p));
}
MENURA_INLINE Line low_nibbles(Line w) { return _mm512_and_si512(w, _mm512_set1_epi8(15)); }
MENURA_INLINE Line high_nibbles(Line w) {
    return _mm512_and_si512(_mm512_srli_epi16(w, 4), _mm512_set1_epi8(15));
}

// The weights carry a bias of 128, which the instruction needs; its share is taken off at once.
MENURA_INLINE I32 int8_start(int32_t sum_of_activations) {
    return splat_i32(-128 * sum_of_activations);
}
MENURA_INLINE Int8Line ready_int8(Line w) { return w; }
MENURA_INLINE I32 dot4_int8(I32 acc, Int8Line w, int32_t x) {
    return _mm512_dpbusd_epi32(acc, w, splat_i32(x));
}
MENURA_INLINE I32 dot4_nibbles(I32 acc, Line w, int32_t x) {
    return _mm512_dpbusd_epi32(acc, w, splat_i32(x));
}

MENURA_INLINE void store_pairs(Pair* p, F32 x) {
    store_bf16(reinterpret_cast<uint16_t*>(p), x);
}
MENURA_INLINE F32 dot2(F32 acc, Line w, Pair x) {
    return _mm512_dpbf16_ps(acc, (__m512bh)w, (__m512bh)splat_i32(static_cast<int32_t>(x)));
}
// The even and odd columns of a bf16 line, as numbers.
MENURA_INLINE F32 even_columns(Line w) { return _mm512_castsi512_ps(_mm512_slli_epi32(w, 16)); }
MENURA_INLINE F32 odd_columns(Line w) {
    return _mm512_castsi512_ps(_mm512_and_si512(w, _mm512_set1_epi32(-65536)));
}

}  // namespace avx512
}  // namespace menura

#endif
