/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_words.c - what is said of broken facts: sentences by situation, a hint for each attribute
 */
#include "unit.h"

#include "fact/words.h"
#include "replay/symbols.h"

/* A subject and a claim as a file has them, a value that was seen, and the sentence. */
static const struct {
    const char *subject, *claim, *seen, *sentence;
} told[] = {
    {"{\"subject\":\"flow\",\"fn\":\"torch.Tensor.requires_grad_\",\"name\":\"self\","
     "\"in\":\"torch.nn.init.kaiming_uniform_\"}",                                   "{\"attribute\":\"flows_first\",\"is\":2}",                                "3",
     "Tensor.requires_grad_() was called on 3 parameters initialised by kaiming_uniform_(), not on "
     "2"                                                                                                                                                                                                                                                      },
    {"{\"subject\":\"flow\",\"fn\":\"torch.mul\",\"name\":\"1\",\"in\":\"torch.exp\"}",
     "{\"attribute\":\"flows\",\"is\":1}",                                                                                                                           "0",
     "mul() is no longer given the result of exp() (healthy runs: once in each step)"                                                                                                                                                                         },
    {"{\"subject\":\"inside\",\"in\":\"torch.sin\",\"stage\":\"training\"}",
     "{\"attribute\":\"next\",\"is\":[\"torch.exp\"]}",                                                                                                              "[\"torch.Tensor.abs\"]",
     "the script calls Tensor.abs() after sin() (healthy runs: exp()) in training"                                                                                                                                                                            },
    {"{\"subject\":\"call\",\"fn\":\"nets.loss\"}",
     "{\"attribute\":\"keys\",\"operand\":\"args\",\"is\":\"num_items_in_batch,outputs\"}",                                                                          "\"outputs\"",            "the argument num_items_in_batch is no longer passed to loss()"},
    {"{\"subject\":\"call\",\"fn\":\"nets.load\"}",
     "{\"attribute\":\"keys\",\"operand\":\"value\",\"is\":\"a,b\"}",                                                                                                "\"a,c\"",
     "the result of load() has other entries: c is new, b is gone"                                                                                                                                                                                            },
    {"{\"subject\":\"variable\",\"name\":\"teacher.weight\"}",
     "{\"attribute\":\"value\",\"operand\":\"training\",\"is\":false}",                                                                                              "true",
     "teacher is in training mode, was in evaluation mode"                                                                                                                                                                                                    },
    {"{\"subject\":\"call\",\"fn\":\"torch.nn.utils.clip_grad_norm_\"}",
     "{\"attribute\":\"length\",\"operand\":\"args.parameters\",\"is\":4}",                                                                                          "0",
     "the list of parameters of clip_grad_norm_() is empty: an iterator that was used up?"                                                                                                                                                                    },
    {"{\"subject\":\"window\",\"fn\":\"torch.nn.Module.eval\",\"stage\":\"evaluation\"}",
     "{\"attribute\":\"count_where\",\"is\":1}",                                                                                                                     "2",
     "Module.eval() is called twice in a step, was called once or not at all, outside of training"                                                                                                                                                            },
    {"{\"subject\":\"window\",\"fn\":\"torch.nn.Module.eval\"}",
     "{\"attribute\":\"count\",\"is\":1}",                                                                                                                           "0",                      "eval() is missing before the evaluation"                      },
    {"{\"subject\":\"window\",\"fn\":\"torch.exp\",\"stage\":\"training\"}",
     "{\"attribute\":\"count\",\"is\":1}",                                                                                                                           "0",
     "exp() is no longer called in training (healthy runs: once in each step)"                                                                                                                                                                                },
    {"{\"subject\":\"window\",\"fn\":\"torch.exp\"}",                                     "{\"attribute\":\"count\",\"is\":0}",                                      "2",
     "exp() is called twice in a step (healthy runs: never)"                                                                                                                                                                                                  },
    {"{\"subject\":\"call\",\"fn\":\"torch.nn.functional.kl_div\",\"stage\":\"evaluation\","
     "\"grad\":\"off\"}",                                                            "{\"attribute\":\"value\",\"operand\":\"args.reduction\",\"is\":\"sum\"}", "\"mean\"",
     "reduction of kl_div() is \"mean\", was \"sum\", under no_grad"                                                                                                                                                                                          },
    {"{\"subject\":\"call\",\"fn\":\"torch.mul\"}",
     "{\"attribute\":\"source\",\"operand\":\"args.other\",\"is\":\"torch.exp\"}",                                                                                   "\"outside\"",
     "other of mul() comes from untraced data, came from exp()"                                                                                                                                                                                               },
    {"{\"subject\":\"changes\",\"fn\":\"step\"}",
     "{\"attribute\":\"data\",\"is\":[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\"]}",                                                                                        "[]",
     "the optimizer's step changed 0 variables, not 6: a, b, c, d and 2 more are gone"                                                                                                                                                                        },
};

static void read_fact(struct tc_strtab *symbols, const char *subject, const char *claim,
                      struct tc_fact *fact)
{
    struct tc_json *s = NULL, *c = NULL;

    assert_int_equal(tc_json_parse(subject, strlen(subject), &s, NULL), TC_OK);
    assert_int_equal(tc_json_parse(claim, strlen(claim), &c, NULL), TC_OK);
    assert_true(tc_fact_read(fact, symbols, s, c));
    tc_json_free(s);
    tc_json_free(c);
}

static void each_situation_has_its_sentence(void **state)
{
    struct tc_strtab *symbols = tc_symbols_new();
    const tc_sym at = tc_strtab_intern_text(symbols, "train.py:37");

    (void)state;
    for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++) {
        struct tc_strbuf out = TC_STRBUF_INIT;
        struct tc_fact fact;
        read_fact(symbols, told[i].subject, told[i].claim, &fact);
        tc_fact_explain(&fact, symbols, tc_strtab_intern_text(symbols, told[i].seen), at, &out);
        assert_string_equal(out.text, told[i].sentence);
        tc_strbuf_release(&out);
    }
    tc_strtab_free(symbols);
}

static void no_two_attributes_share_a_hint(void **state)
{
    struct tc_strtab *symbols = tc_symbols_new();
    const tc_sym value = tc_strtab_intern_text(symbols, "3");
    const char *hints[TC_N_ATTRIBUTES];

    (void)state;
    for (unsigned i = 0; i < TC_N_ATTRIBUTES; i++) {
        struct tc_fact fact = {.subject = tc_subject_of(TC_SUBJECT_CALL), .attribute = i};
        struct tc_strbuf out = TC_STRBUF_INIT;
        fact.subject.fields[TC_FACT_FN] = fact.subject.fields[TC_FACT_NAME] =
            fact.subject.fields[TC_FACT_IN] = tc_strtab_intern_text(symbols, "torch.exp");
        fact.path = tc_strtab_intern_text(symbols, "args");
        fact.value = value;
        tc_fact_describe(&fact, symbols, &out);
        assert_true(out.size > 0);
        tc_strbuf_release(&out);
        hints[i] = tc_fact_hint(&fact, symbols, value);
        for (unsigned k = 0; k < i; k++)
            if (*hints[i])
                assert_string_not_equal(hints[i], hints[k]);
    }
    tc_strtab_free(symbols);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_situation_has_its_sentence),
        cmocka_unit_test(no_two_attributes_share_a_hint),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
