// Sixteen lanes on AVX2 with FMA: two registers each.
#ifndef MENURA_SIMD_AVX2_H
#define MENURA_SIMD_AVX2_H

#include <immintrin.h>

namespace menura {
namespace avx2 {

struct F32 {
    __m256 a, b;
};
struct I32 {
    __m256i a, b;
};
using Line = I32;  // 64 bytes of a tile
struct Int8Line {
    I32 signs, sizes;
};
struct Pair {  // two neighbouring activations; AVX2 has no bf16, so they stay as they are
    float even, odd;
};

// How many tokens one pass over the weights serves, and how many tiles are in flight where each
// needs so many sums: all sums of a pass stay in registers.
constexpr int BLOCK_TOKENS = 4;
constexpr int tiles_in_flight(int n_sums) { return n_sums <= 2 ? 2 : 1; }

MENURA_INLINE F32 zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
MENURA_INLINE F32 splat(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
MENURA_INLINE F32 load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
MENURA_INLINE void store(float* p, F32 x) {
    _mm256_storeu_ps(p, x.a);
    _mm256_storeu_ps(p + 8, x.b);
}
MENURA_INLINE F32 add(F32 x, F32 y) {
    return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)};
}
MENURA_INLINE F32 sub(F32 x, F32 y) {
    return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)};
}
MENURA_INLINE F32 mul(F32 x, F32 y) {
    return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)};
}
MENURA_INLINE F32 div(F32 x, F32 y) {
    return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)};
}
MENURA_INLINE F32 fma(F32 x, F32 y, F32 z) {
    return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
}
MENURA_INLINE F32 max(F32 x, F32 y) {
    return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)};
}
MENURA_INLINE F32 min(F32 x, F32 y) {
    return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)};
}
MENURA_INLINE F32 abs(F32 x) {
    const __m256 mask = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
    return {_mm256_and_ps(x.a, mask), _mm256_and_ps(x.b, mask)};
}
MENURA_INLINE F32 round(F32 x) {
    constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    return {_mm256_round_ps(x.a, nearest), _mm256_round_ps(x.b, nearest)};
}
// Adds whole n (from -126 to 127) to the exponents: x must stay a normal number.
MENURA_INLINE F32 times_power_of_two(F32 x, F32 n) {
    const __m256i bias = _mm256_set1_epi32(127);
    const __m256i a = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n.a), bias), 23);
    const __m256i b = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n.b), bias), 23);
    return mul(x, {_mm256_castsi256_ps(a), _mm256_castsi256_ps(b)});
}
MENURA_INLINE float sum(F32 x) {
    const __m256 eight = _mm256_add_ps(x.a, x.b);
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    four = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(four, _mm_shuffle_ps(four, four, 1)));
}
MENURA_INLINE float largest(F32 x) {
    const __m256 eight = _mm256_max_ps(x.a, x.b);
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(four, _mm_shuffle_ps(four, four, 1)));
}

MENURA_INLINE __m256 widen_bf16(const uint16_t* p) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}
MENURA_INLINE F32 load_bf16(const uint16_t* p) { return {widen_bf16(p), widen_bf16(p + 8)}; }
// The upper halves, rounded to nearest even.
MENURA_INLINE __m256i narrow_bf16(__m256 x) {
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i is_odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounding = _mm256_add_epi32(is_odd, _mm256_set1_epi32(0x7fff));
    return _mm256_srli_epi32(_mm256_add_epi32(bits, rounding), 16);
}
MENURA_INLINE void store_bf16(uint16_t* p, F32 x) {
    // Packing works in each 128-bit half, so the quarters are put back in order.
    const __m256i packed = _mm256_packus_epi32(narrow_bf16(x.a), narrow_bf16(x.b));
    _mm256_storeu_si256(
        reinterpret_cast<__m256i*>(p), _mm256_permute4x64_epi64(packed, 0xd8));
}

MENURA_INLINE I32 splat_i32(int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
MENURA_INLINE I32 add_i32(I32 x, I32 y) {
    return {_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)};
}
MENURA_INLINE I32 times_128(I32 x) {
    return {_mm256_slli_epi32(x.a, 7), _mm256_slli_epi32(x.b, 7)};
}
MENURA_INLINE int32_t sum_i32(I32 x) {
    const __m256i eight = _mm256_add_epi32(x.a, x.b);
    __m128i four =
        _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}
MENURA_INLINE F32 to_f32(I32 x) { return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)}; }
MENURA_INLINE I32 round_i32(F32 x) { return {_mm256_cvtps_epi32(x.a), _mm256_cvtps_epi32(x.b)}; }
MENURA_INLINE void store_i8(int8_t* p, I32 x) {
    const __m256i halves = _mm256_permute4x64_epi64(_mm256_packs_epi32(x.a, x.b), 0xd8);
    const __m128i bytes =
        _mm_packs_epi16(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
}

MENURA_INLINE Line load_line(const uint8_t* p) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32))};
}
MENURA_INLINE Line low_nibbles(Line w) {
    const __m256i mask = _mm256_set1_epi8(15);
    return {_mm256_and_si256(w.a, mask), _mm256_and_si256(w.b, mask)};
}
MENURA_INLINE Line high_nibbles(Line w) {
    return low_nibbles({_mm256_srli_epi16(w.a, 4), _mm256_srli_epi16(w.b, 4)});
}

// Unsigned times signed bytes, added in fours. The 16-bit sums in between must not saturate.
MENURA_INLINE __m256i dot4(__m256i acc, __m256i unsigned_bytes, __m256i signed_bytes) {
    const __m256i twos = _mm256_maddubs_epi16(unsigned_bytes, signed_bytes);
    return _mm256_add_epi32(acc, _mm256_madd_epi16(twos, _mm256_set1_epi16(1)));
}
// The signs move from the weights to the activations. Both are at most 127 in size, so a sum of
// two products is at most 32 258 and fits 16 bits.
MENURA_INLINE I32 int8_start(int32_t) { return splat_i32(0); }
MENURA_INLINE Int8Line ready_int8(Line w) {
    const __m256i bias = _mm256_set1_epi8(-128);
    const I32 signs = {_mm256_xor_si256(w.a, bias), _mm256_xor_si256(w.b, bias)};
    return {signs, {_mm256_abs_epi8(signs.a), _mm256_abs_epi8(signs.b)}};
}
MENURA_INLINE I32 dot4_int8(I32 acc, Int8Line w, int32_t x) {
    const __m256i bytes = _mm256_set1_epi32(x);
    return {dot4(acc.a, w.sizes.a, _mm256_sign_epi8(bytes, w.signs.a)),
            dot4(acc.b, w.sizes.b, _mm256_sign_epi8(bytes, w.signs.b))};
}
MENURA_INLINE I32 dot4_nibbles(I32 acc, Line w, int32_t x) {
    const __m256i bytes = _mm256_set1_epi32(x);
    return {dot4(acc.a, w.a, bytes), dot4(acc.b, w.b, bytes)};
}

MENURA_INLINE void store_pairs(Pair* p, F32 x) { store(reinterpret_cast<float*>(p), x); }
MENURA_INLINE F32 even_columns(Line w) {
    return {_mm256_castsi256_ps(_mm256_slli_epi32(w.a, 16)),
            _mm256_castsi256_ps(_mm256_slli_epi32(w.b, 16))};
}
MENURA_INLINE F32 odd_columns(Line w) {
    const __m256i mask = _mm256_set1_epi32(-65536);
    return {_mm256_castsi256_ps(_mm256_and_si256(w.a, mask)),
            _mm256_castsi256_ps(_mm256_and_si256(w.b, mask))};
}
MENURA_INLINE F32 dot2(F32 acc, Line w, Pair x) {
    acc = fma(even_columns(w), splat(x.even), acc);
    return fma(odd_columns(w), splat(x.odd), acc);
}

}  // namespace avx2
}  // namespace menura

#endif
