/* Joint coordinates, joint drives and external wrenches: what acts on a body in a step. */
#include "drive.h"

#include <math.h>
#include <string.h>

#define TURN 6.283185307179586476925
#define MAX_VALUE 1e12    /* of any number of a drive or a wrench, in SI units */
#define UNBOUNDED 1e6     /* replaces the missing limit of a one-sided effort range */
#define FAST_TURN 0.2     /* of a hinge in a step, in [rad] */
#define SMALL_TANGENT 0.01 /* up to which a short series of the angle has no error */
#define SECOND_ROW dParamGroup2

/* Compute the axis of a joint where its groups are. */
static void joint_place(const Body *body, Joint *joint)
{
    rotate4(joint->axis_W, body->motion[joint->child].R, joint->axis);
}

/* Return the rate of a joint along its axis. */
static dReal joint_rate(const Body *body, const Joint *joint)
{
    if (joint->kind == JOINT_FIXED)
        return 0.0;
    const Motion *child = &body->motion[joint->child];
    const Motion *parent = joint->parent < 0 ? NULL : &body->motion[joint->parent];
    const dReal *axis = joint->axis_W;
    dReal apart[3], across[3];
    if (joint->kind == JOINT_HINGE)
        return parent ? dot3(axis, child->w) - dot3(axis, parent->w) : dot3(axis, child->w);
    /* The rate that motor rows constrain; ODE's own slider rate neglects that the axis turns. */
    dReal rate = dot3(axis, child->v);
    if (!parent)
        return rate;
    for (int i = 0; i < 3; i++)
        apart[i] = child->p[i] - parent->p[i];
    cross3(across, apart, axis);
    return rate - dot3(axis, parent->v) -
           (dot3(across, child->w) + dot3(across, parent->w)) / 2.0;
}

/* Compute sine and cosine of half the angle of a hinge, which is within +-pi.
 *
 * Where joints hold, the quaternion q = conj(first) second conj(relative) is a turn by minus the
 * angle about the axis in the frame of the first: its real part is the cosine of half the angle,
 * minus its part along the axis the sine. */
static void half_angle(const Body *body, const Joint *joint, dReal *sine, dReal *cosine)
{
    static const dReal none[4] = {1.0, 0.0, 0.0, 0.0};
    const dReal *a = body->motion[joint->child].quaternion, *r = joint->attachment.relative;
    const dReal *b = joint->parent < 0 ? none : body->motion[joint->parent].quaternion;
    const dReal *s = joint->sine;
    const dReal q[4] = {a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3],
                        a[0] * b[1] - a[1] * b[0] - a[2] * b[3] + a[3] * b[2],
                        a[0] * b[2] - a[2] * b[0] - a[3] * b[1] + a[1] * b[3],
                        a[0] * b[3] - a[3] * b[0] - a[1] * b[2] + a[2] * b[1]};
    *cosine = q[0] * r[0] + q[1] * r[1] + q[2] * r[2] + q[3] * r[3];
    *sine = q[0] * s[0] + q[1] * s[1] + q[2] * s[2] + q[3] * s[3];
    if (*cosine < 0.0) { /* then those of -q */
        *sine = -*sine;
        *cosine = -*cosine;
    }
}

/* Read q of a joint. Poses show hinge angles within +-pi: the number of whole turns is the one
 * nearest to the last angle plus the rate times the time that elapsed since. */
static void position_read(const Body *body, Joint *joint, dReal elapsed)
{
    if (joint->kind == JOINT_HINGE) {
        half_angle(body, joint, &joint->half_sine, &joint->half_cosine);
        dReal angle = 2.0 * atan2(joint->half_sine, joint->half_cosine);
        dReal apart = joint->now.q + joint->now.dq * elapsed - angle;
        int turns = fabs(apart) < 0.5 * TURN ? 0 : (int)lround(apart / TURN);
        joint->now.q = angle + TURN * turns;
        if (turns != joint->now.turns) {
            joint->now.turns = turns;
            hrp_joint_set_stops(joint);
        }
    } else if (joint->kind == JOINT_SLIDER) {
        dBodyID child = body->group[joint->child];
        dVector3 at, from;
        dReal axis[3];
        const dReal *a = joint->anchor, *b = joint->parent_anchor;
        rotate4(axis, dBodyGetRotation(child), joint->axis);
        dBodyGetRelPointPos(child, a[0], a[1], a[2], at);
        memcpy(from, b, 3 * sizeof(dReal));
        if (joint->parent >= 0)
            dBodyGetRelPointPos(body->group[joint->parent], b[0], b[1], b[2], from);
        joint->now.q = dot3(axis, at) - dot3(axis, from);
    }
}

/* Read q of a joint some time after it was last read. A hinge that has turned little since needs no
 * arc tangent but a short series of it, which has no error. */
static void position_follow(const Body *body, Joint *joint, dReal elapsed)
{
    if (joint->kind == JOINT_HINGE) {
        dReal sine, cosine;
        half_angle(body, joint, &sine, &cosine);
        const dReal along = cosine * joint->half_cosine + sine * joint->half_sine;
        const dReal t = (sine * joint->half_cosine - cosine * joint->half_sine) / along, tt = t * t;
        if (along > 0.0 && fabs(t) < SMALL_TANGENT) {
            joint->now.q += 2.0 * t * (1.0 - tt * (1.0 / 3.0 - tt * (1.0 / 5.0 - tt * (1.0 / 7.0))));
            return;
        }
    }
    position_read(body, joint, elapsed);
}

void hrp_joints_read_positions(Body *body)
{
    for (int j = 0; j < body->joints; j++)
        position_read(body, &body->joint[j], 0.0);
}

void hrp_joint_read(const Body *body, Joint *joint)
{
    joint_place(body, joint);
    joint->now.dq = joint_rate(body, joint);
    position_read(body, joint, 0.0);
}

void hrp_joint_set_stops(Joint *joint)
{
    if (joint->kind == JOINT_HINGE) {
        dJointSetHingeParam(joint->joint, dParamLoStop, joint->lower - TURN * joint->now.turns);
        dJointSetHingeParam(joint->joint, dParamHiStop, joint->upper - TURN * joint->now.turns);
    } else if (joint->kind == JOINT_SLIDER) {
        dJointSetSliderParam(joint->joint, dParamLoStop, joint->lower);
        dJointSetSliderParam(joint->joint, dParamHiStop, joint->upper);
    }
}

/* Return the sum of the magnitudes of numbers. It is below MAX_VALUE only if all are valid. */
static dReal magnitude(const double *values, int count)
{
    Lanes sum = {0.0, 0.0};
    for (int i = 0; i + 1 < count; i += 2)
        sum += (Lanes){fabs(values[i]), fabs(values[i + 1])};
    return sum[0] + sum[1] + (count % 2 ? fabs(values[count - 1]) : 0.0);
}

/* Return the index of the first number that is too large, not a number or below the lowest, or
 * -1. */
static int first_invalid(const double *values, int count, dReal lowest)
{
    for (int i = 0; i < count; i++)
        if (!(values[i] >= lowest && fabs(values[i]) < MAX_VALUE))
            return i;
    return -1;
}

static int drives_check(Body *body, Fault *fault)
{
    static const int kinds[] = {[DRIVE_TRACK_SPEED] = FAULT_TRACK,
                                [DRIVE_SURFACE_VELOCITY] = FAULT_SURFACE};
    for (int field = DRIVE_Q; field <= DRIVE_SURFACE_VELOCITY; field++) {
        const int of_links = field > DRIVE_EFFORT, is_gain = field == DRIVE_KP || field == DRIVE_KD;
        const int width = field == DRIVE_SURFACE_VELOCITY ? 6 : 1;
        const int count = width * (of_links ? body->links : body->coordinates);
        const double *values = live(body, (LiveField)field);
        const dReal sum = is_gain ? dInfinity : magnitude(values, count);
        if (field == DRIVE_SURFACE_VELOCITY)
            body->conveys = sum > 0.0;
        if (sum < MAX_VALUE)
            continue;
        const int i = first_invalid(values, count, is_gain ? 0.0 : -MAX_VALUE);
        if (i < 0)
            continue;
        *fault = (Fault){.kind = of_links ? kinds[field] : FAULT_DRIVE,
                         .body = body->id,
                         .index = i / width};
        return 0;
    }
    return 1;
}

static int wrenches_check(Body *body, Fault *fault)
{
    const double *force = live(body, WRENCH_FORCE), *torque = live(body, WRENCH_TORQUE);
    const int count = 3 * body->links;
    const dReal sums[2] = {magnitude(force, count), magnitude(torque, count)};
    body->is_pushed = sums[0] > 0.0 || sums[1] > 0.0;
    if (sums[0] < MAX_VALUE && sums[1] < MAX_VALUE)
        return 1;
    for (int i = 0; i < count; i++) {
        if (fabs(force[i]) < MAX_VALUE && fabs(torque[i]) < MAX_VALUE) /* false for NaN */
            continue;
        *fault = (Fault){.kind = FAULT_WRENCH, .body = body->id, .index = i / 3};
        return 0;
    }
    return 1;
}

int hrp_inputs_check(Body *body, Fault *fault)
{
    return drives_check(body, fault) && wrenches_check(body, fault);
}

/* Set a row of a motor: velocity + softness * force = target, |force| <= bound; 0 is off. */
static void row_set(Joint *joint, int number, dReal target, dReal softness, dReal bound)
{
    Row *row = &joint->rows[number];
    const Row before = *row;
    if (bound == 0.0 && !before.is_on)
        return;
    *row = (Row){softness, bound, bound > 0.0};
    int base = number ? SECOND_ROW : 0;
    void (*set)(dJointID, int, dReal) =
        joint->kind == JOINT_HINGE ? dJointSetAMotorParam : dJointSetLMotorParam;
    set(joint->motor, base + dParamVel, target - joint->drift);
    if (!before.is_on || softness != before.softness)
        set(joint->motor, base + dParamCFM, softness);
    if (!before.is_on || bound != before.bound)
        set(joint->motor, base + dParamFMax, bound);
}

/* Apply an effort to the child, and its opposite to the parent at the same point. */
static void effort_apply(const Body *body, Joint *joint, dReal effort)
{
    joint->applied = effort;
    if (effort == 0.0)
        return;
    dBodyID child = body->group[joint->child];
    dBodyID parent = joint->parent < 0 ? NULL : body->group[joint->parent];
    dReal f[3];
    rotate4(f, dBodyGetRotation(child), joint->axis);
    for (int i = 0; i < 3; i++)
        f[i] *= effort;
    if (joint->kind == JOINT_HINGE) {
        dBodyAddTorque(child, f[0], f[1], f[2]);
        if (parent)
            dBodyAddTorque(parent, -f[0], -f[1], -f[2]);
    } else {
        dVector3 at;
        dBodyGetRelPointPos(child, joint->anchor[0], joint->anchor[1], joint->anchor[2], at);
        dBodyAddForceAtPos(child, f[0], f[1], f[2], at[0], at[1], at[2]);
        if (parent)
            dBodyAddForceAtPos(parent, -f[0], -f[1], -f[2], at[0], at[1], at[2]);
    }
}

/* Set up the drive of one joint for the next step of length h.
 *
 * With J the rotor inertia and D = kd + kp h, the effort is tau = base - D v', where base = effort
 * + kp (q_ref - q) + kd dq_ref, and q is the position in the middle of the step. The rotor resists
 * with J (v' - v) / h, viscous friction d with d v'. In terms of the constraint v' + force / K =
 * target that is
 *
 *     force = (J/h v + base) - (J/h + d + D) v',   K = J/h + d + D,
 *
 * one row, exact and stable for any gain. Where an effort range must bound tau but not the passive
 * terms, two rows are used: the passive one (J/h + d) unbounded, the one of the gains (D) bounded.
 * The bounds of an ODE row are symmetric, so the middle of the range is applied directly, as is an
 * effort without gains.
 *
 * A spring k (rest - q) is applied directly: q is that in the middle of the step, which makes it
 * exact to second order; see _with_implicit_springs in flatten.py for stiffer ones.
 *
 * Bounded rows make a step half as slow again, so they are used only where needed: a step in which
 * an effort leaves its range is repeated with them.
 */
static void drive_apply(const Body *body, Joint *joint, dReal h, int is_exact)
{
    int i = joint->coordinate;
    dReal kp = live(body, DRIVE_KP)[i], kd = live(body, DRIVE_KD)[i];
    dReal D = kd + kp * h, rotor = joint->rotor_inertia / h;
    dReal passive = rotor + joint->viscous_friction;
    dReal spring = joint->stiffness * (joint->rest - joint->now.q);
    dReal base = live(body, DRIVE_EFFORT)[i] + kd * live(body, DRIVE_DQ)[i];
    if (kp > 0.0)
        base += kp * (live(body, DRIVE_Q)[i] - joint->now.q);
    dReal lower = joint->effort_lower, upper = joint->effort_upper;
    int bounded = isfinite(lower) || isfinite(upper);
    joint->base = base;
    joint->damping = D;
    joint->passive = passive;
    joint->momentum = rotor * joint->now.dq;
    if (is_exact) {
        effort_apply(body, joint, spring + (D > 0.0 ? 0.0 : clamp(base, lower, upper)));
        return;
    }
    if (D > 0.0 && !(bounded && joint->now.active)) {
        dReal K = passive + D;
        row_set(joint, 0, (joint->momentum + base) / K, 1.0 / K, dInfinity);
        row_set(joint, 1, 0.0, 0.0, 0.0);
        effort_apply(body, joint, spring);
        return;
    }
    if (passive > 0.0)
        row_set(joint, 0, joint->momentum / passive, 1.0 / passive, dInfinity);
    else
        row_set(joint, 0, 0.0, 0.0, 0.0);
    if (D > 0.0) {
        lower = isfinite(lower) ? lower : upper - UNBOUNDED;
        upper = isfinite(upper) ? upper : lower + UNBOUNDED;
        dReal middle = (lower + upper) / 2.0;
        row_set(joint, 1, (base - middle) / D, 1.0 / D, (upper - lower) / 2.0);
        effort_apply(body, joint, spring + middle);
    } else {
        row_set(joint, 1, 0.0, 0.0, 0.0);
        effort_apply(body, joint, spring + clamp(base, lower, upper));
    }
}

void hrp_drives_apply(World *world, Body *body)
{
    for (int j = 0; j < body->joints; j++) {
        if (body->joint[j].kind != JOINT_FIXED)
            drive_apply(body, &body->joint[j], world->step, world->system != NULL);
    }
}

int hrp_drive_rows(const Joint *joint, AxisRow rows[3])
{
    int count = 0;
    dReal D = joint->damping, passive = joint->passive, drift = joint->drift;
    dReal lower = joint->effort_lower, upper = joint->effort_upper;
    int bounded = D > 0.0 && (isfinite(lower) || isfinite(upper));
    dReal K = passive + (bounded ? 0.0 : D), effort = bounded || D == 0.0 ? 0.0 : joint->base;
    if (K > 0.0)
        rows[count++] = (AxisRow){(joint->momentum + effort) / K - drift, 1.0 / K, -dInfinity, dInfinity};
    if (bounded)
        rows[count++] = (AxisRow){joint->base / D - drift, 1.0 / D, lower, upper};
    if (joint->coulomb_friction > 0.0)
        rows[count++] = (AxisRow){0.0, 0.0, -joint->coulomb_friction, joint->coulomb_friction};
    return count;
}

/* Compute the effort that the drive exerted in the last step.
 *
 * It follows from the rate at the end of the step. QUICK leaves errors in rates, which stiff gains
 * would amplify: there it follows from the force of the motor row instead, minus the parts of the
 * rotor and of viscous friction, if the motor has no bounded row.
 */
static void drive_measure(const World *world, const Body *body, Joint *joint)
{
    joint->effort = joint->base - joint->damping * joint->now.dq;
    if (!joint->effort_from_force || joint->damping == 0.0 || joint->now.active)
        return;
    const dJointFeedback *row = &joint->motor_feedback;
    dReal axis[3];
    rotate4(axis, body->middle[joint->child].R, joint->axis);
    joint->effort = dot3(axis, joint->kind == JOINT_HINGE ? row->t1 : row->f1) +
                    joint->rotor_inertia * (joint->now.dq - joint->saved.dq) / world->step +
                    joint->viscous_friction * joint->now.dq;
}

void hrp_joints_begin(Body *body)
{
    for (int j = 0; j < body->joints; j++) {
        joint_place(body, &body->joint[j]);
        body->joint[j].drift = -joint_rate(body, &body->joint[j]);
    }
}

void hrp_joints_drift(Body *body, dReal elapsed)
{
    for (int j = 0; j < body->joints; j++) {
        Joint *joint = &body->joint[j];
        joint_place(body, joint);
        joint->drift += joint_rate(body, joint);
        position_read(body, joint, elapsed);
    }
}

void hrp_joints_accelerate(Body *body)
{
    for (int j = 0; j < body->joints; j++)
        body->joint[j].now.dq = joint_rate(body, &body->joint[j]) + body->joint[j].drift;
}

void hrp_joints_end(const World *world, Body *body, dReal elapsed, int is_last)
{
    for (int j = 0; j < body->joints; j++) {
        Joint *joint = &body->joint[j];
        if (is_last || !(fabs(joint->now.dq * world->step) < FAST_TURN))
            position_follow(body, joint, elapsed);
        else
            joint->now.q += joint->now.dq * elapsed;
        drive_measure(world, body, joint);
    }
}

void hrp_drives_clear_exceeded(Body *body)
{
    for (int j = 0; j < body->joints; j++)
        body->joint[j].exceeded = 0;
}

int hrp_drives_find_exceeded(Body *body)
{
    int found = 0;
    for (int j = 0; j < body->joints; j++) {
        Joint *joint = &body->joint[j];
        dReal effort = joint->effort;
        int outside = effort > joint->effort_upper || effort < joint->effort_lower;
        int is_new = outside && joint->damping > 0.0 && !joint->now.active && !joint->exceeded;
        joint->exceeded |= is_new;
        found |= is_new;
        if (!outside)
            joint->now.active = 0;
    }
    return found;
}

int hrp_drives_mark_unbounded(Body *body)
{
    int found = 0;
    for (int j = 0; j < body->joints; j++) {
        Joint *joint = &body->joint[j];
        int has_range = isfinite(joint->effort_lower) || isfinite(joint->effort_upper);
        int is_free = has_range && joint->damping > 0.0 && !joint->now.active && !joint->exceeded;
        joint->exceeded |= is_free;
        found |= is_free;
    }
    return found;
}

void hrp_drives_bound_exceeded(Body *body)
{
    for (int j = 0; j < body->joints; j++)
        body->joint[j].now.active |= body->joint[j].exceeded;
}

void hrp_wrenches_apply(Body *body)
{
    for (int link = 0; link < body->links && body->is_pushed; link++) {
        const double *f = live(body, WRENCH_FORCE) + 3 * link;
        const double *t = live(body, WRENCH_TORQUE) + 3 * link, *p = body->link_p + 3 * link;
        int group = body->link_group[link];
        if (group < 0)
            continue;
        if (f[0] != 0.0 || f[1] != 0.0 || f[2] != 0.0)
            dBodyAddForceAtRelPos(body->group[group], f[0], f[1], f[2], p[0], p[1], p[2]);
        if (t[0] != 0.0 || t[1] != 0.0 || t[2] != 0.0)
            dBodyAddTorque(body->group[group], t[0], t[1], t[2]);
    }
}

void hrp_weights_lift(const World *world, Body *body)
{
    dVector3 gravity;
    if (!body->lift)
        return;
    dWorldGetGravity(world->world, gravity);
    for (int g = 0; g < body->groups; g++) {
        const dReal *lift = body->lift + 4 * g;
        dReal moment[3], torque[3];
        rotate4(moment, dBodyGetRotation(body->group[g]), lift + 1);
        cross3(torque, gravity, moment);
        dBodyAddForce(body->group[g], -lift[0] * gravity[0], -lift[0] * gravity[1],
                      -lift[0] * gravity[2]);
        dBodyAddTorque(body->group[g], torque[0], torque[1], torque[2]);
    }
}
