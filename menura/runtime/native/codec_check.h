// The checks that a program must pass before it is run.
#ifndef MENURA_CODEC_CHECK_H
#define MENURA_CODEC_CHECK_H

#include <vector>

#include "codec.h"

namespace menura::codec {

constexpr int64_t ALIGNMENT = 64;  // of weights and buffers: a cache line

// The steps that an operation remembers of the piece before.
inline int64_t past_steps(const CodecOp& op) { return (op.taps - 1) * op.dilation; }

inline bool reads_acts(const CodecOp& op) {
    return op.kind == Kind::convolution || op.kind == Kind::output;
}

// Throws std::invalid_argument where an operation would leave its weights, which have `n_bytes`, or
// read what no operation before it wrote. A convolution's weights have `weight_bytes` each.
void check_program(const std::vector<CodecOp>& ops, int64_t weight_bytes, int64_t n_bytes);

}  // namespace menura::codec

#endif
