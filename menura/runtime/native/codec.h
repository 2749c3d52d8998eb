// The native codec decoder: what the driver (codec.cpp) and the kernels of every body share.
//
// A decoder is a program: a list of operations over three buffers.
//   acts     the input of the next operation, float32 or what the body multiplies fastest, channels
//            last; in front of it stand the steps that it remembers of the piece before
//   stream   float32, what residual branches are added to
//   scratch  float32, queries, keys and values on their way to the attention
// A transposed convolution is a convolution whose output channels are `rate` steps of the output,
// so the only heavy kernel is one convolution with what follows it fused into its end.
//
// Legend: T steps, C channels (padded to whole tiles), K taps, d head size.
#ifndef MENURA_CODEC_H
#define MENURA_CODEC_H

#include <atomic>
#include <cstdint>

namespace menura::codec {

constexpr int64_t TILE = 32;       // output channels that are computed, and packed, together
constexpr int64_t HALF_TILE = 16;  // what a gated tile keeps of them

enum class Kind : int64_t { lookup, convolution, mix, norm, attention, output };
enum class Activation : int64_t { none, snake, gelu, gated, tanh, clamp };

// One operation. The Python side fills it by name (codec_program.py): same order, 8 bytes a field.
// Sizes are padded ones; offsets count bytes from the start of the weights.
struct CodecOp {
    Kind kind;
    int64_t in_channels;
    int64_t out_channels;  // of one output step
    int64_t rate;          // output steps for one input step
    int64_t steps;         // input steps for one frame
    int64_t taps;
    int64_t dilation;
    Activation activation;
    int64_t adds;         // the stream is added
    int64_t keeps;        // the sum is written to the stream
    int64_t feeds;        // activated, it is written to the acts of the next operation
    int64_t scratches;    // it is written to the scratch
    int64_t reads_wide;   // the acts that it reads are float32 in every mode
    int64_t writes_wide;  // those that it writes are
    int64_t weights;
    int64_t bias;
    int64_t frequency;  // snake: a [C]; attention: rotary frequencies [d / 2]
    int64_t scale;      // snake: 1 / b [C]
    int64_t codebooks;
    int64_t entries;      // of a codebook; norms: channels that are no padding
    int64_t first_group;  // codebooks whose entries are summed into the first half of the channels
    int64_t heads;
    int64_t kv_heads;
    int64_t head_size;
    int64_t window;
    double eps;
};

// One operation on one piece: everything that its kernel reads and writes.
struct Work {
    const CodecOp* op = nullptr;
    const unsigned char* weights = nullptr;
    const int64_t* codes = nullptr;  // [T, Q]
    const void* in = nullptr;        // acts [past + T, C], from the oldest remembered step
    void* out = nullptr;             // acts of the next operation, from its first new step
    float* stream = nullptr;         // [T, C]; a mix remembers steps in front of it
    float* scratch = nullptr;
    float* samples = nullptr;
    float* keys = nullptr;  // [G, ring, d], a layer's window
    float* values = nullptr;
    const float* turns = nullptr;  // cosines and sines [T, 2, d / 2] of the new frames
    float* rows = nullptr;         // room for each thread, `row_floats` apart
    int64_t row_floats = 0;
    int64_t ring = 0;
    int64_t position = 0;  // the first new frame's
    int64_t steps = 0;     // input steps
    int64_t n_threads = 1;
    int64_t n_items = 0;
    std::atomic<int64_t> next_item{0};
};

using RunKernel = void (*)(Work& work, int thread);

// The kernels of one body in one mode.
struct CodecKernels {
    int64_t act_bytes;                     // of acts that are not wide
    int64_t (*n_items)(const Work& work);  // into how many independent parts the work falls
    RunKernel run[6];                      // by Kind
};

enum Mode : int { EXACT = 0, BF16 = 1 };

struct CodecBody {
    const char* name;
    CodecKernels modes[2];
};

}  // namespace menura::codec

#endif
