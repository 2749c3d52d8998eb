// Threads that stay: a frame takes tens of milliseconds and has hundreds of barriers, so threads
// are neither made nor put to sleep inside it.
#ifndef MENURA_POOL_H
#define MENURA_POOL_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace menura {

// A caller runs a task on all threads of a pool at once, itself being thread 0.
//
// Waiting threads spin for a few microseconds, then give their core to whoever wants it, and after
// a while without a task they sleep: an idle pool costs nothing, and a busy machine is not blocked.
// If the pool has as many threads as the process has cores, each keeps to its own core; the caller
// only during a task. A fork leaves the child without the threads: `run` then refuses.
class Pool {
public:
    using Task = void (*)(void* context, int thread, int n_threads);

    explicit Pool(int n_threads);
    ~Pool();
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    int n_threads() const { return n_threads_; }

    // Whether the task was run. Returns when all threads are done; callers take turns. A caller
    // that does it alone is thread 0 of 1.
    bool run(Task task, void* context, bool is_alone = false);

    // Called by all threads of a task: none goes on before all have arrived.
    void barrier();

private:
    void work(int thread);
    void await_task(uint32_t seen);

    const int n_threads_;
    const int process_;
    std::vector<int> cores_;  // empty where threads are not pinned
    std::mutex turn_;
    Task task_ = nullptr;
    void* context_ = nullptr;
    bool is_alone_ = false;
    std::atomic<bool> is_closing_{false};
    // Each on a line of its own: they are written by all threads.
    alignas(64) std::atomic<uint32_t> n_started_{0};
    alignas(64) std::atomic<int> n_done_{0};
    alignas(64) std::atomic<int> n_arrived_{0};
    alignas(64) std::atomic<uint32_t> n_barriers_{0};
    alignas(64) std::atomic<int> n_asleep_{0};
    std::mutex sleep_;
    std::condition_variable wake_;
    std::vector<std::thread> threads_;
};

// The process's pool with this many threads; it lives as long as somebody holds it.
std::shared_ptr<Pool> shared_pool(int n_threads);

}  // namespace menura

#endif
