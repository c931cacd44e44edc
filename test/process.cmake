# What docs/lazy.md promises about exit, fork and limits: process/CASE a few times, and hundreds of times as
# stress/CASE, with the label check.
add_executable(life process/life.c)
target_link_libraries(life PRIVATE lz_flags lazuli)

function(lz_life_test case few many)
    add_test(NAME process/${case} COMMAND life ${case} ${few})
    set_tests_properties(process/${case} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
    if(LZ_SANITIZE) # a program that exits without closing its contexts leaks
        set_property(TEST process/${case} PROPERTY ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
    else()
        add_test(NAME stress/${case} COMMAND life ${case} ${many})
        set_tests_properties(stress/${case} PROPERTIES TIMEOUT 1500 SKIP_RETURN_CODE 77 LABELS check)
    endif()
endfunction()

# In a process with TSan no thread can be started after a fork, and its own memory is beyond all limits.
foreach(case IN ITEMS main return at_once after_error raw quick async then_close other_thread stranger log)
    lz_life_test(exit_${case} 2 200)
endforeach()
if(NOT LZ_SANITIZE MATCHES thread)
    lz_life_test(fork_exec 1 100)
    lz_life_test(no_threads 2 200)
    lz_life_test(exit_signal 2 200) # TSan refuses exit within a handler
    lz_life_test(killed_saving 2 200) # forks
endif()
foreach(case IN ITEMS small_files signal_term signal_interrupts)
    lz_life_test(${case} 2 200)
endforeach()
if(NOT LZ_SANITIZE) # sanitizers need memory and descriptors of their own
    lz_life_test(little_memory 2 200)
    lz_life_test(few_files 2 200)
    # ASan before LLVM 17 forks while other threads hold the locks of its allocator; the child waits for them for ever.
    foreach(case IN ITEMS fork_plain fork_async fork_busy)
        lz_life_test(${case} 1 25) # each forks eight times
    endforeach()
endif()

# 32 threads, by every mode of the compiler. The build with TSan is what they are for.
add_executable(threads process/threads.c)
target_link_libraries(threads PRIVATE lz_flags lazuli)
foreach(mode IN ITEMS off background now)
    add_test(NAME process/threads_${mode} COMMAND threads)
    set_tests_properties(process/threads_${mode} PROPERTIES TIMEOUT 600 ENVIRONMENT_MODIFICATION LAZULI_JIT=set:${mode})
endforeach()
