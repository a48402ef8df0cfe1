# SPDX-License-Identifier: Apache-2.0
# cmake -DTOOL=path -DDIR=folder -P texts.cmake: a tool's man page and shell
# completions, as the tool makes them from its option table.

get_filename_component(name ${TOOL} NAME)
function(write file)
  execute_process(COMMAND ${TOOL} ${ARGN} OUTPUT_FILE ${DIR}/${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(MAKE_DIRECTORY ${DIR}/man ${DIR}/completion/bash ${DIR}/completion/zsh ${DIR}/completion/fish)
write(man/${name}.1 --man)
write(completion/bash/${name} --completion bash)
write(completion/zsh/_${name} --completion zsh)
write(completion/fish/${name}.fish --completion fish)
