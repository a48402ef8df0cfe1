/* SPDX-License-Identifier: Apache-2.0 */
/*
 * excuse.h - why an occasion is not judged, though an invariant speaks of it
 *
 * A form says what always holds. Where a healthy script or a trace was met in which it rightly does
 * not hold, or cannot be reported, an excuse was added: a row below, with what forced it and the
 * test that holds it. No other file says why. An excuse reaches a check in one of three ways:
 *
 *   a source tells of an occasion of which it makes no example        tc_sink_excuse()
 *   a source leaves an attribute out of an example                    struct tc_example.excuses
 *   the marks in the outcome of an example excuse what did not happen  `holds` says TC_EXCUSED_NAME
 *
 * The order is that of precedence: where several excuse an occasion, the first is reported.
 * docs/relations.md has the same table.
 */
#ifndef TC_RELATION_EXCUSE_H
#define TC_RELATION_EXCUSE_H

#include <stdint.h>

#include "replay/symbols.h"

/*
 * name, as files have it, the attribute that it excuses (TC_NO_SYM: whatever is claimed),
 * why, after "not judged, as ...", what forced it, the test below tests/ that holds it
 */
#define TC_EXCUSE_MAP(X)                                                                             \
    /* of the run and of the step */                                                                 \
    X(PAUSE, "pause", TC_NO_SYM,                                                                     \
      "the step was a pause: without a gradient, after steps that had one, or before any training",  \
      "Lightning, StochasticWeightAveraging: an epoch without backward",                             \
      "relations/APISequence_window/steps-without-gradients")                                        \
    X(GAP, "gap", TC_NO_SYM, "sampling left out steps before it",                                    \
      "no script: what --sampling-interval leaves out",                                              \
      "relations/Consistent_steady/steps-left-out")                                                  \
    X(NEW_TRAINING, "new_training", TC_NO_SYM,                                                       \
      "only new optimizers stepped: another training began",                                         \
      "new_words_learned_first.py of benchmarks/blind/fourth: a vocabulary grows",                   \
      "relations/Consistent_steady/between-two-trainings")                                           \
    X(NOT_OBSERVED, "not_observed", TC_NO_SYM, "no variable was looked at",                          \
      "no script: the definition of the form, for traces of calls alone",                            \
      "relations/EventContain_some/no-variable-looked-at")                                           \
    X(OVERFLOW, "overflow", TC_NO_SYM,                                                               \
      "a gradient was not finite, so that the scaler left out the step",                             \
      "unknown: the commit names no script", "relations/EventContain_some/scaler-skips")             \
    X(UNEVEN, "uneven", TC_NO_SYM, "ranks may take different numbers of steps",                      \
      "a healthy script with ddp.join()", "relations/Consistent_replica/uneven-inputs")              \
    /* of calls that are missing */                                                                  \
    X(UNUSED, "unused", TC_NO_SYM, "the script has called nothing else of that class",               \
      "the 56 pipelines learned together: not all have one",                                         \
      "relations/APISequence_window/a-scheduler-that-is-not-used")                                   \
    X(FROZEN_NORMS, "frozen_norms", TC_NO_SYM,                                                       \
      "all norms of the model are frozen, which evaluation mode is for",                             \
      "fine-tuning in evaluation mode with frozen norms",                                            \
      "relations/APISequence_window/eval-mode-for-frozen-norms")                                     \
    X(NO_MODEL, "no_model", TC_NO_SYM, "the step called no model",                                   \
      "unknown: the commit names no script", "relations/APISequence_window/a-late-cut")              \
    X(BY_LIBRARY, "by_library", TC_NO_SYM, "a library made the call on the script's behalf",         \
      "pipelines on two ranks: a library tells the sampler the epoch",                               \
      "relations/APISequence_run/precondition-uses")                                                 \
    X(PACKAGE_UNUSED, "package_unused", TC_NO_SYM, "the script does not use that package",           \
      "pipelines with and without accelerate",                                                       \
      "relations/APISequence_run/a-library-that-is-not-used")                                        \
    X(NOT_SAVED, "not_saved", TC_NO_SYM, "the run has not saved what would be restored",             \
      "pipelines: best weights that are loaded for a test",                                          \
      "relations/APISequence_follow/what-was-saved-is-restored")                                     \
    X(DATA_SET, "data_set", TC_NO_SYM, "what was loaded is a data set and no state",                 \
      "torch.load() of tensors to train on", "relations/APISequence_follow/data-is-no-state")        \
    X(ALREADY_USED, "already_used", TC_NO_SYM, "the gradient had served before it was cleared",      \
      "unknown: the commit names no script",                                                         \
      "relations/APISequence_between/gradients-that-served")                                         \
    X(DROPPED, "dropped", TC_NO_SYM,                                                                 \
      "the script clipped a gradient and left out its step, as it does not always",                  \
      "steps_left_out_when_wild.py of benchmarks/blind/third",                                       \
      "relations/APISequence_between/dropped-after-a-look")                                          \
    X(LEFT_OUT, "left_out", TC_NO_SYM,                                                               \
      "one step of ten or more was left out, at no fixed distance",                                  \
      "edm_retry_ema.py of benchmarks/blind/fifteenth: a wild gradient, half of the batch is tried", \
      "relations/APISequence_between/left-out-now-and-then")                                         \
    X(TRIED, "tried", TC_NO_SYM,                                                                     \
      "the script cleared a gradient once before the first step, and made it elsewhere",             \
      "notebook_cells.py of benchmarks/blind/fifth: a backward to look at, before training",         \
      "relations/APISequence_between/tried-before-training")                                         \
    /* of changes that did not happen */                                                             \
    X(ACCUMULATED, "accumulated", TC_NO_SYM,                                                         \
      "a gradient was there already, comes when ranks exchange it, or was for a cache",              \
      "pipelines that accumulate gradients",                                                         \
      "relations/EventContain_some/gradients-are-accumulated")                                       \
    X(NOTHING_TO_CLEAR, "nothing_to_clear", TC_NO_SYM, "no gradient was there to be cleared",        \
      "pipelines that accumulate gradients",                                                         \
      "relations/EventContain_some/zero-grad-clears-nothing")                                        \
    X(FLAT_BATCH, "flat_batch", TC_NO_SYM,                                                           \
      "gradients were computed to be zero, in less than three steps or not more often than others",  \
      "the reference of primerl600_prompts_repeated_in_turn of benchmarks/blind/fourth",             \
      "relations/EventContain_some/flat-batches")                                                    \
    X(NO_RATE, "no_rate", TC_SYM_DATA, "the learning rate was zero, or too small to show",           \
      "no script: the definition of the form", "relations/EventContain_each/lr-zero-undecided")      \
    X(AS_TAKEN, "as_taken", TC_SYM_DATA,                                                             \
      "state was taken and no optimizer has stepped since: the best may be the last",                \
      "ensemble_conformal.py of benchmarks/blind/fourteenth",                                        \
      "relations/EventContain_some/the-best-is-the-last")                                            \
    X(STEP_INSIDE, "step_inside", TC_NO_SYM, "an optimizer stepped inside the call",                 \
      "optimizers in hooks of the backward",                                                         \
      "relations/EventContain_none/step-inside-of-backward")                                         \
    X(UNREADABLE, "unreadable", TC_SYM_DATA, "its content cannot be read",                           \
      "no script: content that cannot be read, as of meta tensors",                                  \
      "relations/EventContain_each/unreadable-content-undecided")                                    \
    X(TINY_GRADIENT, "tiny_gradient", TC_SYM_DATA,                                                   \
      "its gradient was next to nothing, and rounding hides that",                                   \
      "no script: the definition of the form",                                                       \
      "relations/EventContain_each/tiny-gradient-undecided")                                         \
    X(ZERO_GRADIENT, "zero_gradient", TC_SYM_DATA, "its gradient was computed to be zero",           \
      "the last bias of the critic of a WGAN",                                                       \
      "relations/EventContain_each/gradients-that-are-zero")                                         \
    X(NO_GRADIENT, "no_gradient", TC_SYM_DATA,                                                       \
      "it had no gradient, and may have one in a later step",                                        \
      "alternating_tasks.py: the head of a task without a turn",                                     \
      "relations/EventContain_each/heads-that-rest")                                                 \
    X(ONCE, "once", TC_SYM_DATA, "it stayed for fewer calls than rounding could explain",            \
      "no script: the definition of the form, for rounding",                                         \
      "relations/EventContain_each/frozen-after-three-in-a-row")                                     \
    X(EARLY, "early", TC_SYM_DATA, "an average that a script keeps moves from a later step on",      \
      "one of 12 healthy scripts never seen; which is not told",                                     \
      "relations/EventContain_each/buffers-of-frozen-modules")                                       \
    /* of who made, owns or keeps weights */                                                         \
    X(EXCHANGED, "exchanged", TC_SYM_DATA, "ranks may exchange buffers in any forward",              \
      "ddp_ema.py: DDP broadcasts statistics in evaluation, too",                                    \
      "relations/EventContain_each/buffers-that-training-moves")                                     \
    X(NO_STEP_BEFORE, "no_step_before", TC_SYM_KEPT,                                                 \
      "no step of that optimizer came right before it", "no script: the definition of the form",     \
      "relations/EventContain_each/frozen-later")                                                    \
    X(MADE, "made", TC_NO_SYM, "to load, to initialise and to replay a graph is to make weights",    \
      "no script: the definition of the form, for resumed runs",                                     \
      "relations/EventContain_within/loading-is-always-right")                                       \
    X(OWN_WRITES, "own_writes", TC_NO_SYM,                                                           \
      "the script writes to its weights as a part of training",                                      \
      "unknown: the commit names no script; its case clamps weights",                                \
      "relations/EventContain_restored/swapped-for-evaluation")                                      \
    X(WRITTEN_ANEW, "written_anew", TC_NO_SYM,                                                       \
      "the script wrote the weights anew after the evaluation",                                      \
      "schedule-free optimizers move back within rounding",                                          \
      "relations/EventContain_restored/put-back-within-rounding")                                    \
    X(REBUILT, "rebuilt", TC_NO_SYM, "the model has been given other parts since",                   \
      "head_replaced_while_training.py: a norm is folded away, and a head grows",                    \
      "relations/EventContain_restored/a-part-that-is-replaced")                                     \
    X(LATER_OWNER, "later_owner", TC_NO_SYM, "an optimizer that has it may be called later",         \
      "no script: the definition of the form",                                                       \
      "relations/EventContain_owned/an-optimizer-that-comes-later")                                  \
    X(HIDDEN_OWNERS, "hidden_owners", TC_NO_SYM, "an optimizer did not tell what it owns",           \
      "a release of torch with param_groups renamed, made for the test",                             \
      "relations/EventContain_owned/hidden-owners")                                                  \
    X(BY_HAND, "by_hand", TC_NO_SYM,                                                                 \
      "the script itself writes to it, as from a copy that it trains",                               \
      "the reference of specforge663_norm_of_a_shard of benchmarks/blind/third: shards are trained", \
      "relations/EventContain_owned/trained-as-a-copy")                                              \
    X(LEFT_OVER, "left_over", TC_NO_SYM,                                                             \
      "the gradient is of a step before: its model has not run with gradients since",                \
      "the reference of sharded_gradients_stay_unreduced of benchmarks/blind/fifth: a replica",      \
      "relations/EventContain_owned/computed-once-to-look")                                          \
    X(BESIDE_FROZEN, "beside_frozen", TC_NO_SYM, "it is a norm or a bias beside frozen weights",     \
      "forum84911, its healthy half: the head alone is given",                                       \
      "relations/EventContain_owned/norms-beside-frozen-weights")                                    \
    X(UNFROZEN, "unfrozen", TC_NO_SYM,                                                               \
      "it is a norm or a bias that was frozen for some steps before",                                \
      "lightning_thawed_by_callback.py of benchmarks/blind/fourth: train_bn=False",                  \
      "relations/EventContain_owned/norms-that-thaw")                                                \
    X(CONVERGED, "converged", TC_NO_SYM,                                                             \
      "the groups had come closer to each other in several steps before they met",                   \
      "the reference of yolov5_8352_warmup_of_other_group of benchmarks/blind/fifth: a warm-up",     \
      "relations/Consistent_apart/led-to-one-rate")                                                  \
    X(LATER_STEP, "later_step", TC_NO_SYM, "the optimizer may take its first step later",            \
      "no script: the definition of the form",                                                       \
      "relations/EventContain_sets/scheduler-of-another-optimizer")                                  \
    /* of copies, on ranks and in one process */                                                     \
    X(NO_MODULE, "no_module", TC_NO_SYM,                                                             \
      "an optimizer holds it and no module: it may be a part of all",                                \
      "DeepSpeed ZeRO: flat parts of all weights",                                                   \
      "relations/Consistent_replica/parts-of-an-optimizer")                                          \
    X(NOT_SHARED, "not_shared", TC_NO_SYM, "not all ranks that reported have it",                    \
      "no script: the definition of the form", "relations/Consistent_replica/parts-have-replicas")   \
    X(STAGES, "stages", TC_NO_SYM,                                                                   \
      "its model began with a parameter of another shape on another rank, as stages do",             \
      "pipeline_of_two_ranks.py of benchmarks/blind/fourth: stages under one name",                  \
      "relations/Consistent_replica/stages-under-one-name")                                          \
    X(OWN_PART, "own_part", TC_SYM_DATA,                                                             \
      "it differs between ranks from the start, as parts of a whole do, where others are equal",     \
      "tensor parallelism by hand: dropout_differs_in_replicated_part of benchmarks/blind/first",    \
      "relations/Consistent_replica/parts-without-marks")                                            \
    X(LOCAL_SGD, "local_sgd", TC_SYM_DATA, "ranks went their own ways and met again",                \
      "local_sgd.py of benchmarks/blind/first",                                                      \
      "relations/Consistent_replica/ranks-that-meet-again")                                          \
    X(INCOMPARABLE, "incomparable", TC_SYM_DATA,                                                     \
      "a digest of a sample compares with none of the whole",                                        \
      "no script: what --digest-budget leaves of a digest",                                          \
      "relations/Consistent_replica/not-all-ranks-reported")                                         \
    X(CLONES, "clones", TC_NO_SYM,                                                                   \
      "the two are clones of one template, which go ways of their own",                              \
      "unknown: the commit names no script",                                                         \
      "relations/Consistent_alias/clones-go-their-own-ways")                                         \
    /* of operands and results */                                                                    \
    X(SET_APART, "set_apart", TC_NO_SYM,                                                             \
      "the script itself gave the layer another mode than the model", "Monte Carlo dropout",         \
      "relations/APIArg_constant/a-layer-set-apart")                                                 \
    X(ASKED_AGAIN, "asked_again", TC_NO_SYM,                                                         \
      "the script itself asks again and again for one input, to see answers differ",                 \
      "Monte Carlo dropout by train() of the whole model, or by dropout() in a line of its own",     \
      "relations/APIArg_constant/asked-again-and-again")                                             \
    X(TEACHER, "teacher", TC_NO_SYM,                                                                 \
      "a model that no optimizer steps is asked for its answer in each step",                        \
      "noisy_teacher.py of benchmarks/blind/twentieth: dropout is on for its targets",               \
      "relations/APIArg_constant/a-teacher-that-drops")                                              \
    X(WITHOUT_GRAD, "without_grad", TC_NO_SYM,                                                       \
      "a model that trains was asked for it without gradients",                                      \
      "activity10 of benchmarks/blind/second: a loss of validation outside of no_grad",              \
      "relations/APIArg_constant/a-loss-that-is-told")                                               \
    X(SCALED, "scaled", TC_NO_SYM,                                                                   \
      "gradients may overflow in a scaler, an unscaling and a clipping",                             \
      "unknown: the commit names no script", "relations/APIOutput_finite/gradients-may-overflow")    \
    X(MISSING_VALUES, "missing_values", TC_NO_SYM,                                                   \
      "what makes a batch, or prepares data outside of a model, may mark by a NaN what is "          \
      "not known",                                                                                   \
      "tasks_with_missing_answers of benchmarks/blind/eleventh, kfold_hard_mining of "               \
      "sixteenth",                                                                                   \
      "relations/APIOutput_finite/answers-that-are-missing")                                         \
    X(OVERRULED, "overruled", TC_NO_SYM,                                                             \
      "what the constructor of a package initialises may be overruled",                              \
      "unknown: the commit names no script", "relations/APIArg_distinct/inside-an-initialiser")      \
    X(REVISITED, "revisited", TC_NO_SYM,                                                             \
      "one call of the script, or a line for each, came to the tensor by each of its owners",        \
      "Module.apply() and tied weights", "relations/APIArg_distinct/applied-twice")                  \
    /* of facts */                                                                                   \
    X(CHANCE, "chance", TC_NO_SYM, "it broke so seldom that this may be chance",                     \
      "diffusion_conditioned_on_itself of benchmarks/blind/eleventh",                                \
      "relations/APIOutput_value/content-that-is-rare")                                              \
    X(NEARLY, "nearly", TC_NO_SYM, "it was nearly so: how many samples are drawn varies",            \
      "wav2vec2_ctc_phases of benchmarks/blind/sixteenth: draws before training, 1,836 and 1,841",   \
      "relations/APISequence_count/nearly-as-many-draws")                                            \
    X(BATCHES, "batches", TC_NO_SYM,                                                                 \
      "an evaluation had more batches or fewer, and this is done with each of them",                 \
      "lightning_grouped_folds.py of benchmarks/blind/fourteenth",                                   \
      "relations/APISequence_count/as-many-batches-as-there-are")                                    \
    X(CUT, "cut", TC_NO_SYM, "a limit of the trace left out calls of that kind in the step",         \
      "segmented_by_two_ranks of benchmarks/blind/eleventh: 131 and 127 of 256 are told",            \
      "relations/APISequence_count/a-limit-that-is-reached")

enum tc_excuse {
    TC_EXCUSE_NONE,
#define X(name, text, about, why, forced_by, test) TC_EXCUSE_##name,
    TC_EXCUSE_MAP(X)
#undef X
    TC_N_EXCUSES
};

/* A set of them, a bit each. */
typedef uint64_t tc_excuses;
#define TC_EXCUSE_BIT(excuse) (UINT64_C(1) << (excuse))

struct tc_excuse_row {
    const char *name; /* as files have it: "no_rate" */
    tc_sym about;
    const char *why, *forced_by, *test;
};

/* Of an excuse that is one; lives for ever. */
const struct tc_excuse_row *tc_excuse_row(enum tc_excuse excuse);

/* Does it excuse a claim about that attribute, which may be TC_NO_SYM? */
bool tc_excuse_covers(enum tc_excuse excuse, tc_sym attr);

/* The first of the set that does; TC_EXCUSE_NONE if none does. */
enum tc_excuse tc_excuse_first(tc_excuses set, tc_sym attr);

#endif /* TC_RELATION_EXCUSE_H */
