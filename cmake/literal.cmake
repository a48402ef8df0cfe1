# SPDX-License-Identifier: Apache-2.0
# A text file as a string literal in C. A compiler takes that ten times as fast as a list of its bytes, and warns that others might not.
function(tc_literal file out)
  file(READ "${file}" text)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "?" "\\?" text "${text}") # no trigraphs
  string(REPLACE "\n" "\\n\"\n\"" text "${text}")
  set(${out} "\"${text}\"" PARENT_SCOPE)
endfunction()
