# UnboxingFunctions.cpp
definitions:
${definitions}
