# SPDX-License-Identifier: BSD-3-Clause
# Code that tells of all its accesses: by the calls that the compiler makes for -fsanitize=thread, which end in instrumentation.cpp. No sanitizer is linked.
function(hcoll_tell_accesses objects)
    target_compile_options(${objects} PRIVATE -fsanitize=thread -O1 -g1
        # Or short ones are moves that nobody is told of.
        -fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-memset -fno-builtin-memcmp)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        target_compile_options(${objects} PRIVATE "SHELL:--param tsan-instrument-func-entry-exit=0")
    endif()
    target_link_libraries(${objects} PRIVATE hcoll_options hcoll_format)
endfunction()

# The tests that are told of them, with the functions of the system that instrumentation.cpp has its own of.
function(hcoll_use_told_accesses program)
    target_compile_options(${program} PRIVATE -O2)
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/bin)
    target_link_libraries(${program} PRIVATE hcoll_topology GTest::gtest GTest::gtest_main)
    foreach(function memcpy memmove memset memcmp pthread_mutex_lock pthread_mutex_unlock pthread_cond_clockwait sched_yield
            _ZNSt6chrono3_V212steady_clock3nowEv _ZNSt18condition_variable10notify_oneEv _ZNSt18condition_variable10notify_allEv
            _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE)
        target_link_options(${program} PRIVATE -Wl,--wrap=${function})
    endforeach()
endfunction()
