# The examples as a user runs them; what they print is compared.
add_test(NAME examples/operators COMMAND ${CMAKE_COMMAND}
    "-Dcommand=$<TARGET_FILE:operators>;${CMAKE_SOURCE_DIR}/test/gen/ops.yaml;${CMAKE_SOURCE_DIR}/test/gen/tags.yaml;add.Tensor"
    -Dexpect=${CMAKE_SOURCE_DIR}/test/examples/operators.txt -P ${CMAKE_SOURCE_DIR}/test/examples/compare.cmake)
add_test(NAME examples/run_graph COMMAND ${CMAKE_COMMAND} -Dcommand=$<TARGET_FILE:run_graph>
    -Dexpect=${CMAKE_SOURCE_DIR}/test/examples/run_graph.txt -P ${CMAKE_SOURCE_DIR}/test/examples/compare.cmake)
add_test(NAME examples/lazy COMMAND ${CMAKE_COMMAND} -Dcommand=$<TARGET_FILE:lazy>
    -Dexpect=${CMAKE_SOURCE_DIR}/test/examples/lazy.txt -P ${CMAKE_SOURCE_DIR}/test/examples/compare.cmake)

add_test(NAME examples/by_hand COMMAND ${CMAKE_COMMAND} "-Dcommand=$<TARGET_FILE:by_hand>;$<TARGET_FILE:hand_backend>"
    -Dexpect=${CMAKE_SOURCE_DIR}/test/examples/by_hand.txt -P ${CMAKE_SOURCE_DIR}/test/examples/compare.cmake)

add_test(NAME examples/profile COMMAND profile)

# The program in docs/training.md, as it stands there.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/training.md)
file(READ ${CMAKE_SOURCE_DIR}/docs/training.md page)
string(FIND "${page}" "```c\n" from)
math(EXPR from "${from} + 5")
string(SUBSTRING "${page}" ${from} -1 page)
string(FIND "${page}" "```\n" end)
string(SUBSTRING "${page}" 0 ${end} page)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/doc/training_page.c CONTENT "${page}" @ONLY)
add_executable(training_page ${CMAKE_BINARY_DIR}/doc/training_page.c)
target_link_libraries(training_page PRIVATE lazuli lz_flags)
add_test(NAME examples/training_page COMMAND training_page WORKING_DIRECTORY ${CMAKE_BINARY_DIR}/doc)

# Three seeds, 98 % each, or the status is not 0. Under sanitizers it would take long, and test nothing that others do not.
if(NOT LZ_SANITIZE)
    add_test(NAME examples/digits COMMAND digits ${CMAKE_SOURCE_DIR}/examples/data)
    add_test(NAME examples/gpt COMMAND gpt -n 3 ${CMAKE_SOURCE_DIR}/README.md)
    set_tests_properties(examples/digits PROPERTIES TIMEOUT 300)
endif()
