/* Joint coordinates, and the motor rows that act on them. */
#include "loop.h"

#include <math.h>
#include <string.h>

#define TURN 6.283185307179586476925
#define UNBOUNDED 1e6 /* replaces the missing limit of a one-sided effort range */

/* The rate that rows of motors constrain; ODE's own slider rate neglects that the axis turns. */
static double rate_of(const Body *body, const Joint *joint)
{
    if (joint->kind == HINGE)
        return dJointGetHingeAngleRate(joint->joint);
    if (joint->kind != SLIDER)
        return 0.0;
    if (scene.original)
        return dJointGetSliderPositionRate(joint->joint);
    dBodyID child = body->group[joint->child];
    double axis[3], apart[3], across[3];
    rotate(axis, dBodyGetRotation(child), joint->axis);
    double rate = dot(axis, dBodyGetLinearVel(child));
    if (joint->parent < 0)
        return rate;
    dBodyID parent = body->group[joint->parent];
    for (int i = 0; i < 3; i++)
        apart[i] = dBodyGetPosition(child)[i] - dBodyGetPosition(parent)[i];
    cross(across, apart, axis);
    return rate - dot(axis, dBodyGetLinearVel(parent)) -
           (dot(across, dBodyGetAngularVel(child)) + dot(across, dBodyGetAngularVel(parent))) / 2.0;
}

static void hinge_read(Joint *joint, double elapsed)
{
    double angle = dJointGetHingeAngle(joint->joint), expected = joint->q + joint->dq * elapsed;
    int turns = (int)lround((expected - angle) / TURN);
    joint->q = angle + TURN * turns;
    if (turns != joint->turns) { /* ODE compares the stops with an angle within +-pi */
        joint->turns = turns;
        dJointSetHingeParam(joint->joint, dParamLoStop, joint->lower - TURN * turns);
        dJointSetHingeParam(joint->joint, dParamHiStop, joint->upper - TURN * turns);
    }
}

static void slider_read(const Body *body, Joint *joint)
{
    dBodyID child = body->group[joint->child];
    dVector3 at, from;
    double axis[3];
    const double *a = joint->anchor, *b = joint->parent_anchor;
    rotate(axis, dBodyGetRotation(child), joint->axis);
    dBodyGetRelPointPos(child, a[0], a[1], a[2], at);
    memcpy(from, b, 3 * sizeof(double));
    if (joint->parent >= 0)
        dBodyGetRelPointPos(body->group[joint->parent], b[0], b[1], b[2], from);
    joint->q = dot(axis, at) - dot(axis, from);
}

static void positions_read(Body *body, double elapsed)
{
    for (int j = 0; j < body->joints; j++) {
        Joint *joint = &body->joint[j];
        if (joint->kind == HINGE)
            hinge_read(joint, elapsed);
        else if (joint->kind == SLIDER && scene.original)
            joint->q = dJointGetSliderPosition(joint->joint);
        else if (joint->kind == SLIDER)
            slider_read(body, joint);
    }
}

/* Read q and dq of all joints. */
void joints_read(Body *body)
{
    for (int j = 0; j < body->joints; j++)
        body->joint[j].dq = rate_of(body, &body->joint[j]);
    positions_read(body, 0.0);
}

/* Move a body freely to the middle of the step. */
void body_to_middle(Body *body)
{
    for (int j = 0; j < body->joints; j++)
        body->joint[j].drift = -rate_of(body, &body->joint[j]);
    move_to_middle(body->engine);
    for (int j = 0; j < body->joints; j++)
        body->joint[j].drift += rate_of(body, &body->joint[j]);
    positions_read(body, scene.step / 2.0);
}

/* Move a body freely from the middle of the step to its end. Rates change as in the first half. */
void body_to_end(Body *body)
{
    return_to_middle(body->engine);
    for (int j = 0; j < body->joints; j++) {
        Joint *joint = &body->joint[j];
        if (joint->kind != FIXED)
            joint->dq = rate_of(body, joint) + joint->drift;
    }
    move_to_end(body->engine);
    positions_read(body, scene.step / 2.0);
}

static void row_set(Joint *joint, int row, double target, double softness, double bound)
{
    if (bound == 0.0 && !joint->is_on[row])
        return;
    joint->is_on[row] = bound > 0.0;
    int base = row ? dParamGroup2 : 0;
    void (*set)(dJointID, int, dReal) =
        joint->kind == HINGE ? dJointSetAMotorParam : dJointSetLMotorParam;
    set(joint->motor, base + dParamVel, target - joint->drift);
    set(joint->motor, base + dParamCFM, softness);
    set(joint->motor, base + dParamFMax, bound);
}

static void effort_add(const Body *body, const Joint *joint)
{
    dBodyID a = body->group[joint->child];
    dBodyID b = joint->parent < 0 ? NULL : body->group[joint->parent];
    double f[3];
    rotate(f, dBodyGetRotation(a), joint->axis);
    for (int i = 0; i < 3; i++)
        f[i] *= joint->applied;
    if (joint->kind == HINGE) {
        dBodyAddTorque(a, f[0], f[1], f[2]);
        if (b)
            dBodyAddTorque(b, -f[0], -f[1], -f[2]);
        return;
    }
    dVector3 at;
    dBodyGetRelPointPos(a, joint->anchor[0], joint->anchor[1], joint->anchor[2], at);
    dBodyAddForceAtPos(a, f[0], f[1], f[2], at[0], at[1], at[2]);
    if (b)
        dBodyAddForceAtPos(b, -f[0], -f[1], -f[2], at[0], at[1], at[2]);
}

/* The gains in a separate bounded row; the middle of the range is applied directly. */
static void bounded_rows(Joint *joint, double rotor, double passive, double D)
{
    double lower = joint->effort_lower, upper = joint->effort_upper;
    if (passive > 0.0)
        row_set(joint, 0, rotor * joint->dq / passive, 1.0 / passive, dInfinity);
    else
        row_set(joint, 0, 0.0, 0.0, 0.0);
    lower = isfinite(lower) ? lower : upper - UNBOUNDED;
    upper = isfinite(upper) ? upper : lower + UNBOUNDED;
    joint->applied = (lower + upper) / 2.0;
    row_set(joint, 1, (joint->base - joint->applied) / D, 1.0 / D, (upper - lower) / 2.0);
}

/* Gains, damping and the rotor of a joint in one row, implicit in the velocity at the end of
 * the step: (rotor / h) (dq' - dq) = base - (D + viscosity) dq', D = kd + kp h. q is that in the middle of the step. */
static void drive(const Body *body, Joint *joint)
{
    double D = joint->kd + joint->kp * scene.step, rotor = joint->rotor / scene.step;
    double passive = rotor + joint->viscosity;
    joint->damping = D;
    joint->base = joint->effort + joint->kd * joint->dq_aim;
    if (joint->kp > 0.0)
        joint->base += joint->kp * (joint->q_aim - joint->q);
    joint->applied = 0.0;
    if (D > 0.0 && joint->is_bounded) {
        bounded_rows(joint, rotor, passive, D);
    } else if (D > 0.0) {
        double K = passive + D;
        row_set(joint, 0, (rotor * joint->dq + joint->base) / K, 1.0 / K, dInfinity);
        row_set(joint, 1, 0.0, 0.0, 0.0);
    } else {
        if (passive > 0.0)
            row_set(joint, 0, rotor * joint->dq / passive, 1.0 / passive, dInfinity);
        joint->applied = fmin(fmax(joint->base, joint->effort_lower), joint->effort_upper);
    }
    if (joint->applied != 0.0)
        effort_add(body, joint);
}

void joints_drive(Body *body)
{
    for (int j = 0; j < body->joints; j++) {
        Joint *joint = &body->joint[j];
        if (joint->effort_from_force)
            rotate(joint->axis_then, dBodyGetRotation(body->group[joint->child]), joint->axis);
        if (joint->motor || joint->effort != 0.0)
            drive(body, joint);
    }
}

/* Compute the efforts from the new rates, or with QuickStep from the forces of the motors minus the
 * parts of rotor and damping: its rates have errors that stiff gains would amplify. */
void joints_weigh(Body *body)
{
    for (int j = 0; j < body->joints; j++) {
        Joint *joint = &body->joint[j];
        joint->drive = joint->base - joint->damping * joint->dq;
        if (!joint->effort_from_force || joint->is_bounded)
            continue;
        const dJointFeedback *row = &joint->motor_feedback;
        joint->drive = dot(joint->axis_then, joint->kind == HINGE ? row->t1 : row->f1) +
                       joint->rotor * (joint->dq - joint->dq_saved) / scene.step +
                       joint->viscosity * joint->dq;
    }
}

/* Save the state before a step that may be repeated, or whose efforts are computed from forces. */
void state_save(Body *body)
{
    for (int g = 0; g < body->groups; g++) {
        dBodyID group = body->group[g];
        State *state = &body->saved[g];
        memcpy(state->p, dBodyGetPosition(group), sizeof state->p);
        memcpy(state->quaternion, dBodyGetQuaternion(group), sizeof state->quaternion);
        memcpy(state->R, dBodyGetRotation(group), sizeof state->R);
        memcpy(state->v, dBodyGetLinearVel(group), sizeof state->v);
        memcpy(state->w, dBodyGetAngularVel(group), sizeof state->w);
    }
    for (int j = 0; j < body->joints; j++) {
        body->joint[j].q_saved = body->joint[j].q;
        body->joint[j].dq_saved = body->joint[j].dq;
        body->joint[j].was_bounded = body->joint[j].is_bounded;
        body->joint[j].has_exceeded = 0;
    }
}

/* ODE's own setters would round the quaternion once more. */
void state_restore(Body *body)
{
    for (int g = 0; g < body->groups; g++) {
        dBodyID group = body->group[g];
        const State *state = &body->saved[g];
        dBodySetQuaternion(group, state->quaternion);
        memcpy((dReal *)dBodyGetQuaternion(group), state->quaternion, sizeof state->quaternion);
        memcpy((dReal *)dBodyGetRotation(group), state->R, sizeof state->R);
        dBodySetPosition(group, state->p[0], state->p[1], state->p[2]);
        dBodySetLinearVel(group, state->v[0], state->v[1], state->v[2]);
        dBodySetAngularVel(group, state->w[0], state->w[1], state->w[2]);
        dBodySetForce(group, 0.0, 0.0, 0.0);
        dBodySetTorque(group, 0.0, 0.0, 0.0);
    }
    for (int j = 0; j < body->joints; j++) {
        Joint *joint = &body->joint[j];
        joint->q = joint->q_saved;
        joint->dq = joint->dq_saved;
        joint->is_bounded = joint->was_bounded || joint->has_exceeded;
    }
}

/* Whether the step must be repeated because a further effort left its range. */
int joints_exceed(Body *body)
{
    int found = 0;
    for (int j = 0; j < body->joints; j++) {
        Joint *joint = &body->joint[j];
        int outside = joint->drive > joint->effort_upper || joint->drive < joint->effort_lower;
        if (outside && joint->damping > 0.0 && !joint->is_bounded && !joint->has_exceeded)
            found = joint->has_exceeded = 1;
        if (!outside)
            joint->is_bounded = 0;
    }
    return found;
}
