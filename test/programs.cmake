# Recorded programs with views and writes, synced in four ways: programs/MODE and programs/errors_MODE.
set(LZ_SYNC_MODES statement read async random)
if(LZ_SANITIZE) # `random` syncs now and then, everything or one tensor: among them what the other two do all the time
    set(LZ_SYNC_MODES async random)
endif()
foreach(mode IN LISTS LZ_SYNC_MODES)
    add_test(NAME programs/${mode} COMMAND lazuli_cli test programs
        ${CMAKE_CURRENT_LIST_DIR}/data/oracle/programs/programs.jsonl.gz --mode ${mode})
    add_test(NAME programs/errors_${mode} COMMAND lazuli_cli test programs
        ${CMAKE_CURRENT_LIST_DIR}/data/oracle/programs/errors.jsonl.gz --mode ${mode})
    set_tests_properties(programs/${mode} programs/errors_${mode} PROPERTIES TIMEOUT 300)
endforeach()
