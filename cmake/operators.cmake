# Code made from the operator files by lazuli-gen, in build/gen/, and compiled once for the shared and the static library.
file(GLOB LZ_OP_FILES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/ops/*.yaml)
list(REMOVE_ITEM LZ_OP_FILES ${CMAKE_SOURCE_DIR}/ops/tags.yaml ${CMAKE_SOURCE_DIR}/ops/derivatives.yaml
    ${CMAKE_SOURCE_DIR}/ops/left_out.yaml)
set(LZ_GEN_DIR ${CMAKE_BINARY_DIR}/gen)
set(LZ_GEN_HEADERS op/op_table.h lower/lower_table.h include/lazuli/ops.h include/lazuli/short_ops.h
    op/functional_table.h autograd/grad_table.h)
set(LZ_GEN_SOURCES op/op_table.c lower/lower_table.c api/ops_defaults.c api/short_ops.c
    op/functional_table.c lazy/ops_0.c autograd/grad_table.c)
list(TRANSFORM LZ_GEN_HEADERS PREPEND ${LZ_GEN_DIR}/)
list(TRANSFORM LZ_GEN_SOURCES PREPEND ${LZ_GEN_DIR}/)
foreach(file IN LISTS LZ_OP_FILES)
    get_filename_component(family ${file} NAME_WE)
    list(APPEND LZ_GEN_SOURCES ${LZ_GEN_DIR}/lower/lower_${family}.c ${LZ_GEN_DIR}/autograd/grad_${family}.c)
endforeach()

set(gen_args --own --tags ${CMAKE_SOURCE_DIR}/ops/tags.yaml --derivatives ${CMAKE_SOURCE_DIR}/ops/derivatives.yaml
    --left-out ${CMAKE_SOURCE_DIR}/ops/left_out.yaml)
foreach(file IN LISTS LZ_OP_FILES)
    list(APPEND gen_args --native ${file})
endforeach()
foreach(header IN ITEMS base value schema tensor backend)
    list(APPEND LZ_GEN_INPUTS ${CMAKE_SOURCE_DIR}/include/lazuli/${header}.h)
    list(APPEND gen_args --headers ${CMAKE_SOURCE_DIR}/include/lazuli/${header}.h)
endforeach()
# No depfile: every input stands here, and one that named a removed file would stop Ninja.
list(APPEND LZ_GEN_INPUTS ${LZ_OP_FILES} ${CMAKE_SOURCE_DIR}/ops/tags.yaml ${CMAKE_SOURCE_DIR}/ops/derivatives.yaml
    ${CMAKE_SOURCE_DIR}/ops/left_out.yaml)
set(LZ_OUTSIDE "base|harness") # folders of src without a part in lz_objects
# A selective build has the operators that the files of LZ_OPS name (selections and C programs) and those that the library's own
# code and headers name, and what these need. The generator finds the names. Graphs need no layers and optimisers: without a C
# program src/nn is left out.
if(LZ_OPS)
    file(GLOB LZ_USES CONFIGURE_DEPENDS src/*/*.[ch] include/lazuli/*.h)
    if(NOT LZ_OPS MATCHES "\\.c(;|$)")
        set(LZ_OUTSIDE "base|harness|nn")
    endif()
    list(FILTER LZ_USES EXCLUDE REGEX "/src/(${LZ_OUTSIDE})/")
    foreach(file IN LISTS LZ_OPS)
        cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_SOURCE_DIR} NORMALIZE)
        if(NOT EXISTS ${file})
            message(FATAL_ERROR "LZ_OPS: there is no file ${file}")
        elseif(file MATCHES "\\.[ch]$")
            list(APPEND LZ_USES ${file})
        else()
            list(APPEND LZ_GEN_INPUTS ${file})
            list(APPEND gen_args --select ${file})
        endif()
    endforeach()
    list(APPEND LZ_GEN_INPUTS ${LZ_USES})
    foreach(file IN LISTS LZ_USES)
        list(APPEND gen_args --uses ${file})
    endforeach()
endif()
set(LZ_GEN_FILES ${LZ_GEN_HEADERS} ${LZ_GEN_SOURCES})
add_custom_command(OUTPUT ${LZ_GEN_FILES}
    COMMAND lazuli_gen_cli emit --target tables,lower,api,short,lazy,functionalization,autograd --out ${LZ_GEN_DIR} ${gen_args}
    DEPENDS lazuli_gen_cli ${LZ_GEN_INPUTS}
    COMMENT "Making the operators" VERBATIM)
add_custom_target(lz_made_files DEPENDS ${LZ_GEN_FILES})

add_library(lz_made OBJECT ${LZ_GEN_SOURCES})
# Lowering and derivatives run once for each new graph, and the functions that record an operator fill in an array and
# call lz_record: -O1 without inlining compiles in half the time of -Os, and gives 28 % less code than -Og. Nobody has to find
# their way through these files without debug information. Sanitizers need most of their compile time for them, unless they
# are not optimised.
set(LZ_SELDOM_RUN ${LZ_GEN_SOURCES})
list(FILTER LZ_SELDOM_RUN EXCLUDE REGEX "/lazy/ops_")
set_source_files_properties(${LZ_SELDOM_RUN} PROPERTIES COMPILE_OPTIONS
    "$<$<CONFIG:Release>:-O1;-fno-inline;-fno-asynchronous-unwind-tables>$<$<CONFIG:RelWithDebInfo>:-O0>")
set_source_files_properties(${LZ_GEN_DIR}/lazy/ops_0.c PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-O1>")
target_link_libraries(lz_made PRIVATE lz_flags)
target_include_directories(lz_made PUBLIC ${LZ_GEN_DIR} ${LZ_GEN_DIR}/include)
