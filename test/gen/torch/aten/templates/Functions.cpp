# Functions.cpp
