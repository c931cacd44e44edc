# tiers/X_MODE: the public cases of operators, graphs and programs, interpreted alone and compiled at once. Every other test runs them
# in the default mode, where what is hot is compiled.
foreach(mode IN ITEMS off now)
    add_test(NAME tiers/ops_${mode} COMMAND lazuli_cli test ops ${CMAKE_CURRENT_LIST_DIR}/data/oracle/opinfo/public.jsonl.gz)
    add_test(NAME tiers/graphs_${mode} COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/graphs.sh $<TARGET_FILE:lazuli_cli>
        ${CMAKE_CURRENT_LIST_DIR}/data/oracle/graphs)
    add_test(NAME tiers/programs_${mode} COMMAND lazuli_cli test programs
        ${CMAKE_CURRENT_LIST_DIR}/data/oracle/programs/programs.jsonl.gz --mode read)
    set_tests_properties(tiers/ops_${mode} tiers/graphs_${mode} tiers/programs_${mode} PROPERTIES TIMEOUT 300
        ENVIRONMENT LAZULI_JIT=${mode})
endforeach()
if(LZ_SANITIZE MATCHES address) # LeakSanitizer itself crashes now and then in a process that has loaded LLVM; leaks show in the others
    set_property(TEST tiers/ops_now tiers/graphs_now tiers/programs_now APPEND PROPERTY ENVIRONMENT_MODIFICATION
        ASAN_OPTIONS=path_list_append:detect_leaks=0)
endif()
