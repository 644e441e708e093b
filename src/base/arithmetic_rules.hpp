// SPDX-License-Identifier: BSD-3-Clause
// How a thread rounds, what it does with numbers that are nearly 0, and which results raise a signal: the application may have asked for other rules, of each of its threads, at any
// time. Who combines somebody else's operands goes by the rules of who began that: otherwise bits would depend on who comes to it first, and differ between ranks.
#pragma once

#include <cfenv>
#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace hcoll {

// Those of a thread, without the flags that it has raised. Some ns.
class ArithmeticRules {
public:
    static ArithmeticRules of_this_thread() {
        ArithmeticRules rules;
#if defined(__x86_64__)
        rules.vectors_ = _mm_getcsr() & ~flags;
        __asm__ __volatile__("fnstcw %0" : "=m"(rules.long_double_));
#elif defined(__aarch64__)
        __asm__ __volatile__("mrs %0, fpcr" : "=r"(rules.all_));
#else
        std::fegetenv(&rules.all_);
#endif
        return rules;
    }
    // Flags that are raised may be forgotten: they are no reason for a signal that these rules have.
    void become_this_thread_s() const {
#if defined(__x86_64__)
        _mm_setcsr(vectors_);
        __asm__ __volatile__("fnclex\n\tfldcw %0" : : "m"(long_double_));
#elif defined(__aarch64__)
        __asm__ __volatile__("msr fpcr, %0" : : "r"(all_));
#else
        std::fesetenv(&all_);
#endif
    }
#if defined(__x86_64__) || defined(__aarch64__)
    friend bool operator==(const ArithmeticRules&, const ArithmeticRules&) = default;
#else
    friend bool operator==(const ArithmeticRules&, const ArithmeticRules&) { return false; }
#endif

private:
#if defined(__x86_64__)
    static constexpr unsigned int flags = 0x3f;
    unsigned int vectors_ = 0;
    std::uint16_t long_double_ = 0;
#elif defined(__aarch64__)
    std::uint64_t all_ = 0;
#else
    std::fenv_t all_{};
#endif
};

// While one of these lives, this thread goes by them. Afterwards all is as before, its flags, too.
class UnderRules {
public:
    explicit UnderRules(const ArithmeticRules& rules) : are_others_(!(ArithmeticRules::of_this_thread() == rules)) {
        if (!are_others_) return;
        std::fegetenv(&before_);
        rules.become_this_thread_s();
    }
    ~UnderRules() {
        if (are_others_) std::fesetenv(&before_);
    }
    UnderRules(const UnderRules&) = delete;
    UnderRules& operator=(const UnderRules&) = delete;

private:
    std::fenv_t before_{};
    bool are_others_;
};

}  // namespace hcoll
