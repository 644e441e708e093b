# SPDX-License-Identifier: BSD-3-Clause
# What that MPI library has wrong by itself, of the list, for what is run without ctest; nothing where it has not:
#
#   cmake -DNAME=abi_threads -DFLAVOUR=openmpi -DMPIEXEC=mpiexec.openmpi -P find_difference.cmake
include(${CMAKE_CURRENT_LIST_DIR}/Differences.cmake)
set(HCOLL_MPIEXEC_${FLAVOUR} ${MPIEXEC})
hcoll_find_difference(${NAME} ${FLAVOUR} reason)
if(reason)
    execute_process(COMMAND ${CMAKE_COMMAND} -E echo "${reason}")
endif()
