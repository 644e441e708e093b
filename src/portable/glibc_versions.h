/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of glibc's versions of functions, for src/portable. */
#pragma once

/* The first version that this processor's glibc has of anything, or the one in which x86-64's has got the function. */
#if defined(__x86_64__)
#define SINCE(x86_64_version) "GLIBC_" x86_64_version
#elif defined(__aarch64__)
#define SINCE(x86_64_version) "GLIBC_2.17"
#else
#error "which version of glibc was this processor's first?"
#endif
