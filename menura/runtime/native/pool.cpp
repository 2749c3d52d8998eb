#include "pool.h"

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

// Pins the calling thread for as long as it lives, and lets it go again.
class PinnedCaller {
public:
    explicit PinnedCaller(const std::vector<int>& cores) {
        if (!cores.empty() && sched_getaffinity(0, sizeof before_, &before_) == 0) {
            is_pinned_ = true;
            keep_to(cores[0]);
        }
    }
    ~PinnedCaller() {
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

class PinnedCaller {
public:
    explicit PinnedCaller(const std::vector<int>&) {}
};

#endif

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
    n_started_.fetch_add(1);
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

bool Pool::run(Task task, void* context, bool is_alone) {
    if (getpid() != process_) {
        return false;
    }
    std::lock_guard<std::mutex> turn(turn_);
    is_alone_ = is_alone || n_threads_ == 1;
    if (is_alone_) {
        task(context, 0, 1);
        return true;
    }
    const PinnedCaller pinned(cores_);
    task_ = task;
    context_ = context;
    n_done_.store(0, std::memory_order_relaxed);
    n_started_.fetch_add(1);  // publishes the task
    if (n_asleep_.load() > 0) {
        std::lock_guard<std::mutex> lock(sleep_);
        wake_.notify_all();
    }
    task(context, 0, n_threads_);
    for (int n = 0; n_done_.load(std::memory_order_acquire) < n_threads_ - 1; ++n) {
        wait_a_moment(n);
    }
    return true;
}

void Pool::barrier() {
    if (is_alone_) {
        return;
    }
    const uint32_t number = n_barriers_.load(std::memory_order_relaxed);
    if (n_arrived_.fetch_add(1, std::memory_order_acq_rel) == n_threads_ - 1) {
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
    for (uint32_t seen = 0;; ++seen) {
        await_task(seen);
        if (is_closing_) {
            return;
        }
        task_(context_, thread, n_threads_);
        n_done_.fetch_add(1, std::memory_order_release);
    }
}

void Pool::await_task(uint32_t seen) {
    for (int n = 0; n < SPINS + YIELDS_BEFORE_SLEEP; ++n) {
        if (n_started_.load(std::memory_order_acquire) != seen) {
            return;
        }
        wait_a_moment(n);
    }
    // Whoever starts a task looks at `n_asleep_` after it has counted the task, and a thread looks
    // for the task after it has counted itself as asleep: one of the two sees the other.
    std::unique_lock<std::mutex> lock(sleep_);
    n_asleep_.fetch_add(1);
    wake_.wait(lock, [&] { return n_started_.load() != seen; });
    n_asleep_.fetch_sub(1);
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
