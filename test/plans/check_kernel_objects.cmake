# SPDX-License-Identifier: BSD-3-Clause
# usage: cmake -DNM=<nm> -DOBJDUMP=<objdump> -DOBJECTS=<object files, separated by commas> -P check_kernel_objects.cmake
#
# Object files made for newer CPUs define nothing that the linker could take for the whole program's copy of an inline
# function, need no functions that only new compilers' run-time libraries have (16-bit floats, of GCC 12), and round every
# product: see src/algorithms/kernels/kernel_loops.hpp. So it is seen on any CPU what a compiler made for another.
string(REPLACE "," ";" objects "${OBJECTS}")
if(NOT objects)
    message(FATAL_ERROR "no object files")
endif()
foreach(object IN LISTS objects)
    execute_process(COMMAND "${NM}" --defined-only --extern-only "${object}" OUTPUT_VARIABLE symbols
                    COMMAND_ERROR_IS_FATAL ANY)
    string(STRIP "${symbols}" symbols)
    string(REPLACE "\n" ";" symbols "${symbols}")
    foreach(symbol IN LISTS symbols)
        if(NOT symbol MATCHES "^[0-9a-f]+ [DRB] .*kernels_[a-z0-9]+5tableE$")
            message(SEND_ERROR "${object} defines ${symbol}")
        endif()
    endforeach()
    execute_process(COMMAND "${NM}" --undefined-only "${object}" OUTPUT_VARIABLE needed COMMAND_ERROR_IS_FATAL ANY)
    if(needed MATCHES "(__[a-z]*hf[a-z0-9]*)")
        message(SEND_ERROR "${object} needs ${CMAKE_MATCH_1}")
    endif()
    execute_process(COMMAND "${OBJDUMP}" --disassemble --no-show-raw-insn "${object}" OUTPUT_VARIABLE code
                    COMMAND_ERROR_IS_FATAL ANY)
    if(code MATCHES "[ \t](v?fn?m(add|sub|la|ls)[a-z0-9]*)[ \t]")
        message(SEND_ERROR "${object} fuses a product with a sum: ${CMAKE_MATCH_1}")
    endif()
endforeach()
