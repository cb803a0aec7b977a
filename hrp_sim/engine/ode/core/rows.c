/* The rows of the exact solver: joints, drives, stops, extra joints and contacts.
 *
 * A row is the rate of an error e of position: with the velocities of both nodes,
 *
 *     de/dt = u . (v_a + w_a x r_a) - u . (v_b + w_b x r_b) = J_a (v_a, w_a) + J_b (v_b, w_b),
 *     J_a = (u, r_a x u),   J_b = -(u, r_b x u),
 *
 * for the points at r_a and r_b from the centres of mass, along u; and J_a = (0, u) = -J_b for
 * turning about u. A step removes the fraction ERP of the error, and the row yields by CFM (ODE's
 * manual, "Joint error and the Error Reduction Parameter" and "Soft constraint and Constraint Force
 * Mixing"). With the change dv of the velocities and the impulse p that is
 *
 *     J dv + CFM / h p = target,   target = -ERP / h e - J v.
 *
 * Which errors a joint has is that of ODE's joints, so that both of its solvers hold the same.
 */
#include "rows.h"
#include "drive.h"

#include <string.h>

/* Smallest softness of a row with bounds, relative to the mobility of its groups by themselves. */
#define MIN_SOFTNESS 1e-10 /* of a contact */
#define MIN_AXIS_SOFTNESS 1e-12
#define SETTLED 1e-6   /* [m] */
#define SETTLING 5e-8  /* [m/s] */
#define MAX_STIFFNESS 1e7 /* of a contact, relative to the inertia of its groups */

static int node_of(dBodyID group)
{
    return group ? (int)(size_t)dBodyGetData(group) - 1 : WORLD_NODE;
}

static void node_init(Node *node, Body *body, dBodyID group)
{
    dMass mass;
    dBodyGetMass(group, &mass);
    *node = (Node){.body = body, .motion = hrp_motion_of(group), .mass = mass.mass};
    for (int i = 0; i < 9; i++)
        node->inertia[i] = mass.I[i / 3 * 4 + i % 3];
    node->mobility[0] = 1.0 / node->mass;
    node->mobility[1] = 3.0 / (node->inertia[0] + node->inertia[4] + node->inertia[8]);
}

static int rows_of(const Attachment *attachment)
{
    static const int rows[] = {
        [ATTACH_BALL] = 3,  [ATTACH_HINGE] = 5, [ATTACH_SLIDER] = 5, [ATTACH_PISTON] = 4,
        [ATTACH_FIXED] = 6, [ATTACH_XY] = 2,    [ATTACH_Z] = 1};
    return rows[attachment->kind];
}

static void coupling_init(Coupling *coupling, const Attachment *attachment)
{
    *coupling = (Coupling){.first = node_of(attachment->first),
                           .second = node_of(attachment->second),
                           .rows = rows_of(attachment)};
}

void hrp_groups_number(World *world)
{
    size_t number = 0;
    for (int i = 0; i < world->count; i++)
        for (int g = 0; g < world->bodies[i]->groups; g++)
            dBodySetData(world->bodies[i]->group[g], (void *)++number);
}

int hrp_system_list(World *world, System *system)
{
    int nodes = 0, couplings = world->body_joint_count, gears = 0;
    if (!system->is_stale)
        return 1;
    for (int i = 0; i < world->count; i++) {
        nodes += world->bodies[i]->groups;
        couplings += world->bodies[i]->joints + world->bodies[i]->loops + world->bodies[i]->gears;
        gears += world->bodies[i]->gears;
    }
    if (!hrp_array_reserve(&system->nodes, &system->node_capacity, nodes, sizeof(Node)) ||
        !hrp_array_reserve(&system->couplings, &system->coupling_capacity, couplings,
                           sizeof(Coupling)) ||
        !hrp_array_reserve(&system->gears, &system->gear_capacity, gears, sizeof(GearNodes)))
        return 0;
    system->node_count = system->coupling_count = 0;
    for (int i = 0; i < world->count; i++)
        for (int g = 0; g < world->bodies[i]->groups; g++) {
            dBodyID group = world->bodies[i]->group[g];
            node_init(&system->nodes[system->node_count++], world->bodies[i], group);
        }
    hrp_groups_number(world);
    for (int i = 0; i < world->count; i++) {
        const Body *body = world->bodies[i];
        for (int j = 0; j < body->joints; j++) {
            Coupling *coupling = &system->couplings[system->coupling_count++];
            coupling_init(coupling, &body->joint[j].attachment);
            coupling->is_tree = 1;
            coupling->is_watched = body->joint[j].watched;
        }
        for (int k = 0; k < body->loops; k++)
            coupling_init(&system->couplings[system->coupling_count++], &body->loop[k].attachment);
    }
    for (int i = 0; i < world->body_joint_count; i++)
        coupling_init(&system->couplings[system->coupling_count++],
                      &world->body_joints[i].loop.attachment);
    system->pair_count = -1;
    system->is_stale = 0;
    return 1;
}

/* Update what the rows depend on: inertias in W and the impulses of all forces. */
static void nodes_update(World *world, System *system)
{
    dVector3 gravity;
    dWorldGetGravity(world->world, gravity);
    const dReal h = world->step;
    for (int n = 0; n < system->node_count; n++) {
        Node *node = &system->nodes[n];
        const Motion *at = &node->motion;
        const dReal *R = at->R, *I = node->inertia;
        dReal RI[9];
        if (node->body->asleep)
            continue;
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++)
                RI[3 * i + k] = R[4 * i] * I[k] + R[4 * i + 1] * I[3 + k] + R[4 * i + 2] * I[6 + k];
        for (int i = 0; i < 3; i++)
            for (int k = 0; k <= i; k++)
                node->I_W[3 * i + k] = node->I_W[3 * k + i] = dot3(RI + 3 * i, R + 4 * k);
        for (int i = 0; i < 3; i++) {
            node->velocity[i] = at->v[i];
            node->velocity[3 + i] = at->w[i];
            node->impulse[i] = h * (at->force[i] + node->mass * gravity[i]);
            node->impulse[3 + i] = h * at->torque[i];
        }
    }
}

/* A node's pose, the world being one that never moves. */
typedef struct {
    const dReal *p, *R, *quaternion;
} PoseOf;

static PoseOf pose_of(const System *system, int node)
{
    static const dReal origin[4] = {0.0}, unity[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0},
                       none[4] = {1.0, 0.0, 0.0, 0.0};
    if (node == WORLD_NODE)
        return (PoseOf){origin, unity, none};
    const Motion *at = &system->nodes[node].motion;
    return (PoseOf){at->p, at->R, at->quaternion};
}

dReal hrp_velocity_along(const System *system, int node, const dReal J[6])
{
    if (node == WORLD_NODE)
        return 0.0;
    return dot6(J, system->nodes[node].velocity);
}

void hrp_point_row(dReal *J_first, dReal *J_second, const dReal along[3], const dReal arm[3],
                   const dReal arm_second[3])
{
    memcpy(J_first, along, 3 * sizeof(dReal));
    cross3(J_first + 3, arm, along);
    for (int i = 0; i < 3; i++)
        J_second[i] = -along[i];
    cross3(J_second + 3, along, arm_second);
}

void hrp_turn_row(dReal *J_first, dReal *J_second, const dReal about[3])
{
    for (int i = 0; i < 3; i++) {
        J_first[i] = J_second[i] = 0.0;
        J_first[3 + i] = about[i];
        J_second[3 + i] = -about[i];
    }
}

static const dReal AXES[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

/* Three rows that keep two points together: e = x_a - x_b along the axes of W. */
static void ball_rows(Coupling *coupling, const Attachment *attachment, PoseOf a, PoseOf b, dReal k)
{
    dReal arm_a[3], arm_b[3];
    rotate4(arm_a, a.R, attachment->anchor[0]);
    rotate4(arm_b, b.R, attachment->anchor[1]);
    for (int i = 0; i < 3; i++) {
        hrp_point_row(coupling->J_first + 6 * i, coupling->J_second + 6 * i, AXES[i], arm_a, arm_b);
        coupling->target[i] = k * (arm_b[i] + b.p[i] - arm_a[i] - a.p[i]);
    }
}

/* Return the rotation that would restore the relative orientation of two nodes: twice the vector
 * part of the quaternion of the error, in W; its angle, if that is small. */
static void orientation_error(const Attachment *attachment, PoseOf a, PoseOf b, dReal rotation[3])
{
    dQuaternion from_a, error;
    dQMultiply1(from_a, a.quaternion, b.quaternion);
    dQMultiply2(error, from_a, attachment->relative);
    rotate4(rotation, a.R, error + 1);
    for (int i = 0; i < 3; i++)
        rotation[i] *= error[0] < 0.0 ? -2.0 : 2.0;
}

/* Three rows, from the given one on, that keep the relative orientation. */
static void orientation_rows(Coupling *coupling, int row, const Attachment *attachment, PoseOf a,
                             PoseOf b, dReal k)
{
    dReal rotation[3];
    orientation_error(attachment, a, b, rotation);
    for (int i = 0; i < 3; i++) {
        hrp_turn_row(coupling->J_first + 6 * (row + i), coupling->J_second + 6 * (row + i),
                     AXES[i]);
        coupling->target[row + i] = k * rotation[i];
    }
}

/* Two rows that keep the axes of both nodes parallel: e = -u . (axis_a x axis_b) for both u across,
 * the sine of their angle. */
static void parallel_rows(Coupling *coupling, int row, const Attachment *attachment,
                          const dReal axis[3], const dReal across[2][4], PoseOf b, dReal k)
{
    dReal other[3], tilt[3];
    rotate4(other, b.R, attachment->axis[1]);
    cross3(tilt, axis, other);
    for (int i = 0; i < 2; i++) {
        hrp_turn_row(coupling->J_first + 6 * (row + i), coupling->J_second + 6 * (row + i),
                     across[i]);
        coupling->target[row + i] = k * dot3(tilt, across[i]);
    }
}

/* Two rows that keep a point of the second node on the axis of a piston. */
static void piston_rows(Coupling *coupling, const Attachment *attachment, const dReal across[2][4],
                        PoseOf a, PoseOf b, dReal k)
{
    dReal arm_a[3], arm_b[3], apart[3], error[3];
    rotate4(arm_a, a.R, attachment->anchor[0]);
    rotate4(arm_b, b.R, attachment->anchor[1]);
    for (int i = 0; i < 3; i++) {
        apart[i] = arm_b[i] + b.p[i] - a.p[i];
        error[i] = apart[i] - arm_a[i];
    }
    for (int r = 0; r < 2; r++) {
        hrp_point_row(coupling->J_first + 6 * (2 + r), coupling->J_second + 6 * (2 + r), across[r],
                      apart, arm_b);
        coupling->target[2 + r] = k * dot3(across[r], error);
    }
}

/* Set the rows of an XY or a Z joint: a point of one node stays on an axis of the other, or in the
 * plane across it. They act at that point, since their error changes with its velocity relative to
 * the axis. */
static void plane_rows(Coupling *coupling, const Attachment *attachment, PoseOf a, PoseOf b,
                       dReal k)
{
    const int owner = attachment->axis_owner;
    const PoseOf poses[2] = {a, b}, from = poses[owner], to = poses[!owner];
    dReal *J[2] = {coupling->J_first, coupling->J_second};
    dReal arm_from[3], arm_to[3], apart[3], error[3];
    dVector3 axis, across[2];
    rotate4(axis, from.R, attachment->axis[owner]);
    dPlaneSpace(axis, across[0], across[1]);
    rotate4(arm_from, from.R, attachment->anchor[owner]);
    rotate4(arm_to, to.R, attachment->anchor[!owner]);
    for (int i = 0; i < 3; i++) {
        apart[i] = arm_to[i] + to.p[i] - from.p[i];
        error[i] = apart[i] - arm_from[i];
    }
    for (int r = 0; r < coupling->rows; r++) {
        const dReal *along = attachment->kind == ATTACH_Z ? axis : across[r];
        hrp_point_row(J[owner] + 6 * r, J[!owner] + 6 * r, along, apart, arm_to);
        coupling->target[r] = k * dot3(along, error);
    }
}

/* Set how a hinge or a fixed joint of a tree lets its first node move; turn: the rotation that it
 * is to make. axis: NULL if it is fixed. */
static void arms_follow(Coupling *coupling, const Attachment *attachment, const dReal *axis,
                        PoseOf a, PoseOf b, const dReal turn[3], dReal shift[3])
{
    dReal arm_a[3], arm_b[3], swing[3];
    rotate4(arm_a, a.R, attachment->anchor[0]);
    rotate4(arm_b, b.R, attachment->anchor[1]);
    cross3(swing, arm_a, turn);
    for (int i = 0; i < 3; i++) {
        coupling->reach[i] = arm_b[i] - arm_a[i];
        shift[i] = coupling->reach[i] + b.p[i] - a.p[i] + swing[i];
    }
    if (!axis)
        return;
    cross3(coupling->motion[0], arm_a, axis);
    cross3(coupling->motion[1], axis, arm_b);
    for (int i = 0; i < 3; i++) {
        coupling->axis_first[3 + i] = coupling->motion[0][3 + i] = axis[i];
        coupling->axis_second[3 + i] = coupling->motion[1][3 + i] = -axis[i];
    }
}

/* Likewise of a slider. ODE lets both groups move with the mean of their rotations, so that the
 * arms are half the distance of their centres of mass; its force then turns neither. */
static void slider_follow(Coupling *coupling, const Attachment *attachment, const dReal axis[3],
                          PoseOf a, PoseOf b, const dReal turn[3], dReal shift[3])
{
    dReal apart[3], error[3], offset[3], swing[3];
    rotate4(offset, b.R, attachment->offset);
    for (int i = 0; i < 3; i++) {
        apart[i] = coupling->second == WORLD_NODE ? 0.0 : 0.5 * (b.p[i] - a.p[i]);
        error[i] = b.p[i] - a.p[i] + offset[i];
        coupling->reach[i] = -2.0 * apart[i];
    }
    const dReal along = dot3(axis, error);
    cross3(swing, turn, apart);
    cross3(coupling->axis_first + 3, apart, axis);
    memcpy(coupling->axis_second + 3, coupling->axis_first + 3, 3 * sizeof(dReal));
    for (int i = 0; i < 3; i++) {
        shift[i] = error[i] - along * axis[i] - swing[i];
        coupling->axis_first[i] = coupling->motion[0][i] = axis[i];
        coupling->axis_second[i] = coupling->motion[1][i] = -axis[i];
    }
}

/* Give the first node of a tree's joint the velocity with which it follows the second one at its
 * rate along the axis, and takes away the given share of the joint's error. What that changes is an
 * impulse of inertia. Returns the rate. */
static dReal velocity_follow(System *system, const Coupling *coupling, const dReal shift[3],
                             const dReal turn[3], dReal k)
{
    Node *node = &system->nodes[coupling->first];
    const dReal rate = hrp_velocity_along(system, coupling->first, coupling->axis_first) +
                       hrp_velocity_along(system, coupling->second, coupling->axis_second);
    dReal follows[6] = {0.0}, change[6], turned[3];
    if (coupling->second != WORLD_NODE) {
        const dReal *leads = system->nodes[coupling->second].velocity;
        cross3(follows, leads + 3, coupling->reach);
        for (int i = 0; i < 3; i++) {
            follows[i] += leads[i];
            follows[3 + i] = leads[3 + i];
        }
    }
    for (int i = 0; i < 3; i++) {
        follows[i] += rate * coupling->motion[0][i] + k * shift[i];
        follows[3 + i] += rate * coupling->motion[0][3 + i] + k * turn[i];
    }
    for (int i = 0; i < 6; i++) {
        change[i] = follows[i] - node->velocity[i];
        node->velocity[i] = follows[i];
    }
    rotate3(turned, node->I_W, change + 3);
    for (int i = 0; i < 3; i++) {
        node->impulse[i] -= node->mass * change[i];
        node->impulse[3 + i] -= turned[i];
    }
    return rate;
}

/* Set a joint of a tree, after those of the nodes that carry it. Its errors are those of ODE's
 * joints, of which a step takes the share k per time away. Returns its rate. */
static dReal tree_joint_fill(System *system, Coupling *coupling, const Joint *joint, dReal k)
{
    const Attachment *attachment = &joint->attachment;
    const PoseOf a = pose_of(system, coupling->first), b = pose_of(system, coupling->second);
    const dReal *axis = joint->axis_W;
    dReal other[3], turn[3], shift[3];
    if (attachment->kind == ATTACH_HINGE) {
        rotate4(other, b.R, attachment->axis[1]);
        cross3(turn, axis, other);
        arms_follow(coupling, attachment, axis, a, b, turn, shift);
    } else {
        orientation_error(attachment, a, b, turn);
        if (attachment->kind == ATTACH_FIXED)
            arms_follow(coupling, attachment, NULL, a, b, turn, shift);
        else
            slider_follow(coupling, attachment, axis, a, b, turn, shift);
    }
    return velocity_follow(system, coupling, shift, turn, k);
}

/* Set the rows of a coupling without bounds; the formulas are those of ODE's joints. */
static void coupling_fill(const System *system, Coupling *coupling, const Attachment *attachment,
                          dReal h)
{
    const PoseOf a = pose_of(system, coupling->first), b = pose_of(system, coupling->second);
    const dReal k = system->erp / h;
    dVector3 axis, across[2];
    if (attachment->kind != ATTACH_BALL && attachment->kind != ATTACH_FIXED) {
        rotate4(axis, a.R, attachment->axis[0]);
        dPlaneSpace(axis, across[0], across[1]);
    }
    switch (attachment->kind) {
    case ATTACH_BALL:
        ball_rows(coupling, attachment, a, b, k);
        break;
    case ATTACH_HINGE:
        ball_rows(coupling, attachment, a, b, k);
        parallel_rows(coupling, 3, attachment, axis, across, b, k);
        break;
    case ATTACH_FIXED:
        ball_rows(coupling, attachment, a, b, k);
        orientation_rows(coupling, 3, attachment, a, b, k);
        break;
    case ATTACH_PISTON:
        parallel_rows(coupling, 0, attachment, axis, across, b, k);
        piston_rows(coupling, attachment, across, a, b, k);
        break;
    default:
        plane_rows(coupling, attachment, a, b, k);
    }
    for (int r = 0; r < coupling->rows; r++) {
        coupling->softness[r] = system->cfm / h;
        coupling->target[r] -=
            hrp_velocity_along(system, coupling->first, coupling->J_first + 6 * r) +
            hrp_velocity_along(system, coupling->second, coupling->J_second + 6 * r);
    }
}

dReal hrp_mobility_of(const System *system, int first, int second, int turns)
{
    const dReal mobility = system->nodes[first].mobility[turns];
    return second == WORLD_NODE ? mobility : mobility + system->nodes[second].mobility[turns];
}

/* Set a row with bounds, of which nothing is known yet. Number by number, as compilers clear
 * structures of this size by slow string instructions. */
static void row_init(BoundedRow *row, dReal target, dReal softness, dReal lower, dReal upper)
{
    row->target = target;
    row->softness = softness;
    row->lower = lower;
    row->upper = upper;
    row->impulse = row->rate = row->wanted = row->rate_before = row->wanted_before = 0.0;
    row->stiffness = 0.0;
    row->is_free = row->at_upper = 0;
}

/* Add a row along the axis, whose rate is given, with the bound at which it was in the last step. */
static void axis_row_add(Coupling *coupling, const Joint *joint, dReal h, dReal rate, dReal least,
                         const AxisRow *row)
{
    const int k = coupling->axis_rows++, active = joint->now.active >> 2 * k;
    row_init(&coupling->axis[k], row->velocity - rate, max_real(row->softness / h, least),
             row->lower * h, row->upper * h);
    coupling->axis[k].is_free = !(active & 1);
    coupling->axis[k].at_upper = active >> 1 & 1;
}

/* Return the position that a stop limits. That of a slider is measured between both centres of
 * mass, as its row acts; the joint's own position differs by the error of the rows across. */
static dReal stop_position(const System *system, const Joint *joint, const Coupling *coupling)
{
    if (joint->kind == JOINT_HINGE)
        return joint->now.q;
    const PoseOf a = pose_of(system, coupling->first), b = pose_of(system, coupling->second);
    dReal apart[3];
    rotate4(apart, b.R, joint->attachment.offset);
    for (int i = 0; i < 3; i++)
        apart[i] = a.p[i] - b.p[i] - apart[i];
    return dot3(coupling->axis_first, apart);
}

/* Set the rows along the axis: those of the drive, and the stop if it is reached; k as above. */
static void axis_rows_fill(World *world, const System *system, const Joint *joint,
                           Coupling *coupling, dReal rate, dReal k)
{
    const dReal h = world->step;
    dReal least = MIN_AXIS_SOFTNESS * hrp_mobility_of(system, coupling->first, coupling->second,
                                                      joint->kind == JOINT_HINGE);
    AxisRow rows[3];
    coupling->axis_rows = 0;
    int count = hrp_drive_rows(joint, rows);
    for (int i = 0; i < count; i++)
        axis_row_add(coupling, joint, h, rate, least, &rows[i]);
    dReal q = stop_position(system, joint, coupling);
    if (joint->lower <= joint->upper && (q <= joint->lower || q >= joint->upper)) {
        int is_low = q <= joint->lower, is_locked = joint->lower == joint->upper;
        dReal speed = k * ((is_low ? joint->lower : joint->upper) - q);
        AxisRow stop = {.velocity = closing_share(speed) * speed,
                        .softness = closing_share(speed) * system->cfm,
                        .lower = is_low && !is_locked ? 0.0 : -dInfinity,
                        .upper = is_low || is_locked ? dInfinity : 0.0};
        axis_row_add(coupling, joint, h, rate, least, &stop);
    }
}

void hrp_couplings_fill(World *world, System *system)
{
    Coupling *coupling = system->couplings;
    const dReal k = system->erp / world->step;
    nodes_update(world, system);
    for (int i = 0; i < world->count; coupling += world->bodies[i++]->loops)
        for (int j = 0; j < world->bodies[i]->joints; j++, coupling++) {
            const Joint *joint = &world->bodies[i]->joint[j];
            if (world->bodies[i]->asleep)
                continue;
            const dReal rate = tree_joint_fill(system, coupling, joint, k);
            if (joint->kind != JOINT_FIXED)
                axis_rows_fill(world, system, joint, coupling, rate, k);
        }
    coupling = system->couplings;
    for (int i = 0; i < world->count; i++) {
        coupling += world->bodies[i]->joints;
        for (int l = 0; l < world->bodies[i]->loops; l++)
            coupling_fill(system, coupling++, &world->bodies[i]->loop[l].attachment, world->step);
    }
    for (int i = 0; i < world->body_joint_count; i++)
        coupling_fill(system, coupling++, &world->body_joints[i].loop.attachment, world->step);
}

Touch *hrp_touch_append(System *system)
{
    if (!hrp_array_reserve(&system->touches, &system->touch_capacity, system->touch_count + 1,
                           sizeof(Touch)))
        return NULL;
    return &system->touches[system->touch_count++];
}

/* Return the speed at which a contact is to separate, as ODE computes it. A point that does not
 * touch yet may approach, and one that hardly does settles, so that rounding does not part it
 * again. */
static dReal separation(const System *system, const dContact *contact, dReal parting, dReal h)
{
    const dSurfaceParameters *surface = &contact->surface;
    const dReal settled = min_real(SETTLED, system->surface_layer);
    const int is_spring = surface->mode & dContactSoftERP;
    if (contact->geom.depth < 0.0)
        return contact->geom.depth / h;
    if (contact->geom.depth < settled && !is_spring)
        return -SETTLING;
    dReal depth = max_real(contact->geom.depth - system->surface_layer, 0.0);
    dReal speed = is_spring ? surface->soft_erp / h * contact->geom.depth
                            : min_real(system->erp / h * depth, system->max_correcting_velocity);
    if ((surface->mode & dContactBounce) && -parting > surface->bounce_vel)
        speed = max_real(speed, -surface->bounce * parting);
    return speed;
}

/* Whether a contact is so much stiffer than the inertia of a node that rounding errors count. */
static int is_stiff(const System *system, int n, const dReal arm[3], dReal softness)
{
    if (n == WORLD_NODE)
        return 0;
    const Node *node = &system->nodes[n];
    dReal least = min_real(min_real(node->inertia[0], node->inertia[4]), node->inertia[8]);
    return 1.0 / softness > MAX_STIFFNESS * node->mass ||
           dot3(arm, arm) / softness > MAX_STIFFNESS * least;
}

void hrp_touch_fill(World *world, Touch *touch, const dContact *contact, dBodyID a, dBodyID b)
{
    const System *system = world->system;
    dReal arms[2][3] = {{0.0}, {0.0}};
    touch->first = node_of(a ? a : b);
    touch->second = a && b ? node_of(b) : WORLD_NODE;
    for (int i = 0; i < 3; i++) {
        touch->p[i] = contact->geom.pos[i];
        touch->normal[i] = a ? contact->geom.normal[i] : -contact->geom.normal[i];
        touch->surface[i] = contact->surface.motion1 * contact->fdir1[i];
        arms[0][i] = touch->p[i] - system->nodes[touch->first].motion.p[i];
        if (touch->second != WORLD_NODE)
            arms[1][i] = touch->p[i] - system->nodes[touch->second].motion.p[i];
    }
    touch->mobility = hrp_mobility_of(system, touch->first, touch->second, 0);
    touch->rigid = max_real(system->cfm / world->step, MIN_SOFTNESS * touch->mobility);
    dReal softness = touch->rigid;
    if (contact->surface.mode & dContactSoftCFM)
        softness = max_real(contact->surface.soft_cfm / world->step, touch->rigid);
    touch->is_stiff = is_stiff(system, touch->first, arms[0], softness) ||
                      is_stiff(system, touch->second, arms[1], softness);
    hrp_point_row(touch->J_first, touch->J_second, touch->normal, arms[0], arms[1]);
    dReal speed = hrp_velocity_along(system, touch->first, touch->J_first) +
                  hrp_velocity_along(system, touch->second, touch->J_second);
    touch->depth = contact->geom.depth;
    touch->examined = UNEXAMINED;
    touch->jammed_left = touch->right_left = touch->yields = 0;
    touch->correction = separation(system, contact, speed, world->step);
    row_init(&touch->row, touch->correction - speed, softness, 0.0, 0.0);
}

void hrp_force_add(dJointFeedback *feedback, const dReal J[6], dReal force)
{
    for (int i = 0; i < 3; i++) {
        feedback->f1[i] += force * J[i];
        feedback->t1[i] += force * J[3 + i];
    }
}
