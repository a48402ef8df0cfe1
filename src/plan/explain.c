#include "plan/explain.h"

#include "base/banned.h"

enum tc_status tc_plan_explain(const struct tc_plan_set *single, const struct tc_plan_set *parallel,
                               const struct tc_verify_config *config,
                               struct tc_plan_verdict *verdict, struct tc_error *err)
{
    (void)single, (void)parallel, (void)config, (void)verdict, (void)err;
    return TC_OK;
}
