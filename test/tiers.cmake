# tiers/X_MODE: the public cases of operators, graphs and programs, interpreted alone and compiled at once. Every other test runs them
# in the default mode, where what is hot is compiled. Sanitizers do not see into compiled code, and next to nothing in these
# cases is hot: they would see the same twice.
if(LZ_SANITIZE)
    return()
endif()
foreach(mode IN ITEMS off now)
    add_test(NAME tiers/ops_${mode} COMMAND lazuli_cli test ops ${CMAKE_CURRENT_LIST_DIR}/data/oracle/opinfo/public.jsonl.gz)
    add_test(NAME tiers/graphs_${mode} COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/graphs.sh $<TARGET_FILE:lazuli_cli>
        ${CMAKE_CURRENT_LIST_DIR}/data/oracle/graphs)
    add_test(NAME tiers/programs_${mode} COMMAND lazuli_cli test programs
        ${CMAKE_CURRENT_LIST_DIR}/data/oracle/programs/programs.jsonl.gz --mode read)
    set_tests_properties(tiers/ops_${mode} tiers/graphs_${mode} tiers/programs_${mode} PROPERTIES TIMEOUT 300
        ENVIRONMENT LAZULI_JIT=${mode})
endforeach()
