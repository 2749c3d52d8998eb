// Runs everything that lm_api offers on a tiny random model, in every number format: what the
// sanitizers and valgrind watch, and what an emulator of another CPU runs.
//
// Checks that rows are the same together and alone, and ends with 1 if they are not.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "api.h"
#include "pace.h"
#include "pool.h"

namespace {

constexpr int N_CODEBOOKS = 5;
constexpr int CODEBOOK_SIZE = 40;
constexpr int VOCAB = 72;
constexpr int WIDTH = 48;

struct Numbers {
    std::mt19937 generator{7};
    std::vector<float> draw(size_t n, float scale, float mean = 0.0f) {
        std::normal_distribution<float> normal(mean, scale);
        std::vector<float> out(n);
        for (float& x : out) {
            x = normal(generator);
        }
        return out;
    }
    std::vector<float> waits(size_t n) {
        std::exponential_distribution<float> exponential(1.0f);
        std::vector<float> out(n);
        for (float& x : out) {
            x = exponential(generator) + 1e-6f;
        }
        return out;
    }
};

// All arrays of a model; they never move once made.
struct Arrays {
    Numbers numbers;
    std::vector<std::unique_ptr<std::vector<float>>> floats;
    std::vector<std::unique_ptr<std::vector<uint16_t>>> tables;
    std::vector<std::unique_ptr<std::vector<uint8_t>>> packed;

    const float* norm(size_t n) {
        floats.push_back(std::make_unique<std::vector<float>>(numbers.draw(n, 0.1f, 1.0f)));
        return floats.back()->data();
    }

    menura_matrix matrix(int kind, int rows, int columns) {
        const std::vector<float> weights = numbers.draw(static_cast<size_t>(rows) * columns, 0.15f);
        const size_t n_bytes = static_cast<size_t>(menura_matrix_bytes(kind, rows, columns));
        packed.push_back(std::make_unique<std::vector<uint8_t>>(n_bytes));
        menura_pack_matrix(kind, rows, columns, weights.data(), packed.back()->data());
        return {kind, rows, columns, 0, packed.back()->data()};
    }

    const uint16_t* table(int rows) {
        const std::vector<float> drawn = numbers.draw(static_cast<size_t>(rows) * WIDTH, 0.5f);
        tables.push_back(std::make_unique<std::vector<uint16_t>>());
        for (const float x : drawn) {
            uint32_t bits;
            std::memcpy(&bits, &x, sizeof bits);
            tables.back()->push_back(static_cast<uint16_t>(bits >> 16));
        }
        return tables.back()->data();
    }
};

struct Model {
    Arrays arrays;
    std::vector<menura_layer> layers[2];
    std::vector<menura_matrix> heads;
    std::vector<const uint16_t*> embeddings;
    menura_model model{};

    menura_stack stack(int which, int kind, int hidden, int inner, int n_layers) {
        constexpr int HEADS = 4, KV_HEADS = 2, HEAD_DIM = 16;
        for (int i = 0; i < n_layers; ++i) {
            menura_layer layer{};
            layer.qkv = arrays.matrix(kind, (HEADS + 2 * KV_HEADS) * HEAD_DIM, hidden);
            layer.output = arrays.matrix(kind, hidden, HEADS * HEAD_DIM);
            layer.gate_up = arrays.matrix(kind, 2 * inner, hidden);
            layer.down = arrays.matrix(kind, hidden, inner);
            layer.attention_norm = arrays.norm(hidden);
            layer.feed_forward_norm = arrays.norm(hidden);
            layer.query_norm = arrays.norm(HEAD_DIM);
            layer.key_norm = arrays.norm(HEAD_DIM);
            layers[which].push_back(layer);
        }
        return {hidden, inner, n_layers, HEADS, KV_HEADS, HEAD_DIM, 1e-6f, 1e6f,
                layers[which].data(), arrays.norm(hidden)};
    }

    explicit Model(int kind) {
        constexpr int NARROW = 32;
        model.talker = stack(0, kind, WIDTH, 80, 2);
        model.predictor = stack(1, kind, NARROW, 64, 2);
        model.talker_head = arrays.matrix(kind, VOCAB, WIDTH);
        for (int i = 1; i < N_CODEBOOKS; ++i) {
            heads.push_back(arrays.matrix(kind, CODEBOOK_SIZE, NARROW));
            embeddings.push_back(arrays.table(CODEBOOK_SIZE));
        }
        model.predictor_heads = heads.data();
        model.predictor_embeddings = embeddings.data();
        model.talker_embedding = arrays.table(VOCAB);
        model.projection = arrays.matrix(kind, NARROW, WIDTH);
        model.projection_bias = arrays.norm(NARROW);
        model.n_codebooks = N_CODEBOOKS;
        model.talker_vocab = VOCAB;
        model.codebook_size = CODEBOOK_SIZE;
        model.n_slots = 20;
    }
};

// One utterance with its own numbers, so that it can be run again, in other company.
struct Utterance {
    Numbers numbers;
    std::vector<float> prompt, hidden, text, predictor_noise, talker_noise, scores;
    std::vector<uint8_t> seen, allowed, sound;
    std::vector<int64_t> codes, spoken;
    int length = 0;
    int32_t first = 3;

    Utterance(unsigned seed, int n_prompt)
        : hidden(WIDTH), scores((N_CODEBOOKS - 1) * CODEBOOK_SIZE + VOCAB), seen(VOCAB),
          allowed(VOCAB, 1), sound(N_CODEBOOKS), codes(N_CODEBOOKS), length(n_prompt) {
        numbers.generator.seed(seed);
        prompt = numbers.draw(static_cast<size_t>(n_prompt) * WIDTH, 0.5f);
    }

    menura_row row(int slot) {
        text = numbers.draw(WIDTH, 0.5f);
        predictor_noise = numbers.waits((N_CODEBOOKS - 1) * CODEBOOK_SIZE);
        talker_noise = numbers.waits(VOCAB);
        menura_row row{};
        row.slot = slot;
        row.position = length;
        row.first = first;
        row.talker = {1, 20, 0.9f, 1.05f, 0.95};
        row.predictor = {1, 8, 0.9f, 1.0f, 1.0};
        row.text = text.data();
        row.predictor_noise = predictor_noise.data();
        row.talker_noise = talker_noise.data();
        row.seen = seen.data();
        row.allowed = allowed.data();
        row.hidden = hidden.data();
        row.codes = codes.data();
        row.sound = sound.data();
        row.scores = scores.data();
        return row;
    }

    void settle(const menura_row& row) {
        spoken.insert(spoken.end(), codes.begin(), codes.end());
        first = row.next;
        seen[static_cast<size_t>(first)] = 1;
        ++length;
    }
};

void speak(menura_lm* lm, std::vector<Utterance>& utterances, int n_frames) {
    std::vector<float> scores(VOCAB);
    for (size_t i = 0; i < utterances.size(); ++i) {
        Utterance& u = utterances[i];
        menura_lm_release(lm, static_cast<int32_t>(i));
        menura_lm_prefill(lm, static_cast<int32_t>(i), 0, u.length, u.prompt.data(),
                          u.hidden.data(), scores.data());
    }
    for (int frame = 0; frame < n_frames; ++frame) {
        std::vector<menura_row> rows;
        for (size_t i = 0; i < utterances.size(); ++i) {
            rows.push_back(utterances[i].row(static_cast<int>(i)));
        }
        menura_lm_frame(lm, static_cast<int32_t>(rows.size()), rows.data());
        for (size_t i = 0; i < rows.size(); ++i) {
            utterances[i].settle(rows[i]);
        }
    }
}

// Somebody who borrows a core now and then, as the codec does.
class Neighbour {
public:
    explicit Neighbour(int n_threads) : pool_(menura::shared_pool(n_threads)) {}
    ~Neighbour() {
        is_over_ = true;
        thread_.join();
    }

private:
    void come_and_go() {
        while (!is_over_) {
            pool_->lend();
            {
                const menura::Pool::Guest guest(*pool_);
                std::this_thread::yield();
            }
            pool_->take_back();
            std::this_thread::yield();
        }
    }

    const std::shared_ptr<menura::Pool> pool_;
    std::atomic<bool> is_over_{false};
    std::thread thread_{&Neighbour::come_and_go, this};
};

bool rows_do_not_know_each_other(menura_lm* lm, int n_threads, int n_frames) {
    std::vector<Utterance> together;
    for (unsigned i = 0; i < 8; ++i) {
        together.emplace_back(i, 3 + 7 * static_cast<int>(i));
    }
    {
        const Neighbour neighbour(n_threads);
        speak(lm, together, n_frames);
    }
    for (unsigned i = 0; i < 8; i += 3) {
        std::vector<Utterance> alone;
        alone.emplace_back(i, 3 + 7 * static_cast<int>(i));
        speak(lm, alone, n_frames);
        if (alone[0].spoken != together[i].spoken || alone[0].hidden != together[i].hidden) {
            return false;
        }
    }
    return true;
}

bool state_goes_out_and_in(menura_lm* lm) {
    const int n = menura_lm_state_bytes(lm, 3) > 0 ? 3 : 0;
    std::vector<uint8_t> state(static_cast<size_t>(menura_lm_state_bytes(lm, n)));
    std::vector<uint8_t> again(state.size());
    const bool is_done = menura_lm_export(lm, 0, n, state.data()) == MENURA_OK &&
                         menura_lm_import(lm, 9, n, state.data()) == MENURA_OK &&
                         menura_lm_export(lm, 9, n, again.data()) == MENURA_OK;
    return is_done && state == again && menura_lm_export(lm, 9, n + 1, again.data()) != MENURA_OK;
}

bool bad_arguments_are_refused(menura_lm* lm) {
    std::vector<float> numbers(WIDTH * 2 + VOCAB);
    float* p = numbers.data();
    Utterance u(1, 3);
    menura_row row = u.row(10);
    return menura_lm_prefill(lm, 99, 0, 1, p, p, p) == MENURA_BAD_ARGUMENT &&
           menura_lm_prefill(lm, 10, 5, 1, p, p, p) == MENURA_BAD_ARGUMENT &&
           menura_lm_frame(lm, 1, &row) == MENURA_BAD_ARGUMENT &&
           menura_lm_release(lm, -1) == MENURA_BAD_ARGUMENT;
}

// How many of 100 passes are done alone, where these are what a pass takes.
int n_alone(menura::Pace& pace, double alone_s, double together_s) {
    int n = 0;
    for (int pass = 0; pass < 100; ++pass) {
        const bool is_alone = pace.is_alone();
        n += is_alone;
        pace.tell(is_alone, is_alone ? alone_s : together_s);
    }
    return n;
}

// Also where the machine becomes busy, and quiet again.
bool the_faster_way_is_taken() {
    menura::Pace pace(2);
    const bool is_first = n_alone(pace, 2.0, 1.0) <= 5;
    const bool is_busy = n_alone(pace, 2.0, 6.0) >= 95;
    n_alone(pace, 2.0, 1.0);
    n_alone(pace, 2.0, 1.0);
    return is_first && is_busy && n_alone(pace, 2.0, 1.0) <= 3 && menura::Pace(1).is_alone();
}

bool exercise(int kind, int n_threads, int n_frames) {
    const Model model(kind);
    char error[200] = "";
    menura_lm* lm = menura_lm_open(&model.model, n_threads, error, sizeof error);
    if (lm == nullptr) {
        std::printf("%s\n", error);
        return false;
    }
    std::vector<float> traced(3 * 4 * WIDTH);
    const std::vector<float> inputs(4 * WIDTH, 0.25f);
    bool is_good = rows_do_not_know_each_other(lm, n_threads, n_frames) &&
                   state_goes_out_and_in(lm) && bad_arguments_are_refused(lm);
    is_good &= menura_lm_trace(lm, 0, 4, inputs.data(), traced.data()) == MENURA_OK;
    menura_lm_close(lm);
    return is_good;
}

}  // namespace

int main(int n_arguments, char** arguments) {
    const int n_frames = n_arguments > 1 ? std::atoi(arguments[1]) : 4;
    bool is_good = the_faster_way_is_taken();
    for (const int kind : {MENURA_BF16, MENURA_INT8, MENURA_INT4}) {
        for (const int n_threads : {1, 2, 3}) {
            is_good &= exercise(kind, n_threads, n_frames);
        }
    }
    std::printf("%s: %s\n", menura_body(), is_good ? "good" : "WRONG");
    return is_good ? 0 : 1;
}
