# Tests of what is shipped, from outside: system/X.sh is a ctest system/X. Exit status 77: skipped.
function(lz_system_test name)
    add_test(NAME system/${name} COMMAND ${CMAKE_CURRENT_LIST_DIR}/system/${name}.sh ${ARGN})
    set_tests_properties(system/${name} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77
        ENVIRONMENT "CC=${CMAKE_C_COMPILER};LZ_SANITIZE=${LZ_SANITIZE}")
endfunction()

lz_system_test(install ${CMAKE_BINARY_DIR} ${PROJECT_VERSION})
lz_system_test(needed $<TARGET_FILE:lazuli> $<TARGET_FILE:lazuli_cli> $<TARGET_FILE:lazuli_gen_cli>)
lz_system_test(symbols $<TARGET_FILE:lazuli> ${CMAKE_SOURCE_DIR}/include ${LZ_GEN_DIR}/include)
lz_system_test(headers ${CMAKE_SOURCE_DIR}/include ${LZ_GEN_DIR}/include)
lz_system_test(refusals)
lz_system_test(plugin ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
if(NOT LZ_SANITIZE MATCHES thread) # one mutant has a race on purpose
    lz_system_test(mutants ${CMAKE_BINARY_DIR})
endif()
lz_system_test(graph_run ${CMAKE_BINARY_DIR})
lz_system_test(profile ${CMAKE_BINARY_DIR})
lz_system_test(options $<TARGET_FILE:lazuli_cli> ${CMAKE_SOURCE_DIR})
lz_system_test(bench $<TARGET_FILE:lazuli_cli>)
lz_system_test(compare $<TARGET_FILE:lazuli_cli> ${CMAKE_SOURCE_DIR}/bench/compare.py)
lz_system_test(cache ${CMAKE_BINARY_DIR})
add_executable(train_steps train_steps.c)
target_link_libraries(train_steps PRIVATE lz_check)
lz_system_test(train_steps $<TARGET_FILE:train_steps>)
add_executable(misuse system/misuse.c)
target_link_libraries(misuse PRIVATE lazuli lz_flags)
if(NOT LZ_SANITIZE MATCHES thread) # two threads in one context, on purpose
    lz_system_test(misuse $<TARGET_FILE:misuse>)
endif()
if(NOT LZ_SANITIZE) # a million operators and gigabytes of bytes, by `make check`
    add_test(NAME system/misuse_large COMMAND ${CMAKE_CURRENT_LIST_DIR}/system/misuse.sh $<TARGET_FILE:misuse> large)
    set_tests_properties(system/misuse_large PROPERTIES TIMEOUT 900 LABELS check)
endif()
lz_system_test(limits ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
lz_system_test(select ${CMAKE_BINARY_DIR})
if(NOT LZ_SANITIZE) # builds the library once more
    lz_system_test(select_build ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
    set_tests_properties(system/select_build PROPERTIES TIMEOUT 1200 LABELS check)
endif()
lz_system_test(io $<TARGET_FILE:lazuli_cli> ${CMAKE_SOURCE_DIR})

# Every code block of the pages: pages/NAME. system/pages.sh says what has to stand behind ```.
file(GLOB LZ_PAGES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/*.md ${CMAKE_SOURCE_DIR}/docs/*.md)
foreach(page IN LISTS LZ_PAGES)
    cmake_path(GET page STEM name)
    add_test(NAME pages/${name} COMMAND ${CMAKE_CURRENT_LIST_DIR}/system/pages.sh ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR} ${page})
    set_tests_properties(pages/${name} PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77
        ENVIRONMENT "CC=${CMAKE_C_COMPILER};LZ_SANITIZE=${LZ_SANITIZE}")
endforeach()
