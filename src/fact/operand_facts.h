/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operand_facts.h - what a value of a trace says, as facts of one call
 *
 * A value is read twice: packed as bytes, without the serials that differ from call to call, which
 * tell at once whether a call is like one before it; and, the first time, as slots and values.
 */
#ifndef TC_FACT_OPERAND_FACTS_H
#define TC_FACT_OPERAND_FACTS_H

#include "fact/table.h"

/* Of so many tensors among the operands of a call the source is told; so many are remembered. */
#define TC_FACT_SOURCES 6
#define TC_FACT_TENSORS 32
/* Longer lists are told of by their length alone. */
#define TC_FACT_LIST  8
#define TC_FACT_DEPTH 5

/* A value, packed. */
struct tc_fact_pack {
    struct tc_strbuf bytes;
    int64_t tensors[TC_FACT_TENSORS];    /* their serials, in order */
    uint64_t digests[TC_FACT_TENSORS];   /* of their contents; 0: not recorded */
    bool is_given[TC_FACT_TENSORS];      /* the model was given the same; set by who knows */
    double scales[TC_FACT_TENSORS];      /* root of their mean square; NAN: not recorded */
    const char *beside[TC_FACT_TENSORS]; /* scales beside those of training, or NULL; set so, too */
    struct tc_str rows[TC_FACT_TENSORS]; /* a digest of each, 8 digits; no text: not recorded */
    bool is_computed[TC_FACT_TENSORS];   /* takes a gradient, or a model computed it; set so, too */
    const char *trained[TC_FACT_TENSORS]; /* how many of them were trained on, or NULL; set so */
    bool is_counted[TC_FACT_TENSORS];     /* of whole numbers, or of truth values */
    bool is_choice[TC_FACT_TENSORS];      /* of these made from such, by a model; set so */
    uint32_t n_elements[TC_FACT_TENSORS];
    bool is_varied[TC_FACT_TENSORS];      /* so that it does not come again by chance */
    const char *earlier[TC_FACT_TENSORS]; /* was it met in an earlier step? JSON, or NULL; set so */
    const char *still[TC_FACT_TENSORS];   /* and the last time? */
    tc_sym made[TC_FACT_TENSORS];         /* names of models, or TC_NO_SYM; set so */
    char apart[TC_FACT_TENSORS][8];       /* rows from the first operand; "": not told; set so */
    size_t n_tensors;
    size_t told;      /* of them: one whose content the last such call told; SIZE_MAX: none */
    bool has_samples; /* they stand in a list of more than two, as the samples of a batch */
    bool has_content; /* the trace tells of contents */
};

void tc_fact_pack_value(struct tc_fact_pack *pack, const struct tc_value *value, unsigned depth);

/* A value, read as facts of a subject. */
struct tc_fact_reader {
    struct tc_fact_table *table;
    struct tc_fact_entries *out;
    uint32_t subject;
    struct tc_strbuf path, text;
    bool tells_keys; /* the names of a call's operands are worth a fact */
    bool has_content;
    bool is_own;    /* of a function that the script defines */
    bool is_result; /* what that decides is another thing in another run */
    bool has_class; /* the subject names the class of the outermost object */
    /* The words for where the first tensors of a packed call come from; TC_NO_SYM: not to be told.
     */
    const struct tc_fact_pack *pack;
    const tc_sym *sources;
    size_t n_sources;
    const struct tc_map *cut;       /* names of calls that are not all told, or NULL */
    const struct tc_map *stand_ins; /* with it: functions that stand for such a call inside */
    uint32_t made_subject; /* the call with what made its first operand; UINT32_MAX: none */
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
