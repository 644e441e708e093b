# SPDX-License-Identifier: BSD-3-Clause
# Makes libraries and programs that need glibc (2.28 or newer) and its unwinder alone (src/portable), of what this machine has:
#   hcoll_hwloc      hwloc: inside of what links it where there is an archive of it, else the shared library
#   hcoll_portable   for what is to be carried to other machines: the C++ run-time inside, and stand-ins for newer functions of glibc
#   hcoll_portable_program   the same for a program
# All that comes in is hidden. HCOLL_PORTABLE says whether that is done; without it, hcoll_portable is empty.

set(portable_folder ${PROJECT_BINARY_DIR}/portable)

# Makes what stands for that library of glibc when something is linked (older_libraries.c) in a folder that no loader looks into. Sets `out` to what the
# compiler says; empty if all is well.
function(hcoll_make_older_library name out)
    set(source ${PROJECT_SOURCE_DIR}/src/portable/older_libraries)
    set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source}.c ${source}.map)
    separate_arguments(flags UNIX_COMMAND "${CMAKE_C_COMPILER_ARG1} ${CMAKE_C_FLAGS}")
    if(CMAKE_C_COMPILER_TARGET)
        list(APPEND flags --target=${CMAKE_C_COMPILER_TARGET})
    endif()
    execute_process(COMMAND ${CMAKE_C_COMPILER} ${flags} -shared -nostdlib -fPIC -I${PROJECT_SOURCE_DIR}/src ${ARGN} ${source}.c -Wl,-soname,${name}
            -Wl,--version-script,${source}.map -o ${portable_folder}/${name}
        RESULT_VARIABLE failed ERROR_VARIABLE message)
    if(failed)
        set(${out} "${name} cannot be made: ${message}" PARENT_SCOPE)
    else()
        set(${out} "" PARENT_SCOPE)
    endif()
endfunction()

# Sets `out` to why nothing portable can be made of this machine's packages; empty where it can.
function(hcoll_why_not_portable out)
    set(${out} "" PARENT_SCOPE)
    if(HCOLL_SANITIZE)
        set(${out} "sanitizers bring libraries of their own" PARENT_SCOPE)
        return()
    endif()
    find_library(HCOLL_HWLOC_ARCHIVE NAMES libhwloc.a HINTS ${hwloc_LIBRARY_DIRS} ${hwloc_LIBDIR} DOC "hwloc's archive")
    if(NOT HCOLL_HWLOC_ARCHIVE)
        set(${out} "hwloc's archive (libhwloc.a) is missing" PARENT_SCOPE)
        return()
    endif()
    file(MAKE_DIRECTORY ${portable_folder})
    set(names ${PROJECT_SOURCE_DIR}/src/portable/hwloc_names.txt)
    set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${names})
    execute_process(COMMAND ${CMAKE_OBJCOPY} --redefine-syms=${names} ${HCOLL_HWLOC_ARCHIVE} ${portable_folder}/libhcoll_hwloc.a
        RESULT_VARIABLE failed ERROR_VARIABLE message)
    if(failed)
        set(${out} "objcopy: ${message}" PARENT_SCOPE)
        return()
    endif()
    hcoll_make_older_library(libdl.so.2 message -DOF_LIBDL)
    if(NOT message)
        hcoll_make_older_library(libpthread.so.0 message)
    endif()
    if(message)
        set(${out} "${message}" PARENT_SCOPE)
        return()
    endif()
    # Other systems' archives may need other libraries, and not all may be a part of a library.
    file(WRITE ${portable_folder}/probe.cpp "#include <hwloc.h>\n#include <stdexcept>\nextern \"C\" int probe() {\n"
        "    hwloc_topology_t topology;\n    if (hwloc_topology_init(&topology) != 0) throw std::runtime_error(\"none\");\n"
        "    return hwloc_topology_load(topology);\n}\n")
    set(CMAKE_TRY_COMPILE_TARGET_TYPE EXECUTABLE)
    try_compile(links ${portable_folder}/probe
        SOURCES ${portable_folder}/probe.cpp ${PROJECT_SOURCE_DIR}/src/portable/hwloc_inside.c ${PROJECT_SOURCE_DIR}/src/portable/older_glibc.c
        CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${hwloc_INCLUDE_DIRS};${PROJECT_SOURCE_DIR}/src" -DCMAKE_POSITION_INDEPENDENT_CODE=ON
        COMPILE_DEFINITIONS -fPIC
        LINK_OPTIONS -shared -Wl,-z,defs ${portable_options}
        LINK_LIBRARIES ${portable_folder}/libhcoll_hwloc.a m
        OUTPUT_VARIABLE message)
    if(NOT links)
        file(WRITE ${portable_folder}/probe.log "${message}")
        set(${out} "they do not link (${portable_folder}/probe.log)" PARENT_SCOPE)
    endif()
endfunction()

macro(hcoll_set_up_portable)
    option(HCOLL_PORTABLE "hwloc and the C++ run-time inside of libraries and programs, which then need glibc 2.28 and libgcc_s alone" ON)
    # libgcc_s is the unwinder, which a process has one of: exceptions and cancellations of the application pass through the library's
    # frames. glibc itself loads it where a thread is cancelled, so every system has it. The two libraries are those of glibc before 2.34
    # (older_libraries.c): files among the options, since CMake would note the folder of targets for the loader.
    set(portable_options -static-libstdc++ -Wl,--exclude-libs,ALL
        -Wl,--push-state,--no-as-needed ${portable_folder}/libdl.so.2 ${portable_folder}/libpthread.so.0 -Wl,--pop-state)
    add_library(hcoll_hwloc INTERFACE)
    add_library(hcoll_portable INTERFACE)
    add_library(hcoll_portable_program INTERFACE)
    target_link_libraries(hcoll_portable_program INTERFACE hcoll_portable)
    set(not_portable "HCOLL_PORTABLE is off")
    if(HCOLL_PORTABLE)
        hcoll_why_not_portable(not_portable)
    endif()
    if(not_portable)
        message(STATUS "libraries need this machine's hwloc and C++ run-time: ${not_portable}")
        set(HCOLL_IS_PORTABLE OFF CACHE INTERNAL "")
        target_link_libraries(hcoll_hwloc INTERFACE PkgConfig::hwloc)
    else()
        set(HCOLL_IS_PORTABLE ON CACHE INTERNAL "")
        foreach(name hwloc_inside older_glibc older_glibc_start)
            add_library(hcoll_${name} OBJECT ${PROJECT_SOURCE_DIR}/src/portable/${name}.c)
            set_target_properties(hcoll_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON UNITY_BUILD OFF)
            target_include_directories(hcoll_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
            target_link_libraries(hcoll_${name} PRIVATE hcoll_warnings)
        endforeach()
        # GCC takes a pointer that is passed on for one that is read.
        target_compile_options(hcoll_older_glibc PRIVATE -ffunction-sections -fno-builtin -Wno-maybe-uninitialized)
        target_include_directories(hcoll_hwloc SYSTEM INTERFACE ${hwloc_INCLUDE_DIRS})
        target_link_libraries(hcoll_hwloc INTERFACE $<TARGET_OBJECTS:hcoll_hwloc_inside> ${portable_folder}/libhcoll_hwloc.a m)
        # An MPI library of the same process has a hwloc of its own.
        target_link_options(hcoll_hwloc INTERFACE -Wl,--exclude-libs,libhcoll_hwloc.a)
        target_link_options(hcoll_portable INTERFACE ${portable_options})
        target_link_libraries(hcoll_portable INTERFACE $<TARGET_OBJECTS:hcoll_older_glibc>)
        target_link_libraries(hcoll_portable_program INTERFACE $<TARGET_OBJECTS:hcoll_older_glibc_start>)
    endif()
endmacro()
