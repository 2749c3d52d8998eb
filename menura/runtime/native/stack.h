// A stack of transformer blocks over a batch of tokens, worked by all threads together.
#ifndef MENURA_STACK_H
#define MENURA_STACK_H

#include <memory>
#include <vector>

#include "cache.h"
#include "lm_kernels.h"
#include "pool.h"

namespace menura {

// The most tokens of one pass: enough that a prompt's products are bound by arithmetic, few enough
// that their activations stay in a core's cache.
constexpr int MAX_TOKENS = 32;

// One position of one utterance. Tokens of one pass may belong to several utterances.
struct Token {
    Cache* cache;
    int position;
};

// The largest sizes among all matrices and contexts that a worker meets.
struct Limits {
    int n_columns = 0;
    int n_rows = 0;
    void include(const menura_matrix& matrix);
};

// One thread's hands: its share of the work, its converted activations and scratch memory.
class Worker {
public:
    Worker(const LmKernels& kernels, const Limits& limits);

    void reserve_positions(int n_positions);
    void begin(Pool& pool, int thread, int n_threads);
    void barrier() const { pool_->barrier(); }
    bool is_first() const { return thread_ == 0; }

    // Converts rows [n_tokens, n_values] that are `stride` apart for products with this kind.
    void prepare(int kind, const float* rows, int n_values, int64_t stride, int n_tokens);
    // The same after a root mean square norm with this weight.
    void prepare_normed(
        int kind, const float* rows, const float* weight, float eps, int n_values, int64_t stride,
        int n_tokens);
    // This thread's rows of the product with the prepared tokens; gives the first and last tile.
    struct Share {
        int first, last;
    };
    Share multiply(const menura_matrix& matrix, float* out, int64_t stride) const;
    // This thread's part of n things, in steps.
    Share share(int n, int step) const;

    const LmKernels& kernels;
    float* scores() { return scores_.data(); }

private:
    Block block(int index) const;

    Pool* pool_ = nullptr;
    int thread_ = 0;
    int n_threads_ = 1;
    int n_tokens_ = 0;
    int64_t values_bytes_;  // of one block
    int64_t n_groups_;      // of one block, for all its tokens
    Memory<float> normed_;
    Memory<uint8_t> values_;
    Memory<float> scales_;
    Memory<int32_t> sums_;
    Memory<float> totals_;
    std::vector<float> scores_;
};

// What all threads share during a pass, each [MAX_TOKENS, ...].
struct Workspace {
    Workspace(int hidden, int n_products, int gathered, int inner);

    int64_t n_products;
    Memory<float> residual;  // [hidden] the tokens between the blocks
    Memory<float> products;  // [n_products] what the last matrix gave
    Memory<float> gathered;  // [heads * head_dim] what attention gave
    Memory<float> inner;     // [inner] of the feed-forward network
};

class Stack {
public:
    Stack(const menura_stack& sizes);

    const menura_stack& sizes() const { return sizes_; }
    // Tables of angles for positions below n_positions.
    void reserve_positions(int n_positions);
    // All threads: the tokens' residual [n_tokens, hidden] passes through every block. `trace`
    // [n_layers, n_tokens, hidden] may be null.
    void run(
        Worker& worker, Workspace& space, const Token* tokens, int n_tokens,
        float* trace = nullptr) const;

private:
    void attend(
        Worker& worker, Workspace& space, const Token* tokens, int n_tokens, int layer) const;
    void place_keys(Worker& worker, float* qkv, const Token& token, int layer, int kv_head) const;
    void turn(const Worker& worker, float* head, const float* norm, int position) const;
    void add_product(
        Worker& worker, Workspace& space, const menura_matrix& matrix, int n_tokens) const;

    menura_stack sizes_;
    std::vector<float> cosines_;  // [positions, head_dim / 2]
    std::vector<float> sines_;
};

}  // namespace menura

#endif
