// The C interface of the native library: everything that Python calls, and the structs it fills.
//
// Matrices are packed by `menura_pack_matrix` (see packing.cpp for the layout) and stay where the
// caller put them, usually in a memory-mapped file. Every call that can fail returns 0 when it
// worked and a `MENURA_...` status otherwise.
#ifndef MENURA_API_H
#define MENURA_API_H

#include <stddef.h>
#include <stdint.h>

#define MENURA_API extern "C" __attribute__((visibility("default")))

enum menura_kind { MENURA_BF16 = 0, MENURA_INT8 = 1, MENURA_INT4 = 2 };

enum menura_status {
    MENURA_OK = 0,
    MENURA_BAD_ARGUMENT = 1,  // a slot, position or count that does not exist
    MENURA_NO_MEMORY = 2,
    MENURA_FORKED = 3,  // the process was forked: its threads are gone
};

typedef struct {
    int32_t kind;
    int32_t n_rows;
    int32_t n_columns;
    int32_t reserved;
    const uint8_t* tiles;  // 64-byte aligned
} menura_matrix;

typedef struct {
    menura_matrix qkv;      // query heads, key heads, value heads, one below the other
    menura_matrix output;
    menura_matrix gate_up;  // 16 rows of gate, 16 rows of up, and so on
    menura_matrix down;
    const float* attention_norm;     // [hidden]
    const float* feed_forward_norm;  // [hidden]
    const float* query_norm;         // [head_dim]
    const float* key_norm;           // [head_dim]
} menura_layer;

typedef struct {
    int32_t hidden;
    int32_t inner;
    int32_t n_layers;
    int32_t n_heads;
    int32_t n_kv_heads;
    int32_t head_dim;
    float norm_eps;
    float rope_theta;
    const menura_layer* layers;
    const float* final_norm;  // [hidden]
} menura_stack;

typedef struct {
    menura_stack talker;
    menura_stack predictor;
    menura_matrix talker_head;
    const menura_matrix* predictor_heads;          // [n_codebooks - 1]
    const uint16_t* talker_embedding;              // bf16 [talker_vocab, talker.hidden]
    const uint16_t* const* predictor_embeddings;   // [n_codebooks - 1] of [codebook_size, same]
    menura_matrix projection;                      // talker width to predictor width, or no tiles
    const float* projection_bias;                  // [predictor.hidden], or null
    int32_t n_codebooks;
    int32_t talker_vocab;
    int32_t codebook_size;
    int32_t n_slots;
} menura_model;

typedef struct {
    int32_t do_sample;
    int32_t top_k;
    float temperature;
    float repetition_penalty;
    double top_p;
} menura_sampling;

// One row of a frame call. Q codebooks, V talker vocabulary, C codebook entries, D talker width.
typedef struct {
    int32_t slot;
    int32_t position;  // where the talker's next token goes
    int32_t first;     // the frame's first code, drawn by the call before
    int32_t next;      // out: the first code of the frame after
    menura_sampling talker;
    menura_sampling predictor;
    const float* text;             // [D]
    const float* predictor_noise;  // [Q - 1, C], or null when greedy
    const float* talker_noise;     // [V], or null when greedy
    const uint8_t* seen;           // [V]: the first codes that the penalty counts
    const uint8_t* allowed;        // [V]: what `next` may be
    const int64_t* forced;         // [Q], or null: codes 1 to Q - 1 shown in place of the drawn
    float* hidden;                 // [D] in and out: the talker's last state
    int64_t* codes;                // [Q] out; the first is `first`
    uint8_t* sound;                // [Q] out: draws 1 to Q - 1, then that of `next`
    float* scores;                 // [(Q - 1) * C + V] out, or null
} menura_row;

typedef struct menura_lm menura_lm;

MENURA_API const char* menura_bodies(void);  // what this build holds: "avx512 avx2"
MENURA_API const char* menura_body(void);    // what runs here; empty where nothing does

MENURA_API int64_t menura_matrix_bytes(int32_t kind, int32_t n_rows, int32_t n_columns);
MENURA_API int32_t menura_pack_matrix(
    int32_t kind, int32_t n_rows, int32_t n_columns, const float* weights, uint8_t* tiles);

MENURA_API menura_lm* menura_lm_open(
    const menura_model* model, int32_t n_threads, char* error, int32_t error_bytes);
MENURA_API int32_t menura_lm_prefill(
    menura_lm* lm, int32_t slot, int32_t position, int32_t n_tokens, const float* inputs,
    float* hidden, float* scores);
MENURA_API int32_t menura_lm_frame(menura_lm* lm, int32_t n_rows, menura_row* rows);
MENURA_API int32_t menura_lm_trace(
    menura_lm* lm, int32_t is_predictor, int32_t n_tokens, const float* inputs, float* states);
MENURA_API int64_t menura_lm_state_bytes(const menura_lm* lm, int32_t n_positions);
MENURA_API int32_t menura_lm_export(menura_lm* lm, int32_t slot, int32_t n_positions, void* state);
MENURA_API int32_t menura_lm_import(
    menura_lm* lm, int32_t slot, int32_t n_positions, const void* state);
MENURA_API int32_t menura_lm_release(menura_lm* lm, int32_t slot);
MENURA_API void menura_lm_close(menura_lm* lm);

MENURA_API int32_t menura_draw(
    const float* scores, int32_t n, const menura_sampling* sampling, const float* noise,
    const uint8_t* seen, const uint8_t* allowed, int32_t* is_sound);

#endif
