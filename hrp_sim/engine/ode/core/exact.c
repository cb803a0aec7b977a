/* A step of `solver: world`: ODE finds the contacts and holds the bodies, the exact solver computes
 * their changes of velocity. See solver.h. */
#include "exact.h"
#include "friction.h"
#include "gears.h"
#include "guard.h"
#include "memory.h"
#include "newton.h"
#include "order.h"
#include "overlap.h"
#include "patch.h"
#include "rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_REMEMBERED 1e12 /* [N s] */

int hrp_system_create(World *world)
{
    System *system = calloc(1, sizeof *system);
    world->system = system;
    if (!system)
        return 0;
    system->is_stale = 1;
    system->cfm = dWorldGetCFM(world->world);
    system->erp = dWorldGetERP(world->world);
    system->max_correcting_velocity = world->max_correcting_velocity;
    system->surface_layer = dWorldGetContactSurfaceLayer(world->world);
    return 1;
}

void hrp_system_free(World *world)
{
    System *system = world->system;
    if (!system)
        return;
    void *owned[] = {system->nodes,
                     system->couplings,
                     system->touches,
                     system->pairs,
                     system->vertex_at,
                     system->position_of,
                     system->column_start,
                     system->row,
                     system->left_start,
                     system->left,
                     system->is_changed,
                     system->followers,
                     system->block_gain,
                     system->island_of,
                     system->touch_order,
                     system->islands,
                     system->pivot,
                     system->coupling_order,
                     system->block,
                     system->x,
                     system->dv,
                     system->dv_before,
                     system->bounded,
                     system->frictions,
                     system->gripping,
                     system->friction_points,
                     system->gears};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    free(system);
    world->system = NULL;
}

void hrp_system_outdate(World *world)
{
    if (world->system)
        world->system->is_stale = 1;
}

void hrp_touches_begin(World *world)
{
    if (world->system)
        world->system->first_friction = world->system->friction_count;
}

static dReal remembered(dReal number)
{
    return fabs(number) < MAX_REMEMBERED ? number : 0.0; /* a snapshot may contain anything */
}

/* Read what a contact left in the last step. */
static void touch_recall(const World *world, int number, Touch *touch)
{
    touch->impulse_before = touch->load = 0.0;
    memset(touch->slip_before, 0, sizeof touch->slip_before);
    if (number >= world->memory_limit)
        return;
    const ContactMemory *memory = &world->memory[number];
    touch->impulse_before = max_real(remembered(memory->impulse), 0.0);
    touch->load = max_real(remembered(memory->load), 0.0);
    for (int i = 0; i < 3; i++)
        touch->slip_before[i] = remembered(memory->slip[i]);
}

void hrp_touch_create(World *world, const dContact *contact, dBodyID a, dBodyID b, int cluster,
                      dReal cap)
{
    const int number = world->touch_count++;
    Touch *touch = hrp_touch_append(world->system);
    hrp_memory_recall(world, number, contact->geom.pos, a, b);
    if (!touch) {
        world->system->is_short = 1;
        return;
    }
    hrp_touch_fill(world, touch, contact, a, b);
    touch_recall(world, number, touch);
    if (number < world->memory_limit)
        hrp_overlap_recall(world->system, touch, world->memory[number].jammed,
                           world->memory[number].right);
    hrp_friction_join(world->system, touch, contact, cluster, cap);
}

/* Give the groups of a body, the nodes from the given one on, their new velocities; forces are used
 * up. */
static void body_accelerate(const Body *body, const System *system, int node)
{
    for (int g = 0; g < body->groups; g++) {
        const Motion *motion = &body->motion[g];
        const dReal *v = system->nodes[node + g].velocity, *dv = dv_of(system, node + g);
        for (int i = 0; i < 3; i++) {
            motion->v[i] = v[i] + dv[i];
            motion->w[i] = v[3 + i] + dv[3 + i];
            motion->force[i] = motion->torque[i] = 0.0;
        }
    }
}

/* Write the wrench that all rows of a joint with a force sensor exert. */
static void wrench_read(Joint *joint, const Coupling *coupling, dReal h)
{
    memset(&joint->feedback, 0, sizeof joint->feedback);
    memset(&joint->motor_feedback, 0, sizeof joint->motor_feedback);
    hrp_force_add(&joint->feedback, coupling->impulse, 1.0 / h);
    for (int k = 0; k < coupling->axis_rows; k++)
        hrp_force_add(&joint->feedback, coupling->axis_first, coupling->axis[k].impulse / h);
}

/* Write what the rows of joints led to: which are at their bounds, two bits each, and wrenches. */
static void joints_read(World *world)
{
    const Coupling *coupling = world->system->couplings;
    for (int i = 0; i < world->count; coupling += world->bodies[i++]->loops)
        for (int j = 0; j < world->bodies[i]->joints; j++, coupling++) {
            if (world->bodies[i]->asleep)
                continue;
            Joint *joint = &world->bodies[i]->joint[j];
            joint->now.active = 0;
            for (int k = 0; k < coupling->axis_rows; k++)
                joint->now.active |= hrp_row_bits(&coupling->axis[k]) << 2 * k;
            if (joint->watched)
                wrench_read(joint, coupling, world->step);
        }
    hrp_gears_read(world->system, world->step);
}

int hrp_touch_number(const World *world)
{
    return world->system ? world->system->touch_count - 1 : -1;
}

void hrp_touch_force(const World *world, int number, dReal force[3])
{
    const Touch *touch = &world->system->touches[number];
    dReal friction[3];
    hrp_friction_part(world->system, touch, friction);
    for (int i = 0; i < 3; i++)
        force[i] = (touch->row.impulse * touch->normal[i] + friction[i]) / world->step;
}

/* Describe a matrix that would be too large, by the body and the group of one of its nodes. */
static void crowd_describe(const World *world, Fault *fault)
{
    int node = world->system->crowded;
    for (int i = 0; i < world->count; node -= world->bodies[i++]->groups)
        if (node < world->bodies[i]->groups) {
            *fault = (Fault){.kind = FAULT_BLOCKS, .body = world->bodies[i]->id, .index = node};
            return;
        }
}

int hrp_system_step(World *world, Fault *fault)
{
    System *system = world->system;
    if (system->is_short || !hrp_frictions_fill(world, system) || !hrp_structure_update(world)) {
        if (system->crowded != WORLD_NODE)
            crowd_describe(world, fault);
        return 0;
    }
    for (int i = 0; i < system->island_count; i++) {
        const Island *island = &system->islands[i];
        if (system->nodes[system->vertex_at[island->first]].body->asleep)
            continue;
        if (hrp_is_interrupted(world) || !hrp_island_solve(world, island))
            return 0;
    }
    joints_read(world);
    for (int i = 0, node = 0; i < world->count; node += world->bodies[i++]->groups)
        if (!world->bodies[i]->asleep)
            body_accelerate(world->bodies[i], system, node);
    return 1;
}

int hrp_system_begin(World *world)
{
    world->system->touch_count = world->system->friction_count = world->system->is_short = 0;
    world->system->crowded = WORLD_NODE;
    const int is_stale = world->system->is_stale;
    if (world->awake_count == 0)
        return 1;
    if (!hrp_system_list(world, world->system))
        return 0;
    if (is_stale)
        hrp_gears_list(world, world->system);
    hrp_couplings_fill(world, world->system);
    hrp_gears_fill(world->system, world->step);
    return 1;
}
