/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operand_facts.h - what a value of a trace says, as facts of one call
 *
 * A value is read twice: packed as bytes (operand_pack.h), and, the first time, as slots and
 * values.
 */
#ifndef TC_FACT_OPERAND_FACTS_H
#define TC_FACT_OPERAND_FACTS_H

#include "fact/operand_pack.h"
#include "fact/table.h"

/* A value, read as facts of a subject. */
struct tc_fact_reader {
    struct tc_fact_table *table;
    struct tc_fact_entries *out;
    uint32_t subject;
    struct tc_strbuf path, text;
    bool tells_keys; /* the names of a call's operands are worth a fact */
    bool has_content;
    bool is_own;    /* of a function that the script defines */
    bool is_set_up; /* before the first step */
    bool has_class; /* the subject names the class of the outermost object */
    /* The words for where the first tensors of a packed call come from; TC_NO_SYM: not to be
     * reported.
     */
    const struct tc_fact_pack *pack;
    const tc_sym *sources;
    size_t n_sources;
    const struct tc_map *cut;       /* names of calls that are not all told, or NULL */
    const struct tc_map *stand_ins; /* with it: functions that stand for such a call inside */
};

void tc_fact_reader_release(struct tc_fact_reader *reader);
/* All facts of a value whose path this is. */
void tc_fact_read_value(struct tc_fact_reader *reader, const char *path,
                        const struct tc_value *value);
/* Of the numbers, texts and truth values among the operands of a call alone, also in lists; and
 * what made the tensors beside the first operand, whose place this is. */
void tc_fact_read_besides(struct tc_fact_reader *reader, const struct tc_value *args, size_t first);
/* One more fact. path may be NULL. */
void tc_fact_add_json(struct tc_fact_reader *reader, const char *path, enum tc_attribute attribute,
                      const char *json);
void tc_fact_add_text(struct tc_fact_reader *reader, const char *path, enum tc_attribute attribute,
                      struct tc_str text);
/* A scalar, or an array of scalars. */
void tc_fact_add_value(struct tc_fact_reader *reader, const char *path, enum tc_attribute attribute,
                       const struct tc_value *value);

#endif /* TC_FACT_OPERAND_FACTS_H */
