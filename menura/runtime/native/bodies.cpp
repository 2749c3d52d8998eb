// Which body runs on this machine: the widest one whose instructions the CPU has.
#include "bodies.h"

#include <cstdlib>
#include <cstring>

#if defined(MENURA_HAS_NEON) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace menura {
namespace {

struct Body {
    const char* name;
    bool (*is_supported)();
};

#if defined(MENURA_HAS_AVX512)
bool has_avx512() {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bf16");
}
#endif

#if defined(MENURA_HAS_AVX2)
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#endif

#if defined(MENURA_HAS_NEON)
bool has_neon() {
#if defined(__linux__)
    constexpr unsigned long HAS_DOT_PRODUCT = 1UL << 20;  // HWCAP_ASIMDDP
    return getauxval(AT_HWCAP) & HAS_DOT_PRODUCT;
#else
    return true;  // every Apple chip that runs macOS has it
#endif
}
#endif

constexpr Body BODIES[] = {
#if defined(MENURA_HAS_AVX512)
    {"avx512", has_avx512},
#endif
#if defined(MENURA_HAS_AVX2)
    {"avx2", has_avx2},
#endif
#if defined(MENURA_HAS_NEON)
    {"neon", has_neon},
#endif
};

}  // namespace

const char* chosen_body() {
    const char* forced = std::getenv("MENURA_NATIVE_BODY");
    const bool is_forced = forced != nullptr && *forced != 0;
    for (const Body& body : BODIES) {
        if (is_forced && std::strcmp(forced, body.name) != 0) {
            continue;
        }
        if (body.is_supported()) {
            return body.name;
        }
    }
    return "";
}

}  // namespace menura

const char* menura_bodies() {
    return ""
#if defined(MENURA_HAS_AVX512)
           "avx512 "
#endif
#if defined(MENURA_HAS_AVX2)
           "avx2 "
#endif
#if defined(MENURA_HAS_NEON)
           "neon "
#endif
        ;
}

const char* menura_body() { return menura::chosen_body(); }
