#include "pool.h"

#include <algorithm>
#include <map>

#include <sched.h>
#include <unistd.h>

namespace menura {
namespace {

constexpr int SPINS = 1000;           // about 20 microseconds
constexpr int YIELDS_BEFORE_SLEEP = 200;

void pause_core() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Waits a moment, the n-th time in a row.
void wait_a_moment(int n) {
    if (n < SPINS) {
        pause_core();
    } else {
        sched_yield();
    }
}

#if defined(__linux__)

std::vector<int> allowed_cores() {
    cpu_set_t set;
    std::vector<int> cores;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        for (int core = 0; core < CPU_SETSIZE; ++core) {
            if (CPU_ISSET(core, &set)) {
                cores.push_back(core);
            }
        }
    }
    return cores;
}

void keep_to(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    sched_setaffinity(0, sizeof set, &set);  // where it is forbidden, the thread runs anywhere
}

}  // namespace

// Keeps the calling thread to a core for as long as it lives, and lets it go again. A core below 0
// is none.
class PinnedThread {
public:
    explicit PinnedThread(int core) {
        if (core >= 0 && sched_getaffinity(0, sizeof before_, &before_) == 0) {
            is_pinned_ = true;
            keep_to(core);
        }
    }
    ~PinnedThread() {
        if (is_pinned_) {
            sched_setaffinity(0, sizeof before_, &before_);
        }
    }

private:
    cpu_set_t before_;
    bool is_pinned_ = false;
};

#else

std::vector<int> allowed_cores() { return {}; }
void keep_to(int) {}

}  // namespace

class PinnedThread {
public:
    explicit PinnedThread(int) {}
};

#endif

namespace {

constexpr uint64_t COUNT = 1ull << 32;  // of threads, above a task's number

int first_of(const std::vector<int>& cores) { return cores.empty() ? -1 : cores.front(); }
int last_of(const std::vector<int>& cores) { return cores.empty() ? -1 : cores.back(); }

}  // namespace

Pool::Pool(int n_threads) : n_threads_(n_threads), process_(getpid()) {
    // Fewer threads than cores would all meet on the first ones, beside those of other processes.
    const std::vector<int> cores = allowed_cores();
    if (n_threads > 1 && static_cast<int>(cores.size()) == n_threads) {
        cores_ = cores;
    }
    for (int thread = 1; thread < n_threads; ++thread) {
        threads_.emplace_back(&Pool::work, this, thread);
    }
}

Pool::~Pool() {
    const bool is_forked = getpid() != process_;
    is_closing_ = true;
    started_.fetch_add(1);
    {
        std::lock_guard<std::mutex> lock(sleep_);
        wake_.notify_all();
    }
    for (std::thread& thread : threads_) {
        if (is_forked) {
            thread.detach();  // it does not exist in this process
        } else {
            thread.join();
        }
    }
}

bool Pool::is_of_this_process() const { return getpid() == process_; }

Pool::Turn::Turn(Pool& pool) : pool_(pool), turn_(pool.turn_) {}

Pool::Turn::~Turn() = default;

void Pool::Turn::run(Task task, void* context, int n_wanted) {
    const int n_taking_part = std::clamp(n_wanted, 1, pool_.n_threads_);
    pool_.n_taking_part_ = n_taking_part;
    if (pinned_ == nullptr && (n_taking_part > 1 || pool_.is_lent())) {
        pinned_ = std::make_unique<PinnedThread>(first_of(pool_.cores_));
    }
    if (n_taking_part == 1) {
        task(context, 0, 1);
        return;
    }
    pool_.task_ = task;
    pool_.context_ = context;
    pool_.n_done_.store(0, std::memory_order_relaxed);
    const uint64_t number = (pool_.started_.load(std::memory_order_relaxed) + 1) % COUNT;
    pool_.started_.store(static_cast<uint64_t>(n_taking_part) * COUNT + number);  // publishes it
    if (pool_.n_asleep_.load() > 0) {
        std::lock_guard<std::mutex> lock(pool_.sleep_);
        pool_.wake_.notify_all();
    }
    task(context, 0, n_taking_part);
    for (int n = 0; pool_.n_done_.load(std::memory_order_acquire) < n_taking_part - 1; ++n) {
        wait_a_moment(n);
    }
}

Pool::Guest::Guest(const Pool& pool)
    : pinned_(std::make_unique<PinnedThread>(last_of(pool.cores_))) {}

Pool::Guest::~Guest() = default;

void Pool::barrier() {
    if (n_taking_part_ == 1) {
        return;
    }
    const uint32_t number = n_barriers_.load(std::memory_order_relaxed);
    if (n_arrived_.fetch_add(1, std::memory_order_acq_rel) == n_taking_part_ - 1) {
        n_arrived_.store(0, std::memory_order_relaxed);
        n_barriers_.store(number + 1, std::memory_order_release);
        return;
    }
    for (int n = 0; n_barriers_.load(std::memory_order_acquire) == number; ++n) {
        wait_a_moment(n);
    }
}

void Pool::work(int thread) {
    if (!cores_.empty()) {
        keep_to(cores_[static_cast<size_t>(thread)]);
    }
    for (Start seen = 0;;) {
        seen = next_start(seen);
        if (is_closing_) {
            return;
        }
        const int n_taking_part = static_cast<int>(seen / COUNT);
        if (thread < n_taking_part) {
            task_(context_, thread, n_taking_part);
            n_done_.fetch_add(1, std::memory_order_release);
        }
    }
}

// The start that follows the one that was seen; those that a thread misses were not its own, since
// whoever runs a task waits for all that take part.
Pool::Start Pool::next_start(Start seen) {
    for (int n = 0; n < SPINS + YIELDS_BEFORE_SLEEP; ++n) {
        const Start start = started_.load(std::memory_order_acquire);
        if (start != seen) {
            return start;
        }
        wait_a_moment(n);
    }
    // Whoever starts a task looks at `n_asleep_` after it has counted the task, and a thread looks
    // for the task after it has counted itself as asleep: one of the two sees the other.
    std::unique_lock<std::mutex> lock(sleep_);
    n_asleep_.fetch_add(1);
    wake_.wait(lock, [&] { return started_.load() != seen; });
    n_asleep_.fetch_sub(1);
    return started_.load();
}

std::shared_ptr<Pool> shared_pool(int n_threads) {
    static std::mutex guard;
    static std::map<int, std::weak_ptr<Pool>> pools;
    std::lock_guard<std::mutex> lock(guard);
    std::shared_ptr<Pool> pool = pools[n_threads].lock();
    if (!pool) {
        pool = std::make_shared<Pool>(n_threads);
        pools[n_threads] = pool;
    }
    return pool;
}

}  // namespace menura
