# All recorded operators, graphs and programs with every kernel compiled before its first run, and with none: jit/X_now and
# jit/X_off, by `make check`. tiers.cmake has those that `make test` runs, among them all programs synced at reads; synced
# after each statement, they run the kernels of single operators, as ops/X_separate does; and those that end in an error end
# before a kernel runs, in any mode. Sanitizers see the same code in the other tests.
if(LZ_SANITIZE)
    return()
endif()

function(add_jit_test name)
    foreach(mode IN ITEMS now off)
        add_test(NAME jit/${name}_${mode} COMMAND ${ARGN})
        set_tests_properties(jit/${name}_${mode} PROPERTIES TIMEOUT 600 LABELS check
            ENVIRONMENT LAZULI_JIT=${mode})
    endforeach()
endfunction()

foreach(cases IN LISTS OP_CASES)
    get_filename_component(name ${cases} NAME_WE)
    add_jit_test(${name} lazuli_cli test ops ${cases})
endforeach()
foreach(folder IN LISTS GRAPH_FOLDERS)
    get_filename_component(name ${folder} NAME)
    add_jit_test(${name} sh ${CMAKE_CURRENT_SOURCE_DIR}/graphs.sh $<TARGET_FILE:lazuli_cli> ${folder} --threads 2)
endforeach()
foreach(mode IN ITEMS async random)
    add_jit_test(programs_${mode} lazuli_cli test programs
        ${CMAKE_CURRENT_LIST_DIR}/data/oracle/programs/programs.jsonl.gz --mode ${mode})
endforeach()
add_jit_test(errors_random lazuli_cli test programs ${CMAKE_CURRENT_LIST_DIR}/data/oracle/programs/errors.jsonl.gz --mode random)
