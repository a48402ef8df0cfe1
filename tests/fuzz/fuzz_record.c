/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_record.c - a record has what its table requires, whatever the line
 */
#include "fuzz.h"
#include "trace/schema.h"

static void check(const struct tc_record *r)
{
    size_t n;
    const struct tc_field *fields = tc_schema_fields(r->type, &n);

    FUZZ_CHECK(r->object->kind == TC_VALUE_OBJECT);
    for (size_t i = 0; i < n; i++)
        FUZZ_CHECK(!fields[i].is_required || tc_value_get(r->object, fields[i].key));
    FUZZ_CHECK(!r->args || r->args->kind == TC_VALUE_OBJECT);
    FUZZ_CHECK(!r->params || r->params->kind == TC_VALUE_ARRAY);
    FUZZ_CHECK(r->finite >= -1 && r->finite <= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tc_arena arena = TC_ARENA_INIT;
    struct tc_record record;
    struct tc_error err = {TC_OK, ""};

    if (tc_record_parse((const char *)data, size, &arena, &record, &err) == TC_OK)
        check(&record);
    else
        FUZZ_CHECK(err.status == TC_E_FORMAT && err.text[0]);
    tc_arena_release(&arena);
    return 0;
}
