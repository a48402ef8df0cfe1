#include "plan/eval.h"

#include "base/banned.h"

const struct tc_rule tc_rules_pool[] = {
    {0},
};
