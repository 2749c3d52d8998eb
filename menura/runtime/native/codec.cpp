// The driver of the native codec decoder: owns the buffers, and runs a program on pieces.
//
// A stream's state is one flat block that the caller owns, so that a copy of it is a copy of its
// bytes; all zeros is the state before the first frame. It holds the position, the last steps of
// every operation that looks back, and each attention's window of keys and values. The buffers
// belong to the decoder and are allocated once: one piece after another, one caller at a time.

#include "codec.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "api.h"
#include "codec_check.h"
#include "pace.h"
#include "pool.h"

namespace menura::codec {

namespace avx512 {
extern const CodecBody codec_body;
}
namespace avx2 {
extern const CodecBody codec_body;
}
namespace neon {
extern const CodecBody codec_body;
}

namespace {

constexpr int64_t MOST_OPS = 4096;
constexpr int64_t MOST_FRAMES = 64;  // of a piece

int64_t aligned(int64_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

const CodecBody& body_by_name(const std::string& name) {
#ifdef MENURA_HAS_AVX512
    if (name == avx512::codec_body.name) return avx512::codec_body;
#endif
#ifdef MENURA_HAS_AVX2
    if (name == avx2::codec_body.name) return avx2::codec_body;
#endif
#ifdef MENURA_HAS_NEON
    if (name == neon::codec_body.name) return neon::codec_body;
#endif
    throw std::invalid_argument("the library has no body " + name);
}

// ---- the decoder

struct Freed {
    void operator()(unsigned char* bytes) const {
        ::operator delete[](bytes, std::align_val_t(ALIGNMENT));
    }
};
using Buffer = std::unique_ptr<unsigned char[], Freed>;

Buffer buffer(int64_t bytes) {
    const size_t size = size_t(aligned(bytes + ALIGNMENT));
    void* memory = ::operator new[](size, std::align_val_t(ALIGNMENT));
    std::memset(memory, 0, size);
    return Buffer(static_cast<unsigned char*>(memory));
}

// Where an operation's memory stands in a state, and how large it is.
struct Memory {
    int64_t offset = 0, bytes = 0;
};

struct Decoder {
    std::vector<CodecOp> ops;
    std::vector<Memory> memories;
    const unsigned char* weights = nullptr;
    const CodecKernels* kernels = nullptr;
    std::shared_ptr<Pool> pool;
    std::vector<Pace> paces;  // of pieces with 1, 2, ... frames
    Pool::Turn* turn = nullptr;  // of this piece; without one the caller is alone
    int64_t n_threads = 1, frames = 1, state_bytes = 0, row_floats = 0, stream_head = 0;
    size_t unbounded = 0;  // operations up to here may remember a stream from its beginning on
    int64_t forgets = 0;   // frames after which the others remember nothing that was before
    size_t late = 0;       // the first operation that is run on parts of a frame
    int64_t parts = 1;     // of a frame
    Buffer acts[2], held, stream, scratch, rows, turns;
};

int64_t ring_steps(const Decoder& d, const CodecOp& op) { return op.window + d.frames - 1; }

int64_t act_bytes(const Decoder& d, const CodecOp& op) {
    return op.reads_wide ? int64_t(sizeof(float)) : d.kernels->act_bytes;
}

int64_t memory_bytes(const Decoder& d, const CodecOp& op) {
    if (reads_acts(op)) return past_steps(op) * op.in_channels * act_bytes(d, op);
    if (op.kind == Kind::mix) return past_steps(op) * op.in_channels * 4;
    if (op.kind != Kind::attention) return 0;
    return 2 * op.kv_heads * ring_steps(d, op) * op.head_size * 4;
}

void place_memories(Decoder& d) {
    d.state_bytes = ALIGNMENT;  // the position stands first
    for (const CodecOp& op : d.ops) {
        const int64_t bytes = memory_bytes(d, op);
        d.memories.push_back({d.state_bytes, bytes});
        d.state_bytes += aligned(bytes);
    }
}

// Late operations start at an upsampling, where no residual is under way.
void choose_late(Decoder& d) {
    constexpr int64_t MANY_STEPS = 512, MOST_PARTS = 4;
    d.late = d.ops.size() - 1;
    for (size_t i = d.ops.size() - 1; i > 0; i--) {
        const CodecOp& op = d.ops[i];
        if (op.rate > 1 && op.steps * op.rate >= MANY_STEPS) d.late = i;
    }
    while (d.parts < MOST_PARTS && d.ops[d.late].steps % (2 * d.parts) == 0) d.parts *= 2;
}

// What stands behind the last attention looks back by a few steps each. Backwards from the end:
// for so many last steps of an operation's output, which steps of its input are needed?
void find_memory(Decoder& d) {
    int64_t needed = 0;
    for (d.unbounded = d.ops.size(); d.unbounded > 0; d.unbounded--) {
        const CodecOp& op = d.ops[d.unbounded - 1];
        if (op.kind == Kind::attention) break;
        needed = (needed + op.rate - 1) / op.rate + past_steps(op);
        d.forgets = (needed + op.steps - 1) / op.steps;
    }
}

int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

void allocate(Decoder& d) {
    int64_t acts = 0, held = 0, stream = 0, scratch = 0, row = 0, turns = 0;
    for (const CodecOp& op : d.ops) {
        const int64_t in_steps = op.steps * d.frames, out_steps = in_steps * op.rate;
        const int64_t read = (past_steps(op) + in_steps) * op.in_channels * act_bytes(d, op);
        if (reads_acts(op)) acts = larger(acts, read);
        if (&op == &d.ops[d.late]) held = read;
        if (op.keeps) stream = larger(stream, out_steps * op.out_channels);
        if (op.scratches) scratch = larger(scratch, out_steps * op.out_channels);
        const int64_t past = past_steps(op) * op.in_channels;
        if (op.kind == Kind::mix) d.stream_head = larger(d.stream_head, past);
        if (op.kind == Kind::mix || op.kind == Kind::lookup) row = larger(row, op.out_channels);
        if (op.kind == Kind::attention) row = larger(row, ring_steps(d, op));
        if (op.kind == Kind::attention) turns = larger(turns, d.frames * op.head_size);
    }
    for (Buffer& half : d.acts) half = buffer(acts);
    d.held = buffer(held);
    d.stream_head = aligned(d.stream_head * 4) / 4;
    d.stream = buffer((d.stream_head + stream) * 4);
    d.scratch = buffer(scratch * 4);
    d.row_floats = aligned((row + TILE) * 4) / 4;
    d.rows = buffer(d.row_floats * d.n_threads * 4);
    d.turns = buffer(turns * 4);
}

// ---- running it

// The cosines and sines of the frames' positions, which all layers share.
void fill_turns(Decoder& d, int64_t position, int64_t n_frames) {
    for (const CodecOp& op : d.ops) {
        if (op.kind != Kind::attention) continue;
        const float* frequencies = reinterpret_cast<const float*>(d.weights + op.frequency);
        float* to = reinterpret_cast<float*>(d.turns.get());
        const int64_t half = op.head_size / 2;
        for (int64_t t = 0; t < n_frames; t++, to += op.head_size) {
            for (int64_t c = 0; c < half; c++) {
                const float angle = float(position + t) * frequencies[c];
                to[c] = std::cos(angle);
                to[half + c] = std::sin(angle);
            }
        }
        return;
    }
}

struct Call {
    const CodecKernels* kernels;
    Work* work;
};

void run_part(void* context, int thread, int) {
    const Call& call = *static_cast<Call*>(context);
    call.kernels->run[int(call.work->op->kind)](*call.work, thread);
}

// Work that would not repay waking the others.
bool is_small(const Work& work) {
    const CodecOp& op = *work.op;
    const bool is_light = op.kind == Kind::lookup || op.kind == Kind::norm;
    return work.n_items == 1 || (is_light && work.steps * op.out_channels < 32 * 1024);
}

// Runs one operation on all threads.
void execute(Decoder& d, Work& work) {
    work.next_item.store(0, std::memory_order_relaxed);
    work.n_items = d.kernels->n_items(work);
    Call call{d.kernels, &work};
    if (d.turn == nullptr || is_small(work)) {
        run_part(&call, 0, 1);
    } else {
        d.turn->run(run_part, &call, d.pool->n_free());
    }
}

// Where an operation reads its acts from: the first of the late ones from a buffer of its own.
unsigned char* input_of(Decoder& d, size_t index) {
    return index == d.late ? d.held.get() : d.acts[index % 2].get();
}

float* stream_of(Decoder& d) { return reinterpret_cast<float*>(d.stream.get()) + d.stream_head; }

// What an operation remembers stands in front of what it reads.
unsigned char* front_of(Decoder& d, size_t index) {
    if (d.ops[index].kind != Kind::mix) return input_of(d, index);
    return reinterpret_cast<unsigned char*>(stream_of(d)) - d.memories[index].bytes;
}

bool looks_back(const Decoder& d, size_t index) {
    return d.memories[index].bytes > 0 && d.ops[index].kind != Kind::attention;
}

void recall(Decoder& d, size_t index, const unsigned char* state) {
    const Memory memory = d.memories[index];
    if (looks_back(d, index)) {
        std::memcpy(front_of(d, index), state + memory.offset, size_t(memory.bytes));
    }
}

void remember(Decoder& d, size_t index, unsigned char* state, int64_t steps) {
    const Memory memory = d.memories[index];
    if (!looks_back(d, index)) return;
    const int64_t step_bytes = memory.bytes / past_steps(d.ops[index]);
    const unsigned char* last = front_of(d, index) + steps * step_bytes;
    std::memcpy(state + memory.offset, last, size_t(memory.bytes));
}

// Points the work at an operation's buffers; `first` steps of its input are done.
void point(Decoder& d, size_t index, unsigned char* state, int64_t first, Work& work) {
    const CodecOp& op = d.ops[index];
    const bool is_read = index + 1 < d.ops.size() && reads_acts(d.ops[index + 1]);
    const int64_t next_past = is_read ? d.memories[index + 1].bytes : 0;
    work.op = &op;
    work.in = input_of(d, index) + first * op.in_channels * act_bytes(d, op);
    work.out = is_read ? input_of(d, index + 1) + next_past : nullptr;
    if (op.kind == Kind::attention) {
        work.ring = ring_steps(d, op);
        work.keys = reinterpret_cast<float*>(state + d.memories[index].offset);
        work.values = work.keys + op.kv_heads * work.ring * op.head_size;
    }
}

void run_op(Decoder& d, size_t index, unsigned char* state, Work& work) {
    recall(d, index, state);
    point(d, index, state, 0, work);
    execute(d, work);
    remember(d, index, state, work.steps);
}

// The late operations have many steps and few weights: a part of a frame goes through all of them,
// so that it stays in the second-level cache.
void run_late(Decoder& d, unsigned char* state, int64_t n_frames, Work& work) {
    const int64_t first_steps = d.ops[d.late].steps / d.parts;
    recall(d, d.late, state);
    for (int64_t part = 0; part < n_frames * d.parts; part++) {
        work.steps = first_steps;
        point(d, d.late, state, part * first_steps, work);
        execute(d, work);
        for (size_t i = d.late + 1; i < d.ops.size(); i++) {
            work.steps = d.ops[i].steps / d.parts;
            run_op(d, i, state, work);
        }
        work.samples += work.steps;
    }
    remember(d, d.late, state, n_frames * d.ops[d.late].steps);
}

int64_t position_of(const unsigned char* state) {
    int64_t position;
    std::memcpy(&position, state, sizeof position);
    return position;
}

// Without `samples`, only what may be remembered for ever is run.
void run_piece(
    Decoder& d, unsigned char* state, const int64_t* codes, int64_t n_frames, float* samples) {
    int64_t position = position_of(state);
    fill_turns(d, position, n_frames);
    Work work;
    work.weights = d.weights;
    work.codes = codes;
    work.stream = stream_of(d);
    work.scratch = reinterpret_cast<float*>(d.scratch.get());
    work.samples = samples;
    work.turns = reinterpret_cast<const float*>(d.turns.get());
    work.rows = reinterpret_cast<float*>(d.rows.get());
    work.row_floats = d.row_floats;
    work.position = position;
    work.n_threads = d.turn == nullptr ? 1 : d.n_threads;
    const size_t n_early = samples == nullptr ? d.unbounded : d.late;
    for (size_t i = 0; i < n_early; i++) {
        work.steps = d.ops[i].steps * n_frames;
        run_op(d, i, state, work);
    }
    if (samples != nullptr) run_late(d, state, n_frames, work);
    position += n_frames;
    std::memcpy(state, &position, sizeof position);
}

// The decoder has a turn for as long as this lives.
struct LentTurn {
    LentTurn(Decoder& decoder, Pool::Turn* turn) : d(decoder) { d.turn = turn; }
    ~LentTurn() { d.turn = nullptr; }
    Decoder& d;
};

// A piece on the threads of the pool, or on the caller's alone where that is faster at the moment.
void run_together(
    Decoder& d, unsigned char* state, const int64_t* codes, int64_t n_frames, float* samples) {
    Pool::Turn turn(*d.pool);
    const bool is_whole = samples != nullptr && !d.pool->is_lent();
    TimedPass pass(d.paces[size_t(n_frames) - 1], is_whole);
    const LentTurn lent(d, pass.is_alone() ? nullptr : &turn);
    run_piece(d, state, codes, n_frames, samples);
    if (d.pool->is_lent()) pass.disregard();
}

// Runs frames [T, Q] in pieces. `samples` [T, steps] may be null, as in `run_piece`.
void run_pieces(
    Decoder& d, unsigned char* state, const int64_t* codes, int64_t n_frames, float* samples,
    decltype(&run_piece) run = run_together) {
    while (n_frames > 0) {
        const int64_t n = n_frames < d.frames ? n_frames : d.frames;
        run(d, state, codes, n, samples);
        codes += n * d.ops.front().codebooks;
        if (samples != nullptr) samples += n * d.ops.back().steps;
        n_frames -= n;
    }
}

bool are_codes(const Decoder& d, const int64_t* codes, int64_t n_frames) {
    const CodecOp& lookup = d.ops.front();
    for (int64_t i = 0; i < n_frames * lookup.codebooks; i++) {
        if (codes[i] < 0 || codes[i] >= lookup.entries) return false;
    }
    return true;
}

// Calls `move` for a decoder and a stream's state, unless the stream must not move by these frames;
// gives a `menura_status`.
template <class Move>
int guarded(void* decoder, void* state, const int64_t* codes, int64_t n_frames, Move move) {
    Decoder& d = *static_cast<Decoder*>(decoder);
    unsigned char* bytes = static_cast<unsigned char*>(state);
    if (position_of(bytes) < 0 || !are_codes(d, codes, n_frames)) return MENURA_BAD_ARGUMENT;
    if (!d.pool->is_of_this_process()) return MENURA_FORKED;
    try {
        move(d, bytes);
        return MENURA_OK;
    } catch (const std::bad_alloc&) {
        return MENURA_NO_MEMORY;
    }
}

std::unique_ptr<Decoder> open(
    const CodecOp* ops, int64_t n_ops, const unsigned char* weights, int64_t n_bytes, int mode,
    int64_t frames, int n_threads) {
    if (n_ops < 2 || n_ops > MOST_OPS) {
        throw std::invalid_argument("a program has 2 to 4096 operations");
    }
    if (mode != EXACT && mode != BF16) throw std::invalid_argument("there is no such mode");
    if (frames < 1 || frames > MOST_FRAMES) {
        throw std::invalid_argument("a piece has 1 to 64 frames");
    }
    if (n_threads < 1 || n_threads > 1024) {
        throw std::invalid_argument("there are 1 to 1024 threads");
    }
    if (reinterpret_cast<uintptr_t>(weights) % ALIGNMENT != 0) {
        throw std::invalid_argument("the weights do not start on a cache line");
    }
    auto d = std::make_unique<Decoder>();
    d->ops.assign(ops, ops + n_ops);
    check_program(d->ops, mode == EXACT ? 4 : 2, n_bytes);
    d->weights = weights;
    d->kernels = &body_by_name(menura_body()).modes[mode];
    d->frames = frames;
    d->n_threads = n_threads;
    d->pool = shared_pool(n_threads);
    d->paces.assign(size_t(frames), Pace(n_threads));
    place_memories(*d);
    find_memory(*d);
    choose_late(*d);
    allocate(*d);
    return d;
}

}  // namespace
}  // namespace menura::codec

// ---- the C interface

// A decoder for a program, or null with the reason in `error`. `weights` must outlive it.
MENURA_API void* menura_codec_open(
    const menura::codec::CodecOp* ops, int64_t n_ops, const void* weights, int64_t n_bytes,
    int mode, int64_t frames, int n_threads, char* error, int64_t error_bytes) {
    try {
        const auto* bytes = static_cast<const unsigned char*>(weights);
        return menura::codec::open(ops, n_ops, bytes, n_bytes, mode, frames, n_threads).release();
    } catch (const std::exception& problem) {
        if (error_bytes > 0) std::snprintf(error, size_t(error_bytes), "%s", problem.what());
        return nullptr;
    }
}

// The size of a stream's state, which starts as zeros and is aligned to 64 bytes.
MENURA_API int64_t menura_codec_state_bytes(const void* decoder) {
    return static_cast<const menura::codec::Decoder*>(decoder)->state_bytes;
}

// Moves a stream on by frames [T, Q] and writes their samples. Where a code is out of range, or the
// process was forked, it has not moved; gives a `menura_status`.
MENURA_API int menura_codec_run(
    void* decoder, void* state, const int64_t* codes, int64_t n_frames, float* samples) {
    using namespace menura::codec;
    return guarded(decoder, state, codes, n_frames, [&](Decoder& d, unsigned char* bytes) {
        run_pieces(d, bytes, codes, n_frames, samples);
    });
}

// The same on the caller's thread alone, on the core that the threads of the decoder have lent.
MENURA_API int menura_codec_run_beside(
    void* decoder, void* state, const int64_t* codes, int64_t n_frames, float* samples) {
    using namespace menura::codec;
    return guarded(decoder, state, codes, n_frames, [&](Decoder& d, unsigned char* bytes) {
        const menura::Pool::Guest guest(*d.pool);
        run_pieces(d, bytes, codes, n_frames, samples, run_piece);
    });
}

// From now on a core is the guest's; as often as it is lent, it must be taken back.
MENURA_API void menura_codec_lend(void* decoder) {
    static_cast<menura::codec::Decoder*>(decoder)->pool->lend();
}

MENURA_API void menura_codec_take_back(void* decoder) {
    static_cast<menura::codec::Decoder*>(decoder)->pool->take_back();
}

// Moves a stream on by frames [T, Q] as `menura_codec_run` does, bit for bit, without samples: what
// is forgotten again before the end is not computed.
MENURA_API int menura_codec_hear(
    void* decoder, void* state, const int64_t* codes, int64_t n_frames) {
    using namespace menura::codec;
    return guarded(decoder, state, codes, n_frames, [&](Decoder& d, unsigned char* bytes) {
        const int64_t n_last = n_frames < d.forgets ? n_frames : d.forgets;
        const int64_t n_first = n_frames - n_last;
        std::vector<float> samples(size_t(n_last * d.ops.back().steps));  // nobody wants them
        run_pieces(d, bytes, codes, n_first, nullptr);
        run_pieces(d, bytes, codes + n_first * d.ops.front().codebooks, n_last, samples.data());
    });
}

MENURA_API void menura_codec_close(void* decoder) {
    delete static_cast<menura::codec::Decoder*>(decoder);
}
