# jit/jit_sources.h: a hash of src/jit, where kernels get their meaning and their code. It is part of each key of the cache of
# compiled kernels: two builds of one version that differ there never use each other's code.
if(NOT DEFINED LZ_GEN_DIR) # as a script: cmake -DFOLDER=... -DOUT=... -P jit_sources.cmake
    file(GLOB sources ${FOLDER}/*.c ${FOLDER}/*.h)
    list(SORT sources)
    foreach(source IN LISTS sources)
        get_filename_component(name ${source} NAME)
        file(SHA256 ${source} sum)
        string(APPEND sums "${name} ${sum}\n")
    endforeach()
    string(SHA256 sum "${sums}")
    string(SUBSTRING ${sum} 0 32 sum)
    file(WRITE ${OUT} "#define LZ_JIT_SOURCES \"${sum}\"\n")
    return()
endif()

file(GLOB LZ_JIT_FILES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/jit/*.c ${CMAKE_SOURCE_DIR}/src/jit/*.h)
add_custom_command(OUTPUT ${LZ_GEN_DIR}/jit/jit_sources.h
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${CMAKE_SOURCE_DIR}/src/jit -DOUT=${LZ_GEN_DIR}/jit/jit_sources.h
        -P ${CMAKE_CURRENT_LIST_DIR}/jit_sources.cmake
    DEPENDS ${LZ_JIT_FILES} VERBATIM)
add_custom_target(lz_jit_sources DEPENDS ${LZ_GEN_DIR}/jit/jit_sources.h)
