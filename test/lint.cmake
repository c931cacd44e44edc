# lint/test_X.sh is a ctest lint/X. They look at no compiled code, so one build runs them.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
    file(GLOB LINT_TESTS CONFIGURE_DEPENDS lint/test_*.sh)
    foreach(script IN LISTS LINT_TESTS)
        string(REGEX REPLACE ".*/test_(.*)\\.sh$" "lint/\\1" name ${script})
        add_test(NAME ${name} COMMAND sh ${script} ${CMAKE_SOURCE_DIR})
        set_tests_properties(${name} PROPERTIES TIMEOUT 300)
    endforeach()
endif()
