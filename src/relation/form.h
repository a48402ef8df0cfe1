/* SPDX-License-Identifier: Apache-2.0 */
/*
 * form.h - small things that the relation forms share
 */
#ifndef TC_RELATION_FORM_H
#define TC_RELATION_FORM_H

#include "relation/relation.h"

struct tc_param tc_param_call(tc_sym name, tc_sym role);
/* A change, a state or an operand; from is left open. */
struct tc_param tc_param_of(enum tc_param_kind kind, tc_sym name, tc_sym attr, tc_sym to);

/* A call as it stands in an outcome: "ROLE NAME". */
tc_sym tc_token_of(struct tc_strtab *symbols, enum tc_role role, tc_sym name);
/* As a param; false if it is none, as rows of evidence come from anywhere, or a mark: "known
 * CLASS".
 */
bool tc_param_of_token(struct tc_strtab *symbols, tc_sym token, struct tc_param *param);
/* The other way round. */
tc_sym tc_token_of_param(struct tc_strtab *symbols, const struct tc_param *param);

/* Is it a call, and of this role? */
bool tc_param_has_role(const struct tc_strtab *symbols, const struct tc_param *param,
                       enum tc_role role);

/* The serial of an object as a trace has it; TC_NONE of none. */
int64_t tc_serial_of(const struct tc_value *object);
/* Of a tensor; -1 where no shape is recorded. */
int64_t tc_n_dimensions(const struct tc_value *tensor);
/* The size of its i-th dimension from 0; -1 past the last. */
int64_t tc_size_of(const struct tc_value *tensor, uint32_t i);

/* Of the dtype of a tensor: does its name have this in it, as "float"? */
bool tc_is_of_dtype(const struct tc_value *dtype, const char *name);
/* Is it a tensor of integers that are not drawn again by chance? */
bool tc_is_rich(const struct tc_value *tensor);
/* A number of its summary. */
int64_t tc_summary_int(const struct tc_value *tensor, const char *name, int64_t absent);
/* What its content is known again by; 0: none is recorded. */
uint64_t tc_content_of(const struct tc_value *tensor);
/* The same of such a tensor; 0: it is none. */
uint64_t tc_rich_content(const struct tc_value *tensor);

/* The name of a variable without that of the model, what copies of a model have in common:
 * ".fc1.weight" of "model.fc1.weight". */
const char *tc_name_in_model(const struct tc_strtab *symbols, const struct tc_variable *variable);
/* That it holds this content, as a number; the sum of all is what a model holds. */
uint64_t tc_content_in_model(const struct tc_strtab *symbols, const struct tc_variable *variable,
                             uint64_t data);
/* Is it a matrix of a model whose whole content is recorded, from its first on? */
bool tc_is_told_matrix(const struct tc_variable *variable);

/* The receiver if it is a tensor, else the first tensor among the operands; NULL: there is none. */
const struct tc_value *tc_first_tensor(const struct tc_call *call);
/* The number that an operand is, of one element or none, and takes no gradient; false if none. */
bool tc_plain_number(const struct tc_value *operand, double *number);
/* Is it one number that takes a gradient, as a loss is? */
bool tc_is_loss_value(const struct tc_value *value);
/* Are two numbers equal but for rounding, as those that a trace has of float32 are? */
bool tc_is_near(double a, double b);

/* For the state of a process that is a struct tc_map, of numbers or of structs. */
void tc_release_map(void *of_process);
void tc_release_map_of_structs(void *of_process);

/* Is it in the set? */
bool tc_outcome_has(const tc_sym *outcome, size_t n, tc_sym sym);

/* True the first time it is asked about sym. */
bool tc_is_first(struct tc_map *seen, tc_sym sym);

/* Made by torch itself at the top of the script: its constructors call steps and initialisers. */
bool tc_is_by_torch(const struct tc_strtab *symbols, const struct tc_call *call);

/* PREFIX and the class that a method belongs to: "uses.accelerate.Accelerator" of its prepare. */
tc_sym tc_class_of(struct tc_strtab *symbols, const char *prefix, tc_sym fn);
/* The mark of what is in use: "known torch.amp.GradScaler" of its step. */
tc_sym tc_known_class(struct tc_strtab *symbols, tc_sym fn);

/* Made neither by a package nor inside one of its entry points, nor while a batch is fetched. */
bool tc_is_by_the_user(const struct tc_strtab *symbols, const struct tc_call *call);

/* The root forward around the call, or itself; NULL if there is none. */
const struct tc_call *tc_root_around(const struct tc_call *call);

/* Does it draw, of what a model says how likely it is? */
bool tc_is_draw(const struct tc_strtab *symbols, const struct tc_call *call);

/* A root forward in training mode and with gradients. */
bool tc_is_training_forward(const struct tc_call *call);

/* A call of the training loop in a main process, that returned: what EventContain speaks of. */
bool tc_is_subject(const struct tc_event *event);

/* The end of a window with an optimizer step, in a main process. */
bool tc_is_step_window(const struct tc_event *event);

/* Is this an optimizer whose learning rate is zero, or too small to show? */
bool tc_has_no_rate(const struct tc_situation *situation);

/* " (torch.optim.Adam)", if the call has a receiver. */
void tc_explain_receiver(const struct tc_event *event, struct tc_strbuf *out);

/* "Tensor.copy_() at bug.py:43". */
void tc_explain_call_at(const struct tc_strtab *symbols, tc_sym fn, tc_sym at,
                        struct tc_strbuf *out);

/* ": Tensor.copy_() at train.py:43 in Average.restore() at train.py:98", if it is known what wrote
 * to the variable since its optimizer stepped; at a step: since the one before. */
void tc_explain_writer(const struct tc_strtab *symbols, const struct tc_event *event,
                       const struct tc_variable *variable, struct tc_strbuf *out);

/* The same of the place of an example; nothing where that is no call. */
void tc_explain_place(const struct tc_strtab *symbols, const struct tc_place *place,
                      struct tc_strbuf *out);

/* What a sentence says of a place, for those who keep many. All zero: none. */
struct tc_spot {
    tc_sym call, at, in, in_at; /* as in struct tc_place */
};

struct tc_spot tc_spot_of(const struct tc_event *event);
/* Keep it under the serial of the object, in a map of such structs. */
void tc_spot_keep(struct tc_map *spots, const struct tc_value *object, struct tc_spot spot);
/* The place is there then, of the same process and step. */
void tc_place_move(struct tc_place *place, const struct tc_spot *spot);

/* What ranks have told of one step: begins a struct of the form's own. */
struct tc_told_step {
    uint64_t n;            /* ranks */
    struct tc_place place; /* of the lowest */
};

/* One more rank tells of the step of the event, a call: that struct, of so many bytes, in a map of
 * them by restart and step. At spot, NULL where the event stands. Of thousands of steps that some
 * rank never told of all are forgotten. */
void *tc_tell_step(struct tc_map *steps, size_t size, const struct tc_event *event,
                   const struct tc_spot *spot);

/* Drop what is said of a call if it follows from a call inside it. */
void tc_contain_condense(const struct tc_rows *rows, struct tc_invariant_set *accepted);

#endif /* TC_RELATION_FORM_H */
