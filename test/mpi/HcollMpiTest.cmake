# SPDX-License-Identifier: BSD-3-Clause
# How a multi-rank test program is built and registered. Expects, for each flavour of HCOLL_FLAVOURS, the interface
# target hcoll_mpi_<flavour> and the variables HCOLL_MPIEXEC_<flavour> and (may be empty) HCOLL_MPIFORT_<flavour>.

include(${CMAKE_CURRENT_LIST_DIR}/Differences.cmake)
set(HCOLL_TEST_LIBRARY "${PROJECT_BINARY_DIR}/lib/libhcoll.so" CACHE FILEPATH "The library that MPI tests preload")
set(HCOLL_TEST_BIN "${PROJECT_BINARY_DIR}/test/bin")

# hcoll_add_mpi_program(<name> <flavour> SOURCES <file>... [LIBRARIES <target>...])
function(hcoll_add_mpi_program name flavour)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES;LIBRARIES")
    set(target "${name}.${flavour}")
    add_executable(${target} ${arg_SOURCES})
    target_compile_features(${target} PRIVATE cxx_std_20)
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/include")
    # Libraries first: a linked-in profiling tool must come before MPI.
    target_link_libraries(${target} PRIVATE ${arg_LIBRARIES} hcoll_mpi_${flavour} hcoll_warnings Threads::Threads)
    # They are compiled for longer than they compute, and for much of that time it is headers that are.
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
    if(arg_SOURCES MATCHES "[.]cpp")
        if(NOT TARGET hcoll_mpi_test_headers.${flavour})
            file(WRITE "${CMAKE_BINARY_DIR}/test/no_test.cpp" "")
            add_library(hcoll_mpi_test_headers.${flavour} OBJECT "${CMAKE_BINARY_DIR}/test/no_test.cpp")
            target_compile_features(hcoll_mpi_test_headers.${flavour} PRIVATE cxx_std_20)
            target_include_directories(hcoll_mpi_test_headers.${flavour} PRIVATE "${PROJECT_SOURCE_DIR}/include")
            target_link_libraries(hcoll_mpi_test_headers.${flavour} PRIVATE hcoll_mpi_${flavour} hcoll_warnings Threads::Threads)
            target_compile_options(hcoll_mpi_test_headers.${flavour} PRIVATE $<$<CONFIG:Release>:-O1>)
            target_precompile_headers(hcoll_mpi_test_headers.${flavour} PRIVATE <mpi.h> <algorithm> <array> <atomic> <chrono> <cstdio> <cstring>
                <functional> <map> <memory> <mutex> <random> <string> <thread> <vector>)
        endif()
        target_precompile_headers(${target} REUSE_FROM hcoll_mpi_test_headers.${flavour})
    endif()
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${HCOLL_TEST_BIN}")
endfunction()

# hcoll_add_mpi_fortran_program(<name> <flavour> <source>): built by the MPI library's own wrapper.
function(hcoll_add_mpi_fortran_program name flavour source)
    set(wrapper "${HCOLL_MPIFORT_${flavour}}")
    set(program "${HCOLL_TEST_BIN}/${name}.${flavour}")
    set(flags -O1 -w)
    execute_process(COMMAND "${wrapper}" --version OUTPUT_VARIABLE version ERROR_QUIET)
    if(version MATCHES "GNU Fortran")
        # mpif.h and some mpi modules have no interfaces for choice buffers; calls with several types then look wrong.
        list(APPEND flags -fallow-argument-mismatch)
    endif()
    add_custom_command(
        OUTPUT "${program}"
        COMMAND "${CMAKE_COMMAND}" -E make_directory "${HCOLL_TEST_BIN}"
        COMMAND "${wrapper}" ${flags} "${CMAKE_CURRENT_SOURCE_DIR}/${source}" -o "${program}"
        WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}"
        DEPENDS "${source}"
        COMMENT "Building Fortran program ${name}.${flavour}"
        VERBATIM)
    add_custom_target(${name}.${flavour} ALL DEPENDS "${program}")
endfunction()

# hcoll_add_mpi_test(<name> <flavour> RANKS <n> PROGRAM <program> [ARGS <argument>...] [ENV <NAME=value>...]
#                    [PRELOAD <library>...] [TIMEOUT <seconds>] [SERIAL])
#
# Registers the test mpi.<name>.<flavour>. PROGRAM is a name as in hcoll_add_mpi_program, or a full path. PRELOAD
# defaults to libhcoll.so; NONE is the MPI library alone. The library takes communicators over after one call unless ENV
# says otherwise. SERIAL: not beside any other test.
function(hcoll_add_mpi_test name flavour)
    cmake_parse_arguments(PARSE_ARGV 2 arg "SERIAL" "RANKS;PROGRAM;TIMEOUT" "ENV;ARGS;PRELOAD")
    hcoll_find_difference(${name} ${flavour} difference)
    if(difference)
        hcoll_add_skipped_mpi_test(${name} ${flavour} "${difference}")
        return()
    endif()
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 120)
    endif()
    if(CMAKE_CROSSCOMPILING_EMULATOR)
        math(EXPR arg_TIMEOUT "5 * ${arg_TIMEOUT}")
    endif()
    if(NOT arg_PRELOAD)
        set(arg_PRELOAD "${HCOLL_TEST_LIBRARY}")
    endif()
    if(IS_ABSOLUTE "${arg_PROGRAM}")
        set(program "${arg_PROGRAM}")
    else()
        set(program "${HCOLL_TEST_BIN}/${arg_PROGRAM}.${flavour}")
    endif()
    set(settings -e LIBHCOLL_SETUP_CALLS=1)
    foreach(setting IN LISTS arg_ENV)
        list(APPEND settings -e "${setting}")
    endforeach()
    if(NOT arg_PRELOAD STREQUAL "NONE")
        list(JOIN arg_PRELOAD ":" preload)
        list(APPEND settings -e "LD_PRELOAD=${preload}")
    endif()
    set(test "mpi.${name}.${flavour}")
    add_test(NAME ${test} COMMAND "${PROJECT_SOURCE_DIR}/scripts/mpirun-test" ${flavour} ${arg_RANKS} ${settings} --
                                  "${program}" ${arg_ARGS})
    math(EXPR hard_limit "${arg_TIMEOUT} + 60") # the script itself ends a hang, and tells where it hangs
    set(environment "HCOLL_MPIEXEC=${HCOLL_MPIEXEC_${flavour}}" "HCOLL_TEST_TIMEOUT=${arg_TIMEOUT}"
                    "HCOLL_TEST_IDLE_YIELD=$<TARGET_FILE:hcoll_idle_yield>")
    if(CMAKE_CROSSCOMPILING_EMULATOR)
        list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)
        list(APPEND environment "HCOLL_TEST_EMULATOR=${emulator}")
    endif()
    set_tests_properties(
        ${test}
        PROPERTIES
            LABELS "mpi;${flavour}"
            PROCESSORS ${arg_RANKS}
            RUN_SERIAL "${arg_SERIAL}"
            SKIP_RETURN_CODE 77
            TIMEOUT ${hard_limit}
            ENVIRONMENT
            "${environment}"
    )
endfunction()

# Registers a test that tells why it cannot run.
function(hcoll_add_skipped_mpi_test name flavour reason)
    add_test(NAME mpi.${name}.${flavour} COMMAND "${CMAKE_COMMAND}" -E echo "SKIP: ${reason}")
    set_tests_properties(mpi.${name}.${flavour} PROPERTIES LABELS "mpi;${flavour}" SKIP_REGULAR_EXPRESSION "^SKIP: ")
endfunction()
