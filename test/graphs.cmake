# data/oracle/graph*/: what PyTorch's graphs gave, with one thread and two, and one kernel for each operator; and texts that it refuses.
file(GLOB GRAPH_FOLDERS CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/data/oracle/graph*)
function(add_graph_test name)
    add_test(NAME graphs/${name} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/graphs.sh $<TARGET_FILE:lazuli_cli> ${ARGN})
    set_tests_properties(graphs/${name} PROPERTIES TIMEOUT 300)
endfunction()
foreach(folder IN LISTS GRAPH_FOLDERS)
    get_filename_component(name ${folder} NAME)
    if(NOT LZ_SANITIZE) # the next one runs the same code, and more threads
        add_graph_test(${name} ${folder} --threads 1)
    endif()
    add_graph_test(${name}_threads ${folder} --threads 2)
    add_graph_test(${name}_separate ${folder} --threads 1 --separate)
endforeach()
