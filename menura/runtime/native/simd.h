// The vectors of the body that is being compiled: sixteen lanes of float or int32, and 64-byte
// lines of packed weights. A body file is compiled once for each body, with
// -DMENURA_BODY=avx512|avx2|neon and the flags that allow its instructions.
//
// All functions are forced inline. The linker keeps only one copy of an ordinary inline function,
// and if that were the AVX-512 one, the library would fail on every smaller CPU. For the same
// reason body files use no templates of the standard library.
#ifndef MENURA_SIMD_H
#define MENURA_SIMD_H

#include <stdint.h>

#define MENURA_INLINE static inline __attribute__((always_inline))

#if defined(MENURA_BODY_AVX512)
#include "simd_avx512.h"
#elif defined(MENURA_BODY_AVX2)
#include "simd_avx2.h"
#elif defined(MENURA_BODY_NEON)
#include "simd_neon.h"
#else
#error "compile this file with -DMENURA_BODY_AVX512, -DMENURA_BODY_AVX2 or -DMENURA_BODY_NEON"
#endif

namespace menura {
namespace MENURA_BODY {

constexpr int LANES = 16;

// e^x with a relative error below 2e-7; x is held between -87 and 88, and NaN stays NaN.
MENURA_INLINE F32 exp(F32 x) {
    // The second operand is what x86 gives where one of them is NaN.
    x = min(splat(88.0f), max(splat(-87.0f), x));
    const F32 n = round(mul(x, splat(1.44269504f)));
    // ln 2 in two parts, so that the remainder keeps its last bits.
    F32 r = fma(n, splat(-0.693359375f), x);
    r = fma(n, splat(2.12194440e-4f), r);
    F32 p = splat(1.0f / 5040);
    p = fma(p, r, splat(1.0f / 720));
    p = fma(p, r, splat(1.0f / 120));
    p = fma(p, r, splat(1.0f / 24));
    p = fma(p, r, splat(1.0f / 6));
    p = fma(p, r, splat(0.5f));
    p = fma(p, r, splat(1.0f));
    p = fma(p, r, splat(1.0f));
    return times_power_of_two(p, n);
}

}  // namespace MENURA_BODY
}  // namespace menura

#endif
