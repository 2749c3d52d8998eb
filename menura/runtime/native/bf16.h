// bf16 numbers outside the bodies: the upper half of a float.
#ifndef MENURA_BF16_H
#define MENURA_BF16_H

#include <cstdint>
#include <cstring>

namespace menura {
namespace {

inline uint32_t bits_of(float x) {
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

// The nearest bf16 number; ties go to the even one.
inline uint16_t to_bf16(float x) {
    const uint32_t bits = bits_of(x);
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float from_bf16(uint16_t x) {
    const uint32_t bits = static_cast<uint32_t>(x) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

}  // namespace
}  // namespace menura

#endif
