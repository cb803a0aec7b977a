/* The state of the world: save, restore, check, and write to the live arrays. */
#include "state.h"
#include "drive.h"
#include "memory.h"

#include <math.h>
#include <string.h>

/* A step that leads beyond these has failed. */
#define MAX_POSITION 1e6   /* [m] */
#define MAX_SPEED 1e5      /* [m/s] */
#define MAX_TURN_RATE 1e5  /* [rad/s] */

#define CLOSED_GEAR 1e-2 /* up to which error a gear counts as closed, in [rad] or [m] */

void hrp_group_mark_moved(dBodyID group)
{
    const dReal *p = dBodyGetPosition(group);
    dBodySetPosition(group, p[0], p[1], p[2]);
}

void hrp_shapes_update(World *world)
{
    for (int i = 0; i < world->awake_count && world->has_moved; i++)
        for (int g = 0; g < world->awake[i]->groups; g++)
            hrp_group_mark_moved(world->awake[i]->group[g]);
    world->has_moved = 0;
}

void hrp_pose_save(const Motion *motion, GroupState *state)
{
    memcpy(state->p, motion->p, sizeof state->p);
    memcpy(state->quaternion, motion->quaternion, sizeof state->quaternion);
    memcpy(state->R, motion->R, sizeof state->R);
}

void hrp_pose_restore(const Motion *motion, const GroupState *state)
{
    memcpy(motion->p, state->p, sizeof state->p);
    memcpy(motion->quaternion, state->quaternion, sizeof state->quaternion);
    memcpy(motion->R, state->R, sizeof state->R);
}

void hrp_group_save(const Motion *motion, GroupState *state)
{
    hrp_pose_save(motion, state);
    memcpy(state->v, motion->v, sizeof state->v);
    memcpy(state->w, motion->w, sizeof state->w);
}

void hrp_group_restore(dBodyID group, const GroupState *state)
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

void hrp_state_save(World *world)
{
    for (int i = 0; i < world->awake_count; i++) {
        Body *body = world->awake[i];
        for (int g = 0; g < body->groups; g++)
            hrp_group_save(&body->motion[g], &body->saved[g]);
        for (int j = 0; j < body->joints; j++)
            body->joint[j].saved = body->joint[j].now;
    }
}

void hrp_state_restore(World *world)
{
    for (int i = 0; i < world->awake_count; i++) {
        Body *body = world->awake[i];
        for (int g = 0; g < body->groups; g++)
            hrp_group_restore(body->group[g], &body->saved[g]);
        for (int j = 0; j < body->joints; j++) {
            body->joint[j].now = body->joint[j].saved;
            hrp_joint_set_stops(&body->joint[j]);
        }
    }
}

void hrp_joints_start(Body *body, const dReal *q)
{
    for (int j = 0; j < body->joints; j++) {
        Joint *joint = &body->joint[j];
        joint->now.active = 0;
        if (joint->coordinate >= 0)
            joint->now.q = q[joint->coordinate];
        hrp_joint_read(body, joint);
        hrp_joint_set_stops(joint);
    }
    hrp_motion_write_at_rest(body);
}

static void body_reset(Body *body)
{
    memset(live(body, WRENCH_FORCE), 0, sizeof(dReal) * 3 * (size_t)body->links);
    memset(live(body, WRENCH_TORQUE), 0, sizeof(dReal) * 3 * (size_t)body->links);
    memset(live(body, MOTION_TRACK_POSITION), 0, sizeof(dReal) * (size_t)body->links);
    for (int g = 0; g < body->groups; g++)
        hrp_group_restore(body->group[g], &body->start[g]);
    hrp_joints_start(body, body->start_q);
}

void hrp_body_record_start(Body *body)
{
    for (int g = 0; g < body->groups; g++)
        hrp_group_save(&body->motion[g], &body->start[g]);
    body_reset(body);
}

void hrp_state_reset(World *world)
{
    world->random = world->seed;
    hrp_memory_reset(world);
    for (int i = 0; i < world->count; i++)
        body_reset(world->bodies[i]);
}

void hrp_tracks_advance(const Body *body, dReal step)
{
    const double *speed = live(body, DRIVE_TRACK_SPEED);
    for (int link = 0; link < body->links; link++)
        live(body, MOTION_TRACK_POSITION)[link] += step * speed[link];
}

static int within(const dReal v[3], dReal bound)
{
    return fabs(v[0]) < bound && fabs(v[1]) < bound && fabs(v[2]) < bound; /* false for NaN */
}

int hrp_state_check(World *world, Fault *fault)
{
    for (int i = 0; i < world->awake_count; i++) {
        const Body *body = world->awake[i];
        for (int g = 0; g < body->groups; g++) {
            const Motion *motion = &body->motion[g];
            const dReal *q = motion->quaternion;
            if (within(motion->p, MAX_POSITION) && within(motion->v, MAX_SPEED) &&
                within(motion->w, MAX_TURN_RATE) &&
                fabs(q[0] * q[0] + dot3(q + 1, q + 1) - 1.0) < 1e-3)
                continue;
            *fault = (Fault){.kind = FAULT_STATE, .body = body->id, .index = g};
            return 0;
        }
    }
    return 1;
}

/* Return the motion of a link's group, or NULL, and the link's offset from it in W. */
static const Motion *link_offset(const Body *body, int link, dReal offset[3])
{
    int group = body->link_group[link];
    if (group < 0)
        return NULL;
    rotate4(offset, body->motion[group].R, body->link_p + 3 * link);
    return &body->motion[group];
}

static void link_velocity(const Motion *group, const dReal offset[3], dReal v[3], dReal w[3])
{
    dReal turning[3];
    cross3(turning, group->w, offset);
    for (int i = 0; i < 3; i++) {
        v[i] = turning[i] + group->v[i];
        w[i] = group->w[i];
    }
}

void hrp_velocities_store(const Body *body)
{
    for (int link = 0; link < body->links; link++) {
        dReal offset[3], *before = body->before + 6 * link;
        const Motion *group = link_offset(body, link, offset);
        if (group)
            link_velocity(group, offset, before, before + 3);
    }
}

/* Write the motion of a link, and store its velocities for the next step. */
static void link_write(const Body *body, int link, dReal rate)
{
    dReal offset[3], v[3], w[3], *before = body->before + 6 * link;
    dReal *p = live(body, MOTION_P) + 3 * link, *R = live(body, MOTION_R) + 9 * link;
    dReal *a = live(body, MOTION_A) + 3 * link, *alpha = live(body, MOTION_ALPHA) + 3 * link;
    const dReal *local = body->link_R + 9 * link;
    const Motion *group = link_offset(body, link, offset);
    if (!group) {
        memcpy(R, local, sizeof(dReal) * 9);
        memcpy(p, body->link_p + 3 * link, sizeof(dReal) * 3);
        return;
    }
    const dReal *R_WG = group->R;
    const int is_turned = local[0] != 1.0 || local[4] != 1.0 || local[8] != 1.0;
    for (int i = 0; i < 3; i++) {
        p[i] = group->p[i] + offset[i];
        for (int k = 0; k < 3; k++)
            R[3 * i + k] = is_turned ? R_WG[4 * i] * local[k] + R_WG[4 * i + 1] * local[3 + k] +
                                           R_WG[4 * i + 2] * local[6 + k]
                                     : R_WG[4 * i + k];
    }
    link_velocity(group, offset, v, w);
    for (int i = 0; i < 3; i++) {
        a[i] = rate * (v[i] - before[i]);
        alpha[i] = rate * (w[i] - before[3 + i]);
    }
    memcpy(live(body, MOTION_V) + 3 * link, v, sizeof v);
    memcpy(live(body, MOTION_W) + 3 * link, w, sizeof w);
    memcpy(before, v, sizeof v);
    memcpy(before + 3, w, sizeof w);
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

/* Report mimic joints where their leaders are. The gears hold them in the middles of steps; at
 * their ends they differ by the curvature of the motion, which grows with its speed. */
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

void hrp_motion_write(const Body *body, dReal step)
{
    for (int link = 0; link < body->links; link++)
        link_write(body, link, 1.0 / step);
    for (int j = 0; j < body->joints; j++)
        joint_write(body, &body->joint[j]);
    gears_write(body);
}

void hrp_motion_write_at_rest(const Body *body)
{
    for (int field = MOTION_A; field <= MOTION_TORQUE; field++)
        memset(live(body, (LiveField)field), 0, sizeof(dReal) * 3 * (size_t)body->links);
    memset(live(body, MOTION_DQ), 0, sizeof(dReal) * (size_t)body->coordinates);
    memset(live(body, MOTION_EFFORT), 0, sizeof(dReal) * (size_t)body->coordinates);
    memcpy(live(body, MOTION_Q), body->start_q, sizeof(dReal) * (size_t)body->coordinates);
    hrp_velocities_store(body);
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

const SavedColumn hrp_saved_columns[SAVED_FIELDS] = {
    [SAVED_P] = {"p", 'd', 1, 3},           [SAVED_QUATERNION] = {"quaternion", 'd', 1, 4},
    [SAVED_R] = {"R", 'd', 1, 9},           [SAVED_V] = {"v", 'd', 1, 3},
    [SAVED_W] = {"w", 'd', 1, 3},           [SAVED_Q] = {"q", 'd', 0, 1},
    [SAVED_DQ] = {"dq", 'd', 0, 1},         [SAVED_TURNS] = {"turns", 'i', 0, 1},
    [SAVED_ACTIVE] = {"active", 'i', 0, 1},
};

/* A new member of these structures must be saved here, too. */
_Static_assert(sizeof(JointState) == 2 * sizeof(dReal) + 2 * sizeof(int), "save new members");
_Static_assert(sizeof(GroupState) == 25 * sizeof(dReal), "save new members");

static double *reals(const Saved *saved, SavedField field, int row)
{
    return (double *)saved->data[field] + row * hrp_saved_columns[field].width;
}

static int *integers(const Saved *saved, SavedField field)
{
    return saved->data[field];
}

int hrp_saved_is_finite(const Body *body, const Saved *saved)
{
    int good = 1;
    for (int field = 0; field < SAVED_FIELDS; field++) {
        const double *values = saved->data[field];
        int rows = hrp_saved_columns[field].per_group ? body->groups : body->joints;
        for (int i = 0;
             hrp_saved_columns[field].type == 'd' && i < rows * hrp_saved_columns[field].width; i++)
            good &= isfinite(values[i]) != 0;
    }
    return good;
}

void hrp_saved_read(const Body *body, const Saved *saved)
{
    for (int g = 0; g < body->groups; g++) {
        const Motion *motion = &body->motion[g];
        memcpy(reals(saved, SAVED_P, g), motion->p, sizeof(dReal) * 3);
        memcpy(reals(saved, SAVED_QUATERNION, g), motion->quaternion, sizeof(dReal) * 4);
        for (int i = 0; i < 3; i++)
            memcpy(reals(saved, SAVED_R, g) + 3 * i, motion->R + 4 * i, sizeof(dReal) * 3);
        memcpy(reals(saved, SAVED_V, g), motion->v, sizeof(dReal) * 3);
        memcpy(reals(saved, SAVED_W, g), motion->w, sizeof(dReal) * 3);
    }
    for (int j = 0; j < body->joints; j++) {
        const JointState *now = &body->joint[j].now;
        *reals(saved, SAVED_Q, j) = now->q;
        *reals(saved, SAVED_DQ, j) = now->dq;
        integers(saved, SAVED_TURNS)[j] = now->turns;
        integers(saved, SAVED_ACTIVE)[j] = now->active;
    }
}

void hrp_saved_write(Body *body, const Saved *saved)
{
    for (int g = 0; g < body->groups; g++) {
        GroupState state;
        memcpy(state.p, reals(saved, SAVED_P, g), sizeof state.p);
        memcpy(state.quaternion, reals(saved, SAVED_QUATERNION, g), sizeof state.quaternion);
        to_matrix12(state.R, reals(saved, SAVED_R, g));
        memcpy(state.v, reals(saved, SAVED_V, g), sizeof state.v);
        memcpy(state.w, reals(saved, SAVED_W, g), sizeof state.w);
        hrp_group_restore(body->group[g], &state);
    }
    for (int j = 0; j < body->joints; j++) {
        body->joint[j].now = (JointState){
            .q = *reals(saved, SAVED_Q, j),
            .dq = *reals(saved, SAVED_DQ, j),
            .turns = integers(saved, SAVED_TURNS)[j],
            .active = integers(saved, SAVED_ACTIVE)[j],
        };
        hrp_joint_set_stops(&body->joint[j]);
    }
    hrp_motion_write_at_rest(body);
}
