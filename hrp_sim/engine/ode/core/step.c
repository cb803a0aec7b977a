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
#include "state.h"

/* Solve the step whose contacts were found, and take it. Returns 0 on failure. */
static int advance(World *world, Fault *fault)
{
    if (world->contacts >= MAX_CONTACTS) {
        *fault = (Fault){
            .kind = FAULT_CONTACTS, .body = world->overflow_body, .index = world->overflow_link};
        return 0;
    }
    return world->system ? hrp_system_step(world, fault)
                         : dWorldQuickStep(world->world, world->step);
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
            if (!world->interrupt)
                solved = advance(world, fault);
        }
        if (solved)
            hrp_records_read_forces(world);
        dJointGroupEmpty(world->contact_group);
    } else {
        world->broken = 1; /* ODE was interrupted: its objects may be inconsistent */
    }
    hrp_error_exit = outer;
    return solved;
}

/* Attempt a step from the saved state. Returns 0 on failure. */
static int attempt(World *world, Fault *fault)
{
    world->has_moved = 1;
    dRandSetSeed(world->random); /* ODE has one random state for the whole process */
    for (int i = 0; i < world->count; i++) {
        hrp_drift_to_middle(world, world->bodies[i]);
        hrp_wrenches_apply(world->bodies[i]);
        hrp_weights_lift(world, world->bodies[i]);
        hrp_drives_apply(world, world->bodies[i]);
    }
    int solved = solve(world, fault);
    if (fault->kind == FAULT_NONE && hrp_state_check(world, fault) && !solved)
        *fault = (Fault){.kind = FAULT_SOLVER};
    if (fault->kind != FAULT_NONE)
        return 0;
    for (int i = 0; i < world->count; i++) {
        Body *body = world->bodies[i];
        hrp_drift_to_end(world, body);
        for (int j = 0; j < body->joints; j++)
            hrp_drive_measure(world, body, &body->joint[j]);
    }
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

/* Take a step; with `quick`, repeat it while an effort leaves its range. */
static int step_once(World *world, Fault *fault)
{
    hrp_state_save(world);
    for (int i = 0; i < world->count; i++)
        hrp_drives_clear_exceeded(world->bodies[i]);
    hrp_memory_begin(world);
    for (;;) {
        int again = 0;
        if (attempt(world, fault)) {
            if (world->system)
                break;
            for (int i = 0; i < world->count; i++)
                again |= hrp_drives_find_exceeded(world->bodies[i]);
            if (!again)
                break;
        } else if (!drives_retry_bounded(world, fault)) {
            hrp_state_restore(world);
            hrp_memory_restore(world);
            return 0;
        }
        hrp_state_restore(world);
        for (int i = 0; i < world->count; i++)
            hrp_drives_bound_exceeded(world->bodies[i]);
    }
    world->random = dRandGetSeed();
    return 1;
}

void hrp_world_step(World *world, long count, Fault *fault)
{
    *fault = (Fault){.kind = FAULT_NONE};
    hrp_message_count = 0;
    hrp_failed_pairs_clear(world);
    for (int i = 0; i < world->count; i++)
        if (!hrp_drives_check(world->bodies[i], fault) ||
            !hrp_wrenches_check(world->bodies[i], fault))
            return;
    long done = 0;
    for (; done < count; done++) {
        if (done > 0 && done + 1 == count) /* else hrp_motion_write has stored them */
            for (int i = 0; i < world->count; i++)
                hrp_velocities_store(world->bodies[i]);
        hrp_ode_lock();
        dAllocateODEDataForThread((unsigned)dAllocateMaskAll);
        int stepped = step_once(world, fault);
        hrp_ode_unlock();
        if (!stepped)
            break;
        for (int i = 0; i < world->count; i++)
            hrp_tracks_advance(world->bodies[i], world->step);
    }
    fault->done = done;
    world->message_count += hrp_message_count;
    for (int i = 0; i < world->count; i++) {
        if (fault->kind == FAULT_NONE && count > 0)
            hrp_motion_write(world->bodies[i], world->step);
        else if (fault->done > 0)
            hrp_motion_write_at_rest(world->bodies[i]);
    }
}
