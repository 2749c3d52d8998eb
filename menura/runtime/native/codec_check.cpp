// What a program must be, so that its operations stay inside their buffers and weights.
//
// A program comes from our own Python, but through a file: sizes and offsets are believed only
// after this. Errors are std::invalid_argument with the operation's number.

#include "codec_check.h"

#include <stdexcept>
#include <string>

namespace menura::codec {
namespace {

constexpr int64_t MOST_SIZE = 1 << 20;  // of any single size: products of three stay in 64 bits

struct Sizes {
    int64_t acts = 0, stream = 0, scratch = 0;  // channels that stand in each buffer
    int64_t steps = 0;                          // for a frame
    bool are_wide = false;                      // the acts
};

[[noreturn]] void refuse(size_t index, const std::string& why) {
    throw std::invalid_argument("operation " + std::to_string(index) + ": " + why);
}

void expect(bool holds, size_t index, const char* why) {
    if (!holds) refuse(index, why);
}

// Whether `count` numbers of `bytes` bytes lie inside the weights, on a whole cache line.
void expect_inside(int64_t offset, int64_t count, int64_t bytes, int64_t n_bytes, size_t index) {
    const bool is_inside = offset >= 0 && offset % ALIGNMENT == 0 && count <= n_bytes / bytes &&
                           offset <= n_bytes - count * bytes;
    expect(is_inside, index, "its weights lie outside the file");
}

void check_numbers(const CodecOp& op, size_t index) {
    const int64_t sizes[] = {op.in_channels, op.out_channels, op.rate,  op.steps,
                             op.taps,        op.dilation,     op.window};
    for (const int64_t size : sizes) {
        expect(size >= 1 && size <= MOST_SIZE, index, "a size is wrong");
    }
    const int64_t counts[] = {op.codebooks, op.entries,  op.first_group,
                              op.heads,     op.kv_heads, op.head_size};
    for (const int64_t n : counts) expect(n >= 0 && n <= MOST_SIZE, index, "a count is wrong");
    expect((op.taps - 1) * op.dilation <= MOST_SIZE, index, "it looks back too far");
    expect(op.in_channels % TILE == 0, index, "the input is no whole tiles");
    expect(op.out_channels % HALF_TILE == 0, index, "the output is no whole half tiles");
}

void check_lookup(const CodecOp& op, size_t index, int64_t n_bytes) {
    expect(index == 0, index, "a lookup stands first");
    expect(
        op.steps == 1 && op.codebooks >= 1 && op.entries >= 1, index, "a lookup needs codebooks");
    expect(op.first_group <= op.codebooks, index, "the first group has too many codebooks");
    expect(op.out_channels % TILE == 0, index, "the output is no whole tiles");
    const int64_t size = op.out_channels / (op.first_group < op.codebooks ? 2 : 1);
    expect(op.codebooks <= 256 && op.entries <= (1 << 24), index, "there are too many entries");
    expect_inside(op.weights, op.codebooks * op.entries * size, 4, n_bytes, index);
}

void check_convolution(
    const CodecOp& op, size_t index, const Sizes& sizes, int64_t weight_bytes, int64_t n_bytes) {
    const bool is_gated = op.activation == Activation::gated;
    // A gated tile gives half a tile: what stands in the file is twice what comes out.
    const int64_t rows = op.rate * op.out_channels * (is_gated ? 2 : 1);
    expect(rows % TILE == 0 && rows <= MOST_SIZE, index, "the output is no whole tiles");
    expect(
        !is_gated || (op.feeds && !op.adds && !op.keeps && !op.scratches), index,
        "a gated output only feeds");
    expect(!op.adds || sizes.stream == rows, index, "it adds a stream of another size");
    expect(op.feeds || op.keeps || op.scratches, index, "its result goes nowhere");
    expect(op.rate == 1 || !op.adds, index, "a stream of more steps cannot be added");
    expect(op.activation <= Activation::gated, index, "it has no such activation");
    expect_inside(op.weights, rows * op.taps * op.in_channels, weight_bytes, n_bytes, index);
    expect_inside(op.bias, rows, 4, n_bytes, index);
    if (op.activation == Activation::snake) {
        expect_inside(op.frequency, rows, 4, n_bytes, index);
        expect_inside(op.scale, rows, 4, n_bytes, index);
    }
}

void check_attention(const CodecOp& op, size_t index, const Sizes& sizes, int64_t n_bytes) {
    expect(
        op.heads >= 1 && op.kv_heads >= 1 && op.heads % op.kv_heads == 0, index,
        "the key heads do not divide the heads");
    expect(op.head_size % TILE == 0 && op.head_size >= TILE, index, "a head is no whole tiles");
    expect(op.steps == 1, index, "attention works on frames");
    expect(
        sizes.scratch == (op.heads + 2 * op.kv_heads) * op.head_size, index,
        "the scratch does not hold queries, keys and values");
    expect(op.out_channels == op.heads * op.head_size, index, "the heads are not the output");
    expect_inside(op.frequency, op.head_size / 2, 4, n_bytes, index);
}

void check_output(const CodecOp& op, size_t index, size_t n_ops, int64_t n_bytes) {
    expect(index + 1 == n_ops, index, "the output stands last");
    expect(op.dilation == 1 && op.rate == 1, index, "the output is no plain convolution");
    expect(!op.reads_wide, index, "the output does not read wide acts");
    expect(
        op.activation >= Activation::tanh && op.activation <= Activation::clamp, index,
        "the output is limited by tanh or clamp");
    expect_inside(op.weights, op.taps * op.in_channels, 4, n_bytes, index);
    expect_inside(op.bias, 1, 4, n_bytes, index);
}

// What an operation reads must stand there; afterwards `sizes` says what it left.
void check_flow(const CodecOp& op, size_t index, Sizes& sizes) {
    const bool from_acts = reads_acts(op);
    const bool from_stream = op.kind == Kind::norm || op.kind == Kind::mix;
    expect(!from_acts || op.in_channels == sizes.acts, index, "it reads acts of another size");
    expect(!from_acts || (op.reads_wide != 0) == sizes.are_wide, index, "it reads acts otherwise");
    expect(from_acts || sizes.acts == 0, index, "it does not read what it is fed");
    expect(!from_stream || op.in_channels == sizes.stream, index, "it reads another stream");
    expect(
        !from_stream || (op.entries >= 1 && op.entries <= op.in_channels), index,
        "it norms more channels than there are");
    expect(!from_stream || op.out_channels == op.in_channels, index, "a norm keeps the channels");
    expect(
        op.kind == Kind::convolution || op.rate == 1, index, "only a convolution changes the rate");
    expect(index == 0 || op.steps == sizes.steps, index, "it has other steps than the one before");
    const bool to_acts = op.kind != Kind::convolution || op.feeds;
    sizes.acts = to_acts ? op.out_channels : 0;
    sizes.are_wide = op.writes_wide != 0;
    if (op.kind == Kind::convolution) {
        if (op.keeps) sizes.stream = op.out_channels;
        if (op.rate > 1 && !op.keeps) sizes.stream = 0;
        if (op.scratches) sizes.scratch = op.out_channels;
    }
    sizes.steps = op.steps * op.rate;
    expect(sizes.steps <= MOST_SIZE, index, "a frame has too many steps");
}

// All layers of attention share one table of angles.
void check_turns(const std::vector<CodecOp>& ops) {
    const CodecOp* first = nullptr;
    for (size_t i = 0; i < ops.size(); i++) {
        if (ops[i].kind != Kind::attention) continue;
        if (first == nullptr) first = &ops[i];
        const bool is_same =
            ops[i].head_size == first->head_size && ops[i].frequency == first->frequency;
        expect(is_same, i, "its heads turn by other angles");
    }
}

}  // namespace

void check_program(const std::vector<CodecOp>& ops, int64_t weight_bytes, int64_t n_bytes) {
    Sizes sizes;
    for (size_t i = 0; i < ops.size(); i++) {
        const CodecOp& op = ops[i];
        check_numbers(op, i);
        expect(i > 0 || op.kind == Kind::lookup, i, "a program starts with a lookup");
        expect(i + 1 < ops.size() || op.kind == Kind::output, i, "a program ends with the output");
        switch (op.kind) {
            case Kind::lookup: check_lookup(op, i, n_bytes); break;
            case Kind::convolution: check_convolution(op, i, sizes, weight_bytes, n_bytes); break;
            case Kind::attention: check_attention(op, i, sizes, n_bytes); break;
            case Kind::output: check_output(op, i, ops.size(), n_bytes); break;
            case Kind::mix:
                expect(op.dilation == 1, i, "a mix has no dilation");
                expect_inside(op.weights, op.taps * op.in_channels, 4, n_bytes, i);
                expect_inside(op.bias, op.in_channels, 4, n_bytes, i);
                break;
            case Kind::norm: break;
            default: refuse(i, "there is no such kind");
        }
        check_flow(op, i, sizes);
    }
    check_turns(ops);
}

}  // namespace menura::codec
