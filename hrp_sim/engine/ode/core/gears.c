/* Gears of the exact solver: mimic joints, each a row that acts on both groups of two joints.
 *
 * The row holds the rates at the end of the step, which differ from those in its middle by the
 * joints' drifts: then both positions agree in the middle of the next step. What differs there is
 * corrected at once.
 */
#include "gears.h"
#include "rows.h"

#include <string.h>

#define MIN_GEAR_SOFTNESS 1e-12 /* relative to the mobility of the groups by themselves */

/* The share of a joint's rate in the row: 1 of the follower, -ratio of the leader. */
static dReal share_of(const GearNodes *gear, int side)
{
    return side ? -gear->gear.ratio : 1.0;
}

/* Return where the row acts on a node, NULL if it does not. */
static dReal *row_at(Coupling *coupling, int node)
{
    GearNodes *gear = coupling->gear;
    if (node == coupling->first)
        return coupling->J_first;
    for (int i = 0; i < gear->count; i++)
        if (gear->nodes[i] == node)
            return gear->J[i];
    return NULL;
}

static void gear_init(const System *system, Coupling *coupling)
{
    GearNodes *gear = coupling->gear;
    for (int side = 0; side < 2; side++) {
        const Coupling *joint = &system->couplings[gear->couplings[side]];
        const int nodes[2] = {joint->first, joint->second};
        for (int i = 0; i < 2 && share_of(gear, side) != 0.0; i++)
            if (nodes[i] != WORLD_NODE && !row_at(coupling, nodes[i]))
                gear->nodes[gear->count++] = nodes[i];
    }
}

void hrp_gears_list(World *world, System *system)
{
    int first = 0;
    system->gear_count = 0;
    for (int i = 0; i < world->count; i++) {
        const Body *body = world->bodies[i];
        for (int k = 0; k < body->gears; k++) {
            const Gear *gear = &body->gear[k];
            GearNodes *nodes = &system->gears[system->gear_count++];
            Coupling *coupling = &system->couplings[system->coupling_count++];
            *nodes =
                (GearNodes){.gear = *gear,
                            .joints = {&body->joint[gear->follower], &body->joint[gear->leader]},
                            .couplings = {first + gear->follower, first + gear->leader}};
            *coupling = (Coupling){.first = system->couplings[nodes->couplings[0]].first,
                                   .second = WORLD_NODE,
                                   .rows = 1,
                                   .gear = nodes};
            gear_init(system, coupling);
        }
        first += body->joints + body->loops;
    }
}

/* Add the axis of a joint to the row. Returns the joint's rate. */
static dReal axis_add(const System *system, Coupling *coupling, int side)
{
    const Coupling *joint = &system->couplings[coupling->gear->couplings[side]];
    const int nodes[2] = {joint->first, joint->second};
    const dReal *axes[2] = {joint->axis_first, joint->axis_second};
    const dReal share = share_of(coupling->gear, side);
    dReal rate = 0.0;
    for (int i = 0; i < 2; i++) {
        dReal *J = nodes[i] == WORLD_NODE || share == 0.0 ? NULL : row_at(coupling, nodes[i]);
        rate += hrp_velocity_along(system, nodes[i], axes[i]);
        for (int k = 0; J && k < 6; k++)
            J[k] += share * axes[i][k];
    }
    return rate;
}

/* Set the row of a gear, after those of its joints. */
static void gear_fill(System *system, Coupling *coupling, dReal h)
{
    GearNodes *gear = coupling->gear;
    dReal error = -gear->gear.offset, rate = 0.0, mobility = 0.0;
    memset(coupling->J_first, 0, 6 * sizeof(dReal));
    for (int i = 0; i < gear->count; i++)
        memset(gear->J[i], 0, 6 * sizeof(dReal));
    for (int side = 0; side < 2; side++) {
        const Joint *joint = gear->joints[side];
        const Coupling *of_joint = &system->couplings[gear->couplings[side]];
        const dReal share = share_of(gear, side);
        error += share * joint->now.q;
        rate += share * (axis_add(system, coupling, side) + joint->drift);
        mobility +=
            share * share *
            hrp_mobility_of(system, of_joint->first, of_joint->second, joint->kind == JOINT_HINGE);
    }
    const dReal closing = closing_share(error / h);
    coupling->target[0] = -closing * error / h - rate;
    coupling->softness[0] = max_real(closing * system->cfm / h, MIN_GEAR_SOFTNESS * mobility);
}

void hrp_gears_fill(System *system, dReal h)
{
    for (int c = system->coupling_count - system->gear_count; c < system->coupling_count; c++)
        gear_fill(system, &system->couplings[c], h);
}

dReal hrp_gear_rate(const System *system, const Coupling *coupling)
{
    dReal rate = 0.0;
    for (int i = 0; i < coupling->gear->count; i++)
        rate += dot6(coupling->gear->J[i], dv_of(system, coupling->gear->nodes[i]));
    return rate;
}

void hrp_gear_impulse_add(const System *system, const Coupling *coupling)
{
    const GearNodes *gear = coupling->gear;
    for (int i = 0; i < gear->count; i++) {
        dReal *x = system->x + 6 * (size_t)system->position_of[gear->nodes[i]];
        for (int k = 0; k < 6; k++)
            x[k] += coupling->impulse[0] * gear->J[i][k];
    }
}

void hrp_gears_read(const System *system, dReal h)
{
    for (int c = system->coupling_count - system->gear_count; c < system->coupling_count; c++) {
        const Coupling *coupling = &system->couplings[c];
        const GearNodes *gear = coupling->gear;
        for (int side = 0; side < 2; side++) {
            Joint *joint = gear->joints[side];
            const dReal effort = share_of(gear, side) * coupling->impulse[0] / h;
            if (joint->watched)
                hrp_force_add(&joint->feedback, system->couplings[gear->couplings[side]].axis_first,
                              effort);
        }
    }
}
