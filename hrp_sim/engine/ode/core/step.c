/* Steps of the world. */
#include "step.h"
#include "collide.h"
#include "drive.h"
#include "exact.h"
#include "free_motion.h"
#include "guard.h"
#include "loops.h"
#include "memory.h"
#include "records.h"
#include "sleep.h"
#include "state.h"

/* Solve the step whose contacts were found, and take it. Returns 0 on failure. */
static int advance(World *world, Fault *fault)
{
    if (world->contacts >= MAX_CONTACTS) {
        *fault = (Fault){
            .kind = FAULT_CONTACTS, .body = world->overflow_body, .index = world->overflow_link};
        return 0;
    }
    if (world->system)
        return world->awake_count == 0 || hrp_system_step(world, fault);
    return dWorldQuickStep(world->world, world->step);
}

/* Advance ODE once. Returns 0 on failure, and may describe the fault. */
static int solve(World *world, Fault *fault)
{
    jmp_buf here, *outer = hrp_error_exit; /* a signal handler may step another world */
    volatile int solved = 0;
    if (setjmp(here) == 0) {
        hrp_error_exit = &here;
        if (!world->system)
            hrp_loops_hold(world);
        if (!world->system || hrp_system_begin(world)) {
            hrp_contacts_create(world);
            if (!world->interrupt && !world->is_touched)
                solved = advance(world, fault);
        }
        if (solved)
            hrp_records_read_forces(world);
        dJointGroupEmpty(world->contact_group);
    } else {
        world->broken = 1; /* ODE was interrupted: its objects may be inconsistent */
        world->is_touched = 0;
    }
    hrp_error_exit = outer;
    return solved;
}

/* Attempt a step from the saved state; is_last: of a call. Returns 0 on failure, also if a body
 * that sleeps is touched. */
static int attempt(World *world, int is_last, Fault *fault)
{
    world->has_moved |= world->awake_count > 0;
    dRandSetSeed(world->random); /* ODE has one random state for the whole process */
    world->is_touched = 0;
    for (int i = 0; i < world->awake_count; i++) {
        hrp_drift_to_middle(world, world->awake[i]);
        hrp_wrenches_apply(world->awake[i]);
        hrp_weights_lift(world, world->awake[i]);
        hrp_drives_apply(world, world->awake[i]);
    }
    int solved = solve(world, fault);
    if (world->is_touched)
        return 0;
    if (fault->kind == FAULT_NONE && hrp_state_check(world, fault) && !solved)
        *fault = (Fault){.kind = FAULT_SOLVER};
    if (fault->kind != FAULT_NONE)
        return 0;
    for (int i = 0; i < world->awake_count; i++)
        hrp_drift_to_end(world, world->awake[i], is_last);
    return 1;
}

/* After a failed attempt, whether another one that bounds all efforts with a range may succeed. The
 * exact solver always bounds them. */
static int drives_retry_bounded(World *world, Fault *fault)
{
    if (world->interrupt)
        *fault = (Fault){.kind = FAULT_INTERRUPTED};
    if (world->system || world->broken ||
        (fault->kind != FAULT_STATE && fault->kind != FAULT_SOLVER))
        return 0;
    int found = 0;
    for (int i = 0; i < world->count; i++)
        found |= hrp_drives_mark_unbounded(world->bodies[i]);
    if (found)
        *fault = (Fault){.kind = FAULT_NONE};
    return found;
}

/* Take a step; with `quick`, repeat it while an effort leaves its range. Returns 0 on failure, and
 * if a body that sleeps is touched; nothing has changed then. */
static int step_try(World *world, int is_last, Fault *fault)
{
    hrp_state_save(world);
    for (int i = 0; i < world->awake_count; i++)
        hrp_drives_clear_exceeded(world->awake[i]);
    hrp_memory_begin(world);
    for (;;) {
        int again = 0;
        if (attempt(world, is_last, fault)) {
            if (world->system)
                break;
            for (int i = 0; i < world->count; i++)
                again |= hrp_drives_find_exceeded(world->bodies[i]);
            if (!again)
                break;
        } else if (world->is_touched || !drives_retry_bounded(world, fault)) {
            hrp_state_restore(world);
            hrp_memory_restore(world);
            return 0;
        }
        hrp_state_restore(world);
        for (int i = 0; i < world->count; i++)
            hrp_drives_bound_exceeded(world->bodies[i]);
    }
    world->random = dRandGetSeed();
    hrp_sleep_end(world);
    return 1;
}

/* Take a step, with all that it touches. */
static int step_once(World *world, int is_last, Fault *fault)
{
    while (!step_try(world, is_last, fault))
        if (!hrp_touched_wake(world))
            return 0;
    return 1;
}

void hrp_world_step(World *world, long count, Fault *fault)
{
    *fault = (Fault){.kind = FAULT_NONE};
    hrp_message_count = 0;
    hrp_failed_pairs_clear(world);
    hrp_sleep_begin(world);
    for (int i = 0; i < world->awake_count; i++)
        if (!hrp_inputs_check(world->awake[i], fault))
            return;
    long done = 0;
    for (; done < count; done++) {
        if (done > 0 && done + 1 == count) /* else hrp_motion_write has stored them */
            for (int i = 0; i < world->awake_count; i++)
                hrp_velocities_store(world->awake[i]);
        hrp_ode_lock();
        dAllocateODEDataForThread((unsigned)dAllocateMaskAll);
        int stepped = step_once(world, done + 1 == count, fault);
        hrp_ode_unlock();
        if (!stepped)
            break;
        for (int i = 0; i < world->awake_count; i++)
            hrp_tracks_advance(world->awake[i], world->step);
    }
    fault->done = done;
    world->message_count += hrp_message_count;
    for (int i = 0; i < world->awake_count; i++) {
        if (fault->kind == FAULT_NONE && count > 0)
            hrp_motion_write(world->awake[i], world->step);
        else if (fault->done > 0) {
            hrp_joints_read_positions(world->awake[i]);
            hrp_motion_write_at_rest(world->awake[i]);
        }
    }
}
