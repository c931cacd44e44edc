# TensorMethods.cpp
