// Sixteen lanes on ARM with the dot product instructions: four registers each.
#ifndef MENURA_SIMD_NEON_H
#define MENURA_SIMD_NEON_H

#include <arm_neon.h>

namespace menura {
namespace neon {

struct F32 {
    float32x4_t v[4];
};
struct I32 {
    int32x4_t v[4];
};
struct Line {  // 64 bytes of a tile
    uint8x16_t v[4];
};
struct Int8Line {
    int8x16_t v[4];
};
struct Pair {  // two neighbouring activations, as they are
    float even, odd;
};

// How many tokens one pass over the weights serves, and how many tiles are in flight where each
// needs so many sums: all sums of a pass stay in registers.
constexpr int BLOCK_TOKENS = 4;
constexpr int tiles_in_flight(int n_sums) { return n_sums <= 1 ? 4 : n_sums <= 3 ? 2 : 1; }

// The same operation on each of the four registers of a value.
#define MENURA_EACH(TYPE, EXPRESSION)       \
    TYPE out;                               \
    for (int i = 0; i < 4; ++i) {           \
        out.v[i] = (EXPRESSION);            \
    }                                       \
    return out

MENURA_INLINE F32 splat(float x) { MENURA_EACH(F32, vdupq_n_f32(x)); }
MENURA_INLINE F32 zero() { return splat(0.0f); }
MENURA_INLINE F32 load(const float* p) { MENURA_EACH(F32, vld1q_f32(p + 4 * i)); }
MENURA_INLINE void store(float* p, F32 x) {
    for (int i = 0; i < 4; ++i) {
        vst1q_f32(p + 4 * i, x.v[i]);
    }
}
MENURA_INLINE F32 add(F32 x, F32 y) { MENURA_EACH(F32, vaddq_f32(x.v[i], y.v[i])); }
MENURA_INLINE F32 sub(F32 x, F32 y) { MENURA_EACH(F32, vsubq_f32(x.v[i], y.v[i])); }
MENURA_INLINE F32 mul(F32 x, F32 y) { MENURA_EACH(F32, vmulq_f32(x.v[i], y.v[i])); }
MENURA_INLINE F32 div(F32 x, F32 y) { MENURA_EACH(F32, vdivq_f32(x.v[i], y.v[i])); }
MENURA_INLINE F32 fma(F32 x, F32 y, F32 z) {
    MENURA_EACH(F32, vfmaq_f32(z.v[i], x.v[i], y.v[i]));
}
MENURA_INLINE F32 max(F32 x, F32 y) { MENURA_EACH(F32, vmaxq_f32(x.v[i], y.v[i])); }
MENURA_INLINE F32 min(F32 x, F32 y) { MENURA_EACH(F32, vminq_f32(x.v[i], y.v[i])); }
MENURA_INLINE F32 abs(F32 x) { MENURA_EACH(F32, vabsq_f32(x.v[i])); }
MENURA_INLINE F32 round(F32 x) { MENURA_EACH(F32, vrndnq_f32(x.v[i])); }
// Adds whole n (from -126 to 127) to the exponents: x must stay a normal number.
MENURA_INLINE F32 times_power_of_two(F32 x, F32 n) {
    MENURA_EACH(F32, vmulq_f32(x.v[i], vreinterpretq_f32_s32(vshlq_n_s32(
        vaddq_s32(vcvtnq_s32_f32(n.v[i]), vdupq_n_s32(127)), 23))));
}
MENURA_INLINE float sum(F32 x) {
    return vaddvq_f32(vaddq_f32(vaddq_f32(x.v[0], x.v[1]), vaddq_f32(x.v[2], x.v[3])));
}
MENURA_INLINE float largest(F32 x) {
    return vmaxvq_f32(vmaxq_f32(vmaxq_f32(x.v[0], x.v[1]), vmaxq_f32(x.v[2], x.v[3])));
}

MENURA_INLINE F32 load_bf16(const uint16_t* p) {
    MENURA_EACH(F32, vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p + 4 * i), 16)));
}
// The upper halves, rounded to nearest even.
MENURA_INLINE uint16x4_t narrow_bf16(float32x4_t x) {
    const uint32x4_t bits = vreinterpretq_u32_f32(x);
    const uint32x4_t is_odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    return vshrn_n_u32(vaddq_u32(bits, vaddq_u32(is_odd, vdupq_n_u32(0x7fff))), 16);
}
MENURA_INLINE void store_bf16(uint16_t* p, F32 x) {
    for (int i = 0; i < 4; ++i) {
        vst1_u16(p + 4 * i, narrow_bf16(x.v[i]));
    }
}

MENURA_INLINE I32 splat_i32(int32_t x) { MENURA_EACH(I32, vdupq_n_s32(x)); }
MENURA_INLINE I32 add_i32(I32 x, I32 y) { MENURA_EACH(I32, vaddq_s32(x.v[i], y.v[i])); }
MENURA_INLINE I32 times_128(I32 x) { MENURA_EACH(I32, vshlq_n_s32(x.v[i], 7)); }
MENURA_INLINE int32_t sum_i32(I32 x) {
    return vaddvq_s32(vaddq_s32(vaddq_s32(x.v[0], x.v[1]), vaddq_s32(x.v[2], x.v[3])));
}
MENURA_INLINE F32 to_f32(I32 x) { MENURA_EACH(F32, vcvtq_f32_s32(x.v[i])); }
MENURA_INLINE I32 round_i32(F32 x) { MENURA_EACH(I32, vcvtnq_s32_f32(x.v[i])); }
MENURA_INLINE void store_i8(int8_t* p, I32 x) {
    const int16x8_t low = vcombine_s16(vqmovn_s32(x.v[0]), vqmovn_s32(x.v[1]));
    const int16x8_t high = vcombine_s16(vqmovn_s32(x.v[2]), vqmovn_s32(x.v[3]));
    vst1q_s8(p, vcombine_s8(vqmovn_s16(low), vqmovn_s16(high)));
}

MENURA_INLINE Line load_line(const uint8_t* p) { MENURA_EACH(Line, vld1q_u8(p + 16 * i)); }
MENURA_INLINE Line low_nibbles(Line w) {
    MENURA_EACH(Line, vandq_u8(w.v[i], vdupq_n_u8(15)));
}
MENURA_INLINE Line high_nibbles(Line w) { MENURA_EACH(Line, vshrq_n_u8(w.v[i], 4)); }

MENURA_INLINE I32 int8_start(int32_t) { return splat_i32(0); }
MENURA_INLINE Int8Line ready_int8(Line w) {
    MENURA_EACH(Int8Line, vreinterpretq_s8_u8(veorq_u8(w.v[i], vdupq_n_u8(128))));
}
MENURA_INLINE I32 dot4_int8(I32 acc, Int8Line w, int32_t x) {
    const int8x16_t bytes = vreinterpretq_s8_s32(vdupq_n_s32(x));
    MENURA_EACH(I32, vdotq_s32(acc.v[i], w.v[i], bytes));
}
MENURA_INLINE I32 dot4_nibbles(I32 acc, Line w, int32_t x) {
    const int8x16_t bytes = vreinterpretq_s8_s32(vdupq_n_s32(x));
    MENURA_EACH(I32, vdotq_s32(acc.v[i], vreinterpretq_s8_u8(w.v[i]), bytes));
}

MENURA_INLINE void store_pairs(Pair* p, F32 x) { store(reinterpret_cast<float*>(p), x); }
MENURA_INLINE F32 even_columns(Line w) {
    MENURA_EACH(F32, vreinterpretq_f32_u32(vshlq_n_u32(vreinterpretq_u32_u8(w.v[i]), 16)));
}
MENURA_INLINE F32 odd_columns(Line w) {
    MENURA_EACH(F32, vreinterpretq_f32_u32(
        vandq_u32(vreinterpretq_u32_u8(w.v[i]), vdupq_n_u32(0xffff0000u))));
}
MENURA_INLINE F32 dot2(F32 acc, Line w, Pair x) {
    acc = fma(even_columns(w), splat(x.even), acc);
    return fma(odd_columns(w), splat(x.odd), acc);
}

#undef MENURA_EACH

}  // namespace neon
}  // namespace menura

#endif
