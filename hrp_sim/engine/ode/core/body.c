/* Creates, moves and destroys bodies in ODE. */
#include "body.h"
#include "articulation.h"
#include "bounds.h"
#include "free_motion.h"
#include "joints.h"
#include "loops.h"
#include "shapes.h"
#include "state.h"

#include <stdlib.h>
#include <string.h>

static void group_place(dBodyID group, const double *p, const double *R)
{
    dMatrix3 matrix;
    to_matrix12(matrix, R);
    dBodySetPosition(group, p[0], p[1], p[2]);
    dBodySetRotation(group, matrix);
}

Motion hrp_motion_of(dBodyID group)
{
    return (Motion){.p = (dReal *)dBodyGetPosition(group),
                    .quaternion = (dReal *)dBodyGetQuaternion(group),
                    .R = (dReal *)dBodyGetRotation(group),
                    .v = (dReal *)dBodyGetLinearVel(group),
                    .w = (dReal *)dBodyGetAngularVel(group),
                    .force = (dReal *)dBodyGetForce(group),
                    .torque = (dReal *)dBodyGetTorque(group)};
}

Body *hrp_body_of(const World *world, long id)
{
    for (int low = 0, high = world->count; low < high;) {
        const int middle = (low + high) / 2;
        if (world->bodies[middle]->id == id)
            return world->bodies[middle];
        if (world->bodies[middle]->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Create the groups with their masses. */
static void groups_create(World *world, Body *body, const Flat *flat)
{
    for (int g = 0; g < body->groups; g++) {
        dMass mass;
        hrp_group_mass(flat, g, &mass);
        body->group[g] = dBodyCreate(world->world);
        dBodySetMass(body->group[g], &mass);
        dBodySetFiniteRotationMode(body->group[g], 1);
        dBodySetGyroscopicMode(body->group[g], 0); /* part of the free motion */
        for (int lane = g % SPIN_LANES; lane < SPIN_LANES; lane++) /* the last one fills the rest */
            hrp_spin_init(&body->spin[g / SPIN_LANES], lane, &mass);
        body->motion[g] = hrp_motion_of(body->group[g]);
    }
}

/* Move the groups to the zero posture: ODE measures joint positions from where a joint was
 * created. */
static void groups_zero(Body *body, const Flat *flat)
{
    for (int g = 0; g < body->groups; g++)
        group_place(body->group[g], flat_reals(flat, GROUP_ZERO_P) + 3 * g,
                    flat_reals(flat, GROUP_ZERO_R) + 9 * g);
}

/* Move the groups to their initial poses and velocities. */
static void groups_start(Body *body, const Flat *flat)
{
    for (int g = 0; g < body->groups; g++) {
        const double *v = flat_reals(flat, GROUP_V) + 3 * g;
        const double *w = flat_reals(flat, GROUP_W) + 3 * g;
        group_place(body->group[g], flat_reals(flat, GROUP_P) + 3 * g,
                    flat_reals(flat, GROUP_R) + 9 * g);
        dBodySetLinearVel(body->group[g], v[0], v[1], v[2]);
        dBodySetAngularVel(body->group[g], w[0], w[1], w[2]);
    }
}

/* Copy an array, or allocate zeros if there is none; never of size zero. */
static void *copy_array(const void *from, size_t count, size_t size)
{
    void *to = calloc(count + 1, size);
    if (to && from)
        memcpy(to, from, count * size);
    return to;
}

static int body_allocate(Body *body, const Flat *flat)
{
    size_t links = (size_t)body->links, groups = (size_t)body->groups;
    body->link_group = copy_array(flat_ints(flat, LINK_GROUP), links, sizeof(int));
    body->contacts = copy_array(flat_ints(flat, CONTACTS), links * links, sizeof(int));
    body->link_R = copy_array(flat_reals(flat, LINK_R), links * 9, sizeof(dReal));
    body->link_p = copy_array(flat_reals(flat, LINK_P), links * 3, sizeof(dReal));
    body->track_axis = copy_array(flat_reals(flat, LINK_TRACK_AXIS), links * 3, sizeof(dReal));
    body->before = copy_array(NULL, links * 6, sizeof(dReal));
    body->group = copy_array(NULL, groups, sizeof(dBodyID));
    body->motion = copy_array(NULL, groups, sizeof(Motion));
    body->start = copy_array(NULL, groups, sizeof(GroupState));
    body->saved = copy_array(NULL, groups, sizeof(GroupState));
    body->middle = copy_array(NULL, groups, sizeof(GroupState));
    body->spin = copy_array(NULL, groups, sizeof(Spin));
    body->start_q = copy_array(flat_reals(flat, START_Q), (size_t)body->coordinates, sizeof(dReal));
    for (size_t i = 0; i < groups && !body->lift; i++)
        if (flat_reals(flat, GROUP_LIFT)[4 * i] != 0.0)
            body->lift = copy_array(flat_reals(flat, GROUP_LIFT), groups * 4, sizeof(dReal));
    body->joint = copy_array(NULL, (size_t)body->joints, sizeof(Joint));
    body->loop = copy_array(NULL, (size_t)body->loops, sizeof(Loop));
    body->gear = copy_array(NULL, (size_t)body->gears, sizeof(Gear));
    return body->link_group && body->contacts && body->link_R && body->link_p && body->track_axis &&
           body->before && body->group && body->motion && body->start && body->saved && body->middle &&
           body->spin && body->start_q && body->joint && body->loop && body->gear;
}

Body *hrp_body_new(const Flat *flat)
{
    Body *body = calloc(1, sizeof *body);
    if (!body)
        return NULL;
    body->links = (int)flat->count[PER_LINK];
    body->groups = (int)flat->count[PER_GROUP];
    body->joints = (int)flat->count[PER_JOINT];
    body->loops = (int)flat->count[PER_LOOP];
    body->gears = (int)flat->count[PER_GEAR];
    body->coordinates = (int)flat->count[PER_COORDINATE];
    if (!body_allocate(body, flat)) {
        hrp_body_free(body);
        return NULL;
    }
    return body;
}

/* Note whether shapes declare a stiffness: then contacts have their own speeds of separation. */
static void springs_find(World *world, const Flat *flat)
{
    const Surface *surfaces = (const Surface *)flat->data[GEOM_SURFACE];
    for (long k = 0; k < flat->count[PER_GEOM] && !world->has_springs; k++)
        if (surfaces[k].stiffness > 0.0) {
            world->has_springs = 1;
            dWorldSetContactMaxCorrectingVel(world->world, dInfinity); /* see depth_adapt */
        }
}

int hrp_body_create(World *world, Body *body, const Flat *flat)
{
    groups_create(world, body, flat);
    groups_zero(body, flat);
    hrp_joints_create(world, body, flat);
    groups_start(body, flat);
    hrp_loops_create(world, body, flat);
    springs_find(world, flat);
    for (int i = 0; i < body->gears; i++)
        body->gear[i] = (Gear){.follower = flat_ints(flat, GEAR_FOLLOWER)[i],
                               .leader = flat_ints(flat, GEAR_LEADER)[i],
                               .ratio = flat_reals(flat, GEAR_RATIO)[i],
                               .offset = flat_reals(flat, GEAR_OFFSET)[i]};
    if (!hrp_geoms_create(body, flat) || !hrp_link_pairs_list(world, body))
        return 0;
    hrp_bounds_create(body);
    return 1;
}

static void joints_destroy(Body *body)
{
    for (int i = 0; i < body->loops; i++)
        if (body->loop[i].joint)
            dJointDestroy(body->loop[i].joint);
    for (int i = 0; i < body->joints; i++) {
        if (body->joint[i].motor)
            dJointDestroy(body->joint[i].motor);
        if (body->joint[i].joint)
            dJointDestroy(body->joint[i].joint);
    }
}

int hrp_body_matches(const Body *body, const Flat *flat)
{
    const long *n = flat->count;
    return n[PER_LINK] == body->links && n[PER_GROUP] == body->groups &&
           n[PER_JOINT] == body->joints && n[PER_LOOP] == body->loops &&
           n[PER_GEAR] == body->gears && n[PER_COORDINATE] == body->coordinates &&
           n[PER_GEOM] == body->moving.count + body->fixed.count &&
           !memcmp(body->link_group, flat_ints(flat, LINK_GROUP),
                   sizeof(int) * (size_t)body->links);
}

/* Move the static links, and put the body where the articulation starts.
 *
 * Joints are created again, because ODE stores their attachment to the world in W. They enter
 * ODE's lists in their original order, so that the body is identical, to the last bit, to one
 * created there.
 */
void hrp_body_rebase(World *world, Body *body, const Flat *flat)
{
    size_t links = (size_t)body->links;
    joints_destroy(body);
    memset(body->joint, 0, sizeof *body->joint * (size_t)body->joints);
    memset(body->loop, 0, sizeof *body->loop * (size_t)body->loops);
    memcpy(body->link_R, flat_reals(flat, LINK_R), sizeof(dReal) * 9 * links);
    memcpy(body->link_p, flat_reals(flat, LINK_P), sizeof(dReal) * 3 * links);
    memcpy(body->track_axis, flat_reals(flat, LINK_TRACK_AXIS), sizeof(dReal) * 3 * links);
    groups_zero(body, flat);
    hrp_joints_create(world, body, flat);
    groups_start(body, flat);
    hrp_loops_create(world, body, flat);
    hrp_geoms_place(body, flat);
    hrp_bounds_create(body);
    hrp_body_move(body, flat);
}

void hrp_body_move(Body *body, const Flat *flat)
{
    groups_start(body, flat);
    hrp_joints_start(body, flat_reals(flat, START_Q));
}

void hrp_body_destroy(Body *body)
{
    hrp_geoms_destroy(body);
    joints_destroy(body);
    for (int g = 0; g < body->groups; g++)
        if (body->group[g])
            dBodyDestroy(body->group[g]);
}

void hrp_body_free(Body *body)
{
    if (!body)
        return;
    hrp_geoms_free(body);
    void *owned[] = {body->link_group, body->contacts, body->link_R, body->link_p,
                     body->track_axis, body->before,   body->group,  body->motion, body->start,
                     body->saved,      body->middle,   body->spin,   body->start_q,
                     body->joint,      body->loop,     body->lift,   body->gear};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    free(body);
}
