// The language model: two stacks, their heads, and the utterances that it holds.
#ifndef MENURA_LM_H
#define MENURA_LM_H

#include <memory>
#include <vector>

#include "pace.h"
#include "sampling.h"
#include "stack.h"

namespace menura {

// Rows of one frame pass; the predictor's first pass has two tokens a row.
constexpr int MAX_ROWS = 8;
static_assert(2 * MAX_ROWS <= MAX_TOKENS, "two tokens a row fit into one pass");

class LanguageModel {
public:
    // Copies the structs; the weights stay where they are. Throws std::bad_alloc.
    LanguageModel(const menura_model& model, const LmKernels& kernels, int n_threads);

    const menura_model& sizes() const { return model_; }
    Cache& slot(int index) { return slots_[static_cast<size_t>(index)]; }

    // These give a `menura_status` and throw std::bad_alloc. Arguments were checked.
    int prefill(
        Cache& cache, int position, int n_tokens, const float* inputs, float* hidden,
        float* scores);
    int frame(int n_rows, menura_row* rows);
    int trace(bool of_predictor, int n_tokens, const float* inputs, float* states);

private:
    struct Frame {
        int n_rows;
        menura_row* rows;
        Token predictor_tokens[2 * MAX_ROWS];
        Token talker_tokens[MAX_ROWS];
    };

    // task(worker, thread) on so many threads.
    template <typename Task>
    void run(Pool::Turn& turn, const Task& task, int n_threads);
    void reserve_positions(int n_positions);
    Frame begin(int n_rows, menura_row* rows);

    // The steps of a frame; all threads do each of them together.
    void show_first(Worker& worker, const Frame& frame);
    void predict(Worker& worker, Frame& frame, int codebook, DrawScratch& scratch);
    void listen(Worker& worker, const Frame& frame, DrawScratch& scratch);

    void project(Worker& worker, int n_tokens);
    void score(
        Worker& worker, const menura_stack& stack, const menura_matrix& head, const float* rows,
        int64_t stride, int n_rows);
    void draw_other(const menura_row& row, int index, int codebook, DrawScratch& scratch);
    void draw_next(menura_row& row, int index, DrawScratch& scratch);
    // The embedding [D] of a code of one of the codebooks.
    void embed(int codebook, int64_t code, float* out) const;

    // What the predictor is shown [MAX_TOKENS, D], before its projection if it has one.
    float* shown() { return model_.projection.tiles ? inputs_.get() : space_->residual.get(); }
    float* scores_of(int index) { return space_->products.get() + index * space_->n_products; }

    menura_model model_;
    std::vector<menura_layer> talker_layers_;
    std::vector<menura_layer> predictor_layers_;
    std::vector<menura_matrix> heads_;
    std::vector<const uint16_t*> embeddings_;
    Stack talker_;
    Stack predictor_;
    std::shared_ptr<Pool> pool_;
    std::vector<Pace> paces_;  // of frames with 1, 2, ... rows
    std::vector<std::unique_ptr<Worker>> workers_;  // one a thread
    std::vector<DrawScratch> draws_;                // one a thread
    std::unique_ptr<Workspace> space_;
    std::vector<Cache> slots_;
    std::vector<Cache> frames_;  // the predictor's, one a row: written anew in each frame
    Memory<float> inputs_;       // [MAX_TOKENS, D]
    Memory<float> sums_;         // [MAX_ROWS, D] of the embeddings of a frame's codes
};

template <typename Task>
void LanguageModel::run(Pool::Turn& turn, const Task& task, int n_threads) {
    struct Context {
        LanguageModel* model;
        const Task* task;
    } context = {this, &task};
    const auto on_thread = [](void* memory, int thread, int n_threads) {
        const Context& c = *static_cast<Context*>(memory);
        Worker& worker = *c.model->workers_[static_cast<size_t>(thread)];
        worker.begin(*c.model->pool_, thread, n_threads);
        (*c.task)(worker, thread);
    };
    turn.run(on_thread, &context, n_threads);
}

}  // namespace menura

#endif
