# cmake -Dcommand=PROGRAM;ARGS... -Dexpect=FILE -P compare.cmake
execute_process(COMMAND ${command} OUTPUT_VARIABLE got RESULT_VARIABLE status)
file(READ ${expect} want)
if(NOT status EQUAL 0 OR NOT got STREQUAL want)
    message(FATAL_ERROR "exit status ${status}, printed\n${got}\nand not\n${want}")
endif()
