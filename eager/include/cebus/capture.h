/**
 * @file capture.h
 * Captures: an iteration of a program, recorded while it runs, and run again as often as wanted, in
 * any order that its data allow, by a plan if there is one (cebus/advise.h). Opt-in: whatever is
 * not captured runs as ever.
 *
 * Between begin and end the program runs as always; that is one iteration of it, and the runtime
 * takes down its calls. A launch runs them again: forward, backward, writes in place, running
 * statistics and steps of optimizers alike, on what the tensors hold then. It leaves the same bits
 * as the program would, had it been run once more, under every budget and policy: a launch is
 * made of calls like any other, whose values are given up and brought back.
 *
 * What comes in: tensors that were there before begin. Each launch reads what they hold by then, so
 * write the next batch into them (cebus_copy_(), cebus_tensor_set_from_host()).
 *
 * What comes out: tensors made in between that the program still holds at the end (a loss,
 * gradients), through those very handles and their views. Each launch gives them new contents, and
 * lets the old ones go as it starts: hold on to a cebus_clone(). Tensors from before that were
 * written to are static both ways. Gradients of leaves are bound as the iteration left them.
 *
 *     write the batch into x, y          x, y: made before
 *     begin  zero gradients  forward  backward  step  end(&capture)
 *     write the next batch into x, y
 *     launch(capture)                    the loss it held has a new value, parameters have moved
 *
 * Numbers that calls were given are recorded as they were, but for these: random numbers go on from
 * where the generator stands, as they would in the program; a cebus_optimizer_step() takes the
 * optimizer's learning rate and count of steps, and counts; cebus_adam_step() and cebus_sgd_step()
 * count their step on, by as many as the iteration has for the same state.
 *
 * What a launch could not repeat is refused where it happens, with CEBUS_CAPTURE_ERROR, and nothing
 * has changed: reading bytes on the host (to_host, item, map, cebus_clip_grad_norm()) and making
 * tensors from host data (from_host, set_from_host), since both would be decided once and for all;
 * making a tensor persistent; a capture, or a launch, within a capture. Calls that fail for other
 * reasons can be made again, as ever; they are not recorded, and nor is a backward that fails. What
 * a hook or another thread did while it ran, and has not let go, is refused at the end.
 *
 * Instead of a beginning and an end that the program says there is the iteration that the runtime
 * found: while it watches, each one is recorded as the program goes on, unhindered, and the last
 * one can be had (cebus_capture_last()).
 *
 * Thread-safety: any thread may use a capture; calls of all threads are recorded.
 */
#ifndef CEBUS_CAPTURE_H
#define CEBUS_CAPTURE_H

#include <cebus/advise.h>
#include <cebus/tensor.h>

CEBUS_BEGIN_DECLS

/** A recorded iteration. Keeps its runtime, its inputs and its outputs alive. */
typedef struct cebus_capture cebus_capture;

/**
 * From now on calls are recorded. CEBUS_CAPTURE_ERROR when they are already. Costs, until end, some
 * hundred bytes of host memory a call.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_capture_begin(cebus_runtime *rt);

/**
 * Ends the recording. `out` NULL throws it away: what to do after an iteration that was broken off.
 * CEBUS_CAPTURE_ERROR, and the recording is thrown away, when it is not one that could come again:
 * nothing was called; the random numbers were restarted; a backward is still to come for what was
 * computed; or a gradient that the next iteration would add to lies elsewhere by now than at the
 * beginning (let it go within the iteration, or make it before the beginning).
 * CEBUS_INVALID_ARGUMENT: nothing is being recorded. CEBUS_OUT_OF_HOST_MEMORY: it still is, end it
 * again.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_capture_end(cebus_runtime *rt, cebus_capture **out);

/**
 * From the next iteration on each one is recorded while it runs, and thrown away when the one after
 * it begins; `on` false ends that. Iterations end where the program marks them, or where the
 * runtime finds that they do (cebus_iteration_mark()), under policies that do not plan, too.
 * Nothing is refused and no bit depends on it: what could not be launched is no more than noted.
 * Costs what a recording costs, and what an iteration read from outside stays until the next one
 * begins. While there is no host memory for that nothing is recorded. A capture of the program's
 * own goes first. CEBUS_OUT_OF_HOST_MEMORY.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_capture_watch(cebus_runtime *rt, bool on);

/**
 * The iteration that has just ended: all calls since the one before ended, if those end with a mark
 * or are an iteration that came before, to its last call. The result is as if cebus_capture_begin()
 * had stood before its first call and cebus_capture_end() stood here: tensors that the program
 * still holds are outputs. Gradients that are let go between two iterations are let go in the
 * second; batches that are written and random numbers that are begun anew there are the program's
 * affair, between launches, too. What it read that no call of it made comes in, tensors made from
 * host data included; cebus_capture_input() has those. The watch goes on. Errors, none of which
 * changes anything:
 * - CEBUS_CAPTURE_ERROR: none has been seen from its beginning; the program is in the middle of
 * one; the host read something between two of its calls, or something else stood there that a
 * capture refuses; or what cebus_capture_end() refuses. The message names the call.
 * - CEBUS_INVALID_ARGUMENT: nobody watches. CEBUS_OUT_OF_HOST_MEMORY.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_capture_last(cebus_runtime *rt, cebus_capture **out);

/**
 * How many tensors come in that are not persistent: what each launch reads anew. What a call writes
 * over in place counts as read by it: of cebus_copy_(rt, x, batch) x is the first input, `batch`
 * the second.
 */
CEBUS_API size_t cebus_capture_input_count(const cebus_capture *capture);

/**
 * Number i of them, by their first readers' order, to write the next batch into: a new handle, to
 * be released. Of a tensor that was made from host data during a watch it has that shape, else that
 * in which it was first read, or one dimension if that was a part of it. CEBUS_INVALID_ARGUMENT:
 * there is no such input. CEBUS_OUT_OF_HOST_MEMORY.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_capture_input(cebus_capture *capture, size_t i,
                                                            cebus_tensor **out);

/**
 * Runs the iteration again, and marks it (cebus_iteration_mark()); iterations that the program runs
 * itself and does not mark are found all the same. A failure, for want of memory
 * say, leaves the launch where it stands; what had been made is kept. The next launch goes on from
 * there, and ends in the same bits: do not write to tensors of the capture meanwhile. Outputs that
 * the launch has not made yet are zeros then. CEBUS_CAPTURE_ERROR, and nothing has changed: calls
 * are being recorded; an output is mapped; a gradient that the iteration adds to is not where it
 * was. Cost: that of the calls, without the checks before and the graph behind them.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_capture_launch(cebus_capture *capture);

/**
 * The program ran `iterations` by itself since the last launch, on a batch of another size say: the
 * steps of cebus_adam_step() and cebus_sgd_step() count on as if those had been launches. All else
 * that goes on (random numbers, steps of a cebus_optimizer) needs no such word.
 * CEBUS_CAPTURE_ERROR, and nothing has changed: a launch stands half done. CEBUS_INVALID_ARGUMENT:
 * NULL.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_capture_count_on(cebus_capture *capture,
                                                               uint64_t iterations);

/** NULL is allowed. Outputs keep what they hold. */
CEBUS_API void cebus_capture_destroy(cebus_capture *capture);

/**
 * The recorded calls as a program that cebus_advise() takes, in the order they were made: values
 * are versions of buffers. Valid as long as the capture. Costs are those known at the end; launches
 * bring them up to date (the median of a call's last three runs), except where a device tells costs
 * late: the first run has caches to fill and kernels to set up, so make plans after two launches.
 * A plan stays one for this program whatever calls cost by then (cebus_advice_time()). Not to be
 * read while another thread launches.
 */
CEBUS_API const cebus_advise_program *cebus_capture_program(const cebus_capture *capture);

/** Name of the op of recorded call `i`; "" past the last. */
CEBUS_API const char *cebus_capture_call_name(const cebus_capture *capture, size_t i);

/**
 * Launches run the calls in this order: order[k] is the index of the k-th call, each index once.
 * NULL: in the order they were made. Whatever the order, the bits are the same: it must run a call
 * after those that make what it reads, and a write in place after those that read, in the program
 * before it, what it overwrites. Calls of custom ops that cannot be replayed (custom.h) keep their
 * order: such an op may have a state of its own. CEBUS_INVALID_ARGUMENT names the two calls that
 * are in the wrong order, or what is wrong with the list, and the old order stands. Ends a plan.
 * Not while a launch stands half done (CEBUS_CAPTURE_ERROR).
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_capture_set_order(cebus_capture *capture,
                                                                const uint32_t *order, size_t n);

/**
 * Launches follow a plan of cebus_advise() for cebus_capture_program() and `link`: its order, its
 * copies to the host and back, its runs again, its offsets. Copies run ahead of need; what finds
 * its place taken goes elsewhere, what finds no room is seen to by the runtime's policy, so a plan
 * costs time at worst, and never bits. The first launch moves what is elsewhere to where the plan
 * begins. The policy's own plans rest meanwhile. The plan is copied. NULL: back to program order.
 * CEBUS_INVALID_ARGUMENT, and the old plan stands: it is for another program, needs more than the
 * budget, or does not hold on that link (cebus_advice_check()); not while a launch stands half done
 * (CEBUS_CAPTURE_ERROR).
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_capture_set_plan(cebus_capture *capture,
                                                               const cebus_advice *plan,
                                                               const cebus_advise_link *link);

CEBUS_END_DECLS

#endif
