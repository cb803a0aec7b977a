/* The state of the world: save, restore, check, and write to the live arrays. */
#include "_core.h"

#include <math.h>
#include <string.h>

/* A step that leads beyond these has failed. */
#define MAX_POSITION 1e6   /* [m] */
#define MAX_SPEED 1e5      /* [m/s] */
#define MAX_TURN_RATE 1e5  /* [rad/s] */

#define CLOSED_GEAR 1e-2 /* up to which error a gear counts as closed, in [rad] or [m] */

/* Save pose and velocity of a group. */
void group_save(dBodyID group, GroupState *state)
{
    memcpy(state->p, dBodyGetPosition(group), sizeof state->p);
    memcpy(state->quaternion, dBodyGetQuaternion(group), sizeof state->quaternion);
    memcpy(state->R, dBodyGetRotation(group), sizeof state->R);
    memcpy(state->v, dBodyGetLinearVel(group), sizeof state->v);
    memcpy(state->w, dBodyGetAngularVel(group), sizeof state->w);
}

/* Restore a group to the last bit: ODE's setters would normalise the quaternion again. */
void group_restore(dBodyID group, const GroupState *state)
{
    dBodySetQuaternion(group, state->quaternion);
    memcpy((dReal *)dBodyGetQuaternion(group), state->quaternion, sizeof state->quaternion);
    memcpy((dReal *)dBodyGetRotation(group), state->R, sizeof state->R);
    dBodySetPosition(group, state->p[0], state->p[1], state->p[2]);
    dBodySetLinearVel(group, state->v[0], state->v[1], state->v[2]);
    dBodySetAngularVel(group, state->w[0], state->w[1], state->w[2]);
    dBodySetForce(group, 0.0, 0.0, 0.0);
    dBodySetTorque(group, 0.0, 0.0, 0.0);
}

/* Save the state before a step that may fail. */
void state_save(World *world)
{
    for (int i = 0; i < world->count; i++) {
        Body *body = world->bodies[i];
        for (int g = 0; g < body->groups; g++)
            group_save(body->group[g], &body->saved[g]);
        for (int j = 0; j < body->joints; j++)
            body->joint[j].saved = body->joint[j].now;
    }
}

void state_restore(World *world)
{
    for (int i = 0; i < world->count; i++) {
        Body *body = world->bodies[i];
        for (int g = 0; g < body->groups; g++)
            group_restore(body->group[g], &body->saved[g]);
        for (int j = 0; j < body->joints; j++) {
            body->joint[j].now = body->joint[j].saved;
            joint_set_stops(&body->joint[j]);
        }
    }
}

static void body_reset(Body *body)
{
    memset(live(body, WRENCH_FORCE), 0, sizeof(dReal) * 3 * (size_t)body->links);
    memset(live(body, WRENCH_TORQUE), 0, sizeof(dReal) * 3 * (size_t)body->links);
    memset(live(body, MOTION_TRACK_POSITION), 0, sizeof(dReal) * (size_t)body->links);
    for (int g = 0; g < body->groups; g++)
        group_restore(body->group[g], &body->start[g]);
    for (int j = 0; j < body->joints; j++) {
        Joint *joint = &body->joint[j];
        joint->now.active = 0;
        if (joint->coordinate >= 0)
            joint->now.q = body->start_q[joint->coordinate];
        joint_read(body, joint);
        joint_set_stops(joint);
    }
    motion_write_at_rest(body);
}

/* Record the state of a new body as its initial state, and write it. */
void body_record_start(Body *body)
{
    for (int g = 0; g < body->groups; g++)
        group_save(body->group[g], &body->start[g]);
    body_reset(body);
}

/* Reset every body to its initial state, and the random order of constraints to its seed. */
void state_reset(World *world)
{
    world->random = world->seed;
    memory_reset(world);
    for (int i = 0; i < world->count; i++)
        body_reset(world->bodies[i]);
}

/* Integrate the surface positions of tracks over a step; other links have speed zero. */
void tracks_advance(const Body *body, dReal step)
{
    const double *speed = live(body, DRIVE_TRACK_SPEED);
    for (int link = 0; link < body->links; link++)
        live(body, MOTION_TRACK_POSITION)[link] += step * speed[link];
}

static int within(const dReal v[3], dReal bound)
{
    return fabs(v[0]) < bound && fabs(v[1]) < bound && fabs(v[2]) < bound; /* false for NaN */
}

/* Return 0 and describe the fault if a group's state is not finite or too large. */
int state_check(World *world, Fault *fault)
{
    for (int i = 0; i < world->count; i++) {
        const Body *body = world->bodies[i];
        for (int g = 0; g < body->groups; g++) {
            dBodyID group = body->group[g];
            const dReal *q = dBodyGetQuaternion(group);
            if (within(dBodyGetPosition(group), MAX_POSITION) &&
                within(dBodyGetLinearVel(group), MAX_SPEED) &&
                within(dBodyGetAngularVel(group), MAX_TURN_RATE) &&
                fabs(q[0] * q[0] + dot3(q + 1, q + 1) - 1.0) < 1e-3)
                continue;
            *fault = (Fault){.kind = FAULT_STATE, .body = body->id, .index = g};
            return 0;
        }
    }
    return 1;
}

/* Return the group of a link, or NULL, and the link's offset from it in W. */
static dBodyID link_offset(const Body *body, int link, dReal offset[3])
{
    int group = body->link_group[link];
    if (group < 0)
        return NULL;
    rotate4(offset, dBodyGetRotation(body->group[group]), body->link_p + 3 * link);
    return body->group[group];
}

static void link_velocity(dBodyID group, const dReal offset[3], dReal v[3], dReal w[3])
{
    memcpy(w, dBodyGetAngularVel(group), sizeof(dReal) * 3);
    cross3(v, w, offset);
    for (int i = 0; i < 3; i++)
        v[i] += dBodyGetLinearVel(group)[i];
}

/* Store the links' velocities, from which the next step computes accelerations. */
void velocities_store(Body *body)
{
    for (int link = 0; link < body->links; link++) {
        dReal offset[3], *before = body->before + 6 * link;
        dBodyID group = link_offset(body, link, offset);
        if (group)
            link_velocity(group, offset, before, before + 3);
    }
}

/* Write the motion of a link, and store its velocities for the next step. */
static void link_write(const Body *body, int link, dReal step)
{
    dReal offset[3], *v = live(body, MOTION_V) + 3 * link, *w = live(body, MOTION_W) + 3 * link;
    dReal *p = live(body, MOTION_P) + 3 * link, *R = live(body, MOTION_R) + 9 * link;
    dReal *before = body->before + 6 * link;
    const dReal *local = body->link_R + 9 * link;
    dBodyID group = link_offset(body, link, offset);
    if (!group) {
        memcpy(R, local, sizeof(dReal) * 9);
        memcpy(p, body->link_p + 3 * link, sizeof(dReal) * 3);
        return;
    }
    const dReal *R_WG = dBodyGetRotation(group);
    for (int i = 0; i < 3; i++) {
        p[i] = dBodyGetPosition(group)[i] + offset[i];
        for (int k = 0; k < 3; k++)
            R[3 * i + k] = R_WG[4 * i] * local[k] + R_WG[4 * i + 1] * local[3 + k] +
                           R_WG[4 * i + 2] * local[6 + k];
    }
    link_velocity(group, offset, v, w);
    for (int i = 0; i < 3; i++) {
        live(body, MOTION_A)[3 * link + i] = (v[i] - before[i]) / step;
        live(body, MOTION_ALPHA)[3 * link + i] = (w[i] - before[3 + i]) / step;
        before[i] = v[i];
        before[3 + i] = w[i];
    }
}

/* Write the wrench that the parent applied to a link with a force sensor, about the link's origin.
 *
 * ODE reports the force and torque of each joint on its first body, here the child, about its
 * centre of mass, in the posture in the middle of the step. The motor is a separate joint, and
 * efforts applied directly are in no joint. The wrench turns with the link, as a sensor does; its
 * component along the joint axis does so to the last bit.
 */
static void wrench_write(const Body *body, const Joint *joint)
{
    const dReal *R = body->middle[joint->child].R;
    const dReal *R_now = dBodyGetRotation(body->group[joint->child]);
    const dJointFeedback *a = &joint->feedback, *b = &joint->motor_feedback;
    /* ODE does not update the feedback of a motor whose rows are all off. */
    int is_on = joint->rows[0].is_on || joint->rows[1].is_on || joint->coulomb_friction > 0.0;
    dReal in_world[3], force[3], torque[3], moment[3];
    for (int i = 0; i < 3; i++)
        in_world[i] = a->f1[i] + (is_on ? b->f1[i] : 0.0);
    unrotate4(force, R, in_world);
    for (int i = 0; i < 3; i++)
        in_world[i] = a->t1[i] + (is_on ? b->t1[i] : 0.0);
    unrotate4(torque, R, in_world);
    /* (-p) x force: from the centre of mass to the link origin */
    cross3(moment, force, body->link_p + 3 * joint->link);
    for (int i = 0; i < 3; i++) {
        torque[i] += moment[i];
        if (joint->kind == JOINT_HINGE)
            torque[i] += joint->axis[i] * joint->applied;
        else if (joint->kind == JOINT_SLIDER)
            force[i] += joint->axis[i] * joint->applied;
    }
    rotate4(live(body, MOTION_FORCE) + 3 * joint->link, R_now, force);
    rotate4(live(body, MOTION_TORQUE) + 3 * joint->link, R_now, torque);
}

static void joint_write(const Body *body, const Joint *joint)
{
    int i = joint->coordinate;
    if (i >= 0) {
        live(body, MOTION_Q)[i] = joint->now.q;
        live(body, MOTION_DQ)[i] = joint->now.dq;
        live(body, MOTION_EFFORT)[i] =
            clamp(joint->effort, joint->effort_lower, joint->effort_upper);
    }
    if (joint->watched)
        wrench_write(body, joint);
}

/* Report mimic joints where their leaders are. The gears hold them in the middles of steps; at their
 * ends they differ by the curvature of the motion, which grows with its speed. */
static void gears_write(const Body *body)
{
    double *q = live(body, MOTION_Q), *dq = live(body, MOTION_DQ);
    for (int i = 0; i < body->gears; i++) {
        const Gear *gear = &body->gear[i];
        const int follower = body->joint[gear->follower].coordinate;
        const int leader = body->joint[gear->leader].coordinate;
        const double wanted = gear->ratio * q[leader] + gear->offset;
        if (fabs(wanted - q[follower]) > CLOSED_GEAR)
            continue;
        q[follower] = wanted;
        dq[follower] = gear->ratio * dq[leader];
    }
}

/* Write the motion of a body after a step. */
void motion_write(const Body *body, dReal step)
{
    for (int link = 0; link < body->links; link++)
        link_write(body, link, step);
    for (int j = 0; j < body->joints; j++)
        joint_write(body, &body->joint[j]);
    gears_write(body);
}

/* Write the motion of a body in a state that no step led to: accelerations and forces are zero. */
void motion_write_at_rest(const Body *body)
{
    for (int field = MOTION_A; field <= MOTION_TORQUE; field++)
        memset(live(body, (LiveField)field), 0, sizeof(dReal) * 3 * (size_t)body->links);
    memset(live(body, MOTION_DQ), 0, sizeof(dReal) * (size_t)body->coordinates);
    memset(live(body, MOTION_EFFORT), 0, sizeof(dReal) * (size_t)body->coordinates);
    memcpy(live(body, MOTION_Q), body->start_q, sizeof(dReal) * (size_t)body->coordinates);
    velocities_store((Body *)body);
    for (int link = 0; link < body->links; link++)
        link_write(body, link, 1.0);
    for (int j = 0; j < body->joints; j++) {
        const Joint *joint = &body->joint[j];
        if (joint->coordinate >= 0) {
            live(body, MOTION_Q)[joint->coordinate] = joint->now.q;
            live(body, MOTION_DQ)[joint->coordinate] = joint->now.dq;
        }
    }
    gears_write(body);
}
