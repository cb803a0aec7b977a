/* Steps. */
#include "_core.h"

/* Advance ODE once. Returns 0 when it could not, and may describe the fault. */
static int solve(World *world, Fault *fault)
{
    jmp_buf here;
    volatile int solved = 0;
    if (setjmp(here) == 0) {
        way_out = &here;
        loops_hold(world);
        contacts_create(world);
        if (crowd_check(world, fault))
            solved = world->quick ? dWorldQuickStep(world->world, world->step)
                                  : dWorldStep(world->world, world->step);
        told_take(world);
        dJointGroupEmpty(world->contact_group);
    } else {
        world->broken = 1; /* ODE was left in the middle: its memory is not to be trusted */
    }
    way_out = NULL;
    return solved;
}

/* Take a step from the saved state. Returns 0 when it failed. */
static int attempt(World *world, Fault *fault)
{
    dRandSetSeed(world->random); /* ODE has one for the whole process */
    for (int i = 0; i < world->count; i++)
        wrenches_apply(world->bodies[i]);
    for (int i = 0; i < world->count; i++)
        drives_apply(world, world->bodies[i]);
    int solved = solve(world, fault);
    if (fault->kind == FAULT_NONE && state_check(world, fault) && !solved)
        *fault = (Fault){.kind = FAULT_SOLVER};
    if (fault->kind != FAULT_NONE)
        return 0;
    for (int i = 0; i < world->count; i++) {
        Body *body = world->bodies[i];
        for (int j = 0; j < body->joints; j++) {
            joint_read(body, &body->joint[j], world->step);
            drive_measure(world, body, &body->joint[j]);
        }
    }
    return 1;
}

/* Whether a step may have failed because efforts were left free that have a range: they are bounded
 * when it is taken again. */
static int drives_to_blame(World *world, Fault *fault)
{
    if (world->broken || (fault->kind != FAULT_STATE && fault->kind != FAULT_SOLVER))
        return 0;
    int found = 0;
    for (int i = 0; i < world->count; i++)
        found |= drives_doubt(world->bodies[i]);
    if (found)
        *fault = (Fault){.kind = FAULT_NONE};
    return found;
}

/* Step, again as long as an effort leaves its range or a contact does not stick as supposed. */
static int step_once(World *world, Fault *fault)
{
    state_save(world);
    for (int i = 0; i < world->count; i++)
        drives_begin(world->bodies[i]);
    sticking_begin(world);
    for (;;) {
        int again = 0;
        if (attempt(world, fault)) {
            for (int i = 0; i < world->count; i++)
                again |= drives_exceed(world->bodies[i]);
            again |= sticking_fails(world);
            if (!again)
                break;
        } else if (!drives_to_blame(world, fault)) {
            state_restore(world);
            sticking_undo(world);
            return 0;
        }
        state_restore(world);
        for (int i = 0; i < world->count; i++)
            drives_limit(world->bodies[i]);
    }
    sticking_end(world);
    world->random = dRandGetSeed();
    return 1;
}

/* Advance by count steps, or to the one that fails; the state is then as before that one. */
void world_step(World *world, long count, Fault *fault)
{
    *fault = (Fault){.kind = FAULT_NONE};
    complaints = 0;
    for (int i = 0; i < world->count; i++)
        if (!drives_check(world->bodies[i], fault) || !wrenches_check(world->bodies[i], fault))
            return;
    for (long done = 0; done < count; done++) {
        if (done > 0 && done + 1 == count) /* else they are remembered since they were written */
            for (int i = 0; i < world->count; i++)
                velocities_remember(world->bodies[i]);
        ode_enter();
        dAllocateODEDataForThread((unsigned)dAllocateMaskAll);
        int stepped = step_once(world, fault);
        ode_leave();
        if (!stepped) {
            fault->done = done;
            break;
        }
        for (int i = 0; i < world->count; i++)
            tracks_count(world->bodies[i], world->step);
    }
    world->complaints += complaints;
    for (int i = 0; i < world->count; i++) {
        if (fault->kind == FAULT_NONE && count > 0)
            motion_write(world->bodies[i], world->step);
        else if (fault->done > 0)
            motion_write_still(world->bodies[i]);
    }
}
