# SPDX-License-Identifier: Apache-2.0
# cmake -P this file: fails with a CMake that is too old for CMakeLists.txt.
cmake_minimum_required(VERSION 3.25)
