// What a body computes for the language model: the table through which lm.cpp calls it.
#ifndef MENURA_LM_KERNELS_H
#define MENURA_LM_KERNELS_H

#include "api.h"

namespace menura {

// Up to `block_tokens` tokens' activations, converted for one kind of matrix and interleaved:
// the same columns of all tokens stand side by side.
struct Block {
    void* values;
    float* scales;  // [groups, n_tokens]
    int32_t* sums;  // [groups, planes, n_tokens]: the sums of a group's int8 activations
    float* totals;  // scratch [MAX_TOTALS]: sums that wait while others need the registers
    int n_tokens;
};

// 16 lanes of at most 4 tiles at once for at most 8 tokens.
constexpr int MAX_TOTALS = 16 * 4 * 8;

// What one token's query heads read through the key head that they share.
struct Attention {
    const float* queries;          // [n_queries, head_dim], scaled
    float* gathered;               // [n_queries, head_dim] out
    float* scores;                 // scratch [n_positions rounded up to 16]
    const uint16_t* const* pages;  // of the token's cache
    int64_t head_offset;           // of this layer and key head inside a page
    int n_queries;
    int n_positions;
    int head_dim;
};

struct LmKernels {
    const char* name;
    int block_tokens;

    // Root mean square norm of x [n] times weight [n]; n is a multiple of 16.
    void (*normalise)(const float* x, const float* weight, float eps, int n, float* out);
    // Converts one token's x [n] into its place in a block.
    void (*prepare)(int kind, const float* x, int n, int token, const Block* block);
    // Rows 16 * first to 16 * last of the product with each token, to out + token * stride.
    void (*multiply)(
        const menura_matrix* matrix, int first, int last, const Block* block, float* out,
        int64_t stride);
    // silu(gate) * up [16 * n_pairs] from pairs of 16 gates and 16 ups.
    void (*swiglu)(const float* gate_up, int n_pairs, float* out);
    // x [n] += y [n]; n is a multiple of 16.
    void (*add)(float* x, const float* y, int n);
    void (*attend)(const Attention* attention);
};

// The tables of the bodies in this build.
const LmKernels* lm_kernels_avx512();
const LmKernels* lm_kernels_avx2();
const LmKernels* lm_kernels_neon();

}  // namespace menura

#endif
