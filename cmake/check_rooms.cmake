# SPDX-License-Identifier: BSD-3-Clause
# Which folder of src/ may include files of which others: dependencies go one way. Run by ctest:
#
#   cmake -DSOURCE=<src> -P cmake/check_rooms.cmake
#
# Each line of the table: a folder, and the ones that it may use. A folder uses itself, and those that come before it only.

cmake_minimum_required(VERSION 3.25)

set(rooms
    "base:"
    "algorithms/kernels:"
    "topology: base"
    "algorithms: base topology"
    "watch: base algorithms"
    "progress/engine: base algorithms algorithms/kernels"
    "trace: base topology algorithms watch progress/engine"
    "progress/background: progress/engine"
    "progress/node: base topology progress/engine"
    "progress/network: progress/engine"
    "tuning: base topology algorithms progress/engine"
    "intercept/types: base algorithms/kernels progress/engine progress/network"
    "intercept/process: base topology tuning progress/engine progress/node progress/background progress/network"
    "intercept/communicator: base watch topology tuning progress/engine progress/node progress/network intercept/types intercept/process"
    "intercept/calls: base trace progress/engine progress/background progress/network intercept/types intercept/process intercept/communicator"
    "intercept/observed: base watch trace topology algorithms algorithms/kernels progress/background progress/network intercept/types intercept/process intercept/communicator intercept/calls"
    "intercept/entry: topology progress/network intercept/types intercept/process intercept/communicator intercept/calls intercept/observed"
    "info: base topology algorithms trace tuning intercept/entry"
    "tuner: base topology algorithms tuning"
    "mpi_abi:"
    "format:"
    "portable:")

set(known "")
set(wrong 0)
set(includes 0)
foreach(line IN LISTS rooms)
    string(REGEX MATCH "^([^:]+):(.*)$" _ "${line}")
    set(room "${CMAKE_MATCH_1}")
    string(STRIP "${CMAKE_MATCH_2}" uses)
    separate_arguments(uses)
    foreach(use IN LISTS uses)
        if(NOT use IN_LIST known)
            message(SEND_ERROR "${room} may not use ${use}, which does not come before it")
        endif()
    endforeach()
    list(APPEND known "${room}")
    file(GLOB files "${SOURCE}/${room}/*.[chSi]*")
    foreach(file IN LISTS files)
        file(STRINGS "${file}" lines REGEX "^ *#include \"")
        foreach(include IN LISTS lines)
            string(REGEX REPLACE "^ *#include \"(.*)/[^/]*\".*$" "\\1" of "${include}")
            if(of STREQUAL room OR of STREQUAL "hcoll")
                continue()
            endif()
            math(EXPR includes "${includes} + 1")
            if(NOT of IN_LIST uses)
                message(SEND_ERROR "${file}: ${room} may not use ${of} (cmake/check_rooms.cmake)")
            endif()
        endforeach()
    endforeach()
endforeach()

# Every file is in a room.
file(GLOB_RECURSE all RELATIVE "${SOURCE}" "${SOURCE}/*.[chSi]*")
foreach(file IN LISTS all)
    get_filename_component(room "${file}" DIRECTORY)
    if(NOT room IN_LIST known)
        message(SEND_ERROR "${file} is in no room of cmake/check_rooms.cmake")
    endif()
endforeach()
message(STATUS "${includes} includes from other rooms were looked at")
