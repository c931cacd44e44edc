# Code made from the operator files by lazuli-gen, in build/gen/, and compiled once for the shared and the static library.
file(GLOB LZ_OP_FILES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/ops/*.yaml)
list(REMOVE_ITEM LZ_OP_FILES ${CMAKE_SOURCE_DIR}/ops/tags.yaml ${CMAKE_SOURCE_DIR}/ops/derivatives.yaml)
set(LZ_GEN_DIR ${CMAKE_BINARY_DIR}/gen)
set(LZ_GEN_HEADERS op/op_table.h lower/lower_table.h include/lazuli/ops.h api/boxed_table.h
    lazy/functional_table.h lazy/nodes.h autograd/grad_table.h)
set(LZ_GEN_SOURCES op/op_table.c lower/lower_table.c api/ops_defaults.c api/boxed_table.c api/boxed_0.c
    lazy/functional_table.c lazy/nodes_0.c lazy/ops_0.c autograd/grad_table.c)
list(TRANSFORM LZ_GEN_HEADERS PREPEND ${LZ_GEN_DIR}/)
list(TRANSFORM LZ_GEN_SOURCES PREPEND ${LZ_GEN_DIR}/)
foreach(file IN LISTS LZ_OP_FILES)
    get_filename_component(family ${file} NAME_WE)
    list(APPEND LZ_GEN_SOURCES ${LZ_GEN_DIR}/lower/lower_${family}.c ${LZ_GEN_DIR}/autograd/grad_${family}.c)
endforeach()

set(gen_args --own --tags ${CMAKE_SOURCE_DIR}/ops/tags.yaml --derivatives ${CMAKE_SOURCE_DIR}/ops/derivatives.yaml)
foreach(file IN LISTS LZ_OP_FILES)
    list(APPEND gen_args --native ${file})
endforeach()
foreach(header IN ITEMS base value schema tensor backend)
    list(APPEND LZ_GEN_INPUTS ${CMAKE_SOURCE_DIR}/include/lazuli/${header}.h)
    list(APPEND gen_args --headers ${CMAKE_SOURCE_DIR}/include/lazuli/${header}.h)
endforeach()
# No depfile: every input stands here, and one that named a removed file would stop Ninja.
list(APPEND LZ_GEN_INPUTS ${LZ_OP_FILES} ${CMAKE_SOURCE_DIR}/ops/tags.yaml ${CMAKE_SOURCE_DIR}/ops/derivatives.yaml)
set(LZ_GEN_FILES ${LZ_GEN_HEADERS} ${LZ_GEN_SOURCES})
add_custom_command(OUTPUT ${LZ_GEN_FILES}
    COMMAND lazuli_gen_cli emit --target tables,lower,api,boxed,lazy,functionalization,autograd --out ${LZ_GEN_DIR} ${gen_args}
    DEPENDS lazuli_gen_cli ${LZ_GEN_INPUTS}
    COMMENT "Making the operators" VERBATIM)
add_custom_target(lz_made_files DEPENDS ${LZ_GEN_FILES})

add_library(lz_made OBJECT ${LZ_GEN_SOURCES})
# Lowering runs once for each new graph: there small counts more than fast, and nobody has to find their way through it
# without debug information. Sanitizers need most of their compile time for these files, unless they are not optimised.
set(LZ_SELDOM_RUN ${LZ_GEN_SOURCES})
list(FILTER LZ_SELDOM_RUN EXCLUDE REGEX "/lazy/ops_")
set_source_files_properties(${LZ_SELDOM_RUN} PROPERTIES COMPILE_OPTIONS
    "$<$<CONFIG:Release>:-Os;-fno-asynchronous-unwind-tables>$<$<CONFIG:RelWithDebInfo>:-O0>")
target_link_libraries(lz_made PRIVATE lz_flags)
target_include_directories(lz_made PUBLIC ${LZ_GEN_DIR} ${LZ_GEN_DIR}/include)
