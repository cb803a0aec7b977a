/* Joint coordinates, and what the drives do to them. */
#include "_core.h"

#include <math.h>

#define TURN 6.283185307179586476925
#define ABSURD 1e12       /* no drive means more than this, in SI units */
#define UNBOUNDED 1e6     /* stands for the missing end of a one-sided effort range */
#define SECOND_ROW dParamGroup2

/* Read q and dq of a joint. A hinge may turn on beyond ODE's +-pi: it has made the turns that are
 * nearest to where its rate led it from where it was, in the time since then. */
void joint_read(const Body *body, Joint *joint, dReal elapsed)
{
    if (joint->kind == JOINT_HINGE) {
        dReal angle = dJointGetHingeAngle(joint->joint);
        joint->now.dq = dJointGetHingeAngleRate(joint->joint);
        dReal expected = joint->now.q + joint->now.dq * elapsed;
        int turns = (int)lround((expected - angle) / TURN);
        joint->now.q = angle + TURN * turns;
        if (turns != joint->now.turns) {
            joint->now.turns = turns;
            joint_set_stops(joint);
        }
    } else if (joint->kind == JOINT_SLIDER) {
        /* ODE's own rate of a slider forgets that its axis turns with the parent. */
        dBodyID child = body->group[joint->child];
        dBodyID parent = joint->parent < 0 ? NULL : body->group[joint->parent];
        dVector3 at, from, rate, parent_rate = {0.0, 0.0, 0.0};
        dReal axis[3], way[3], speed[3];
        const dReal *a = joint->anchor, *b = joint->parent_anchor;
        rotate4(axis, dBodyGetRotation(child), joint->axis);
        dBodyGetRelPointPos(child, a[0], a[1], a[2], at);
        dBodyGetRelPointVel(child, a[0], a[1], a[2], rate);
        memcpy(from, b, 3 * sizeof(dReal));
        if (parent) {
            dBodyGetRelPointPos(parent, b[0], b[1], b[2], from);
            dBodyGetPointVel(parent, at[0], at[1], at[2], parent_rate);
        }
        for (int i = 0; i < 3; i++) {
            way[i] = at[i] - from[i];
            speed[i] = rate[i] - parent_rate[i];
        }
        joint->now.q = dot3(axis, way);
        joint->now.dq = dot3(axis, speed);
    }
}

/* Set the stops for the present turn: ODE compares them with an angle within +-pi. */
void joint_set_stops(Joint *joint)
{
    if (joint->kind == JOINT_HINGE) {
        dJointSetHingeParam(joint->joint, dParamLoStop, joint->lower - TURN * joint->now.turns);
        dJointSetHingeParam(joint->joint, dParamHiStop, joint->upper - TURN * joint->now.turns);
    } else if (joint->kind == JOINT_SLIDER) {
        dJointSetSliderParam(joint->joint, dParamLoStop, joint->lower);
        dJointSetSliderParam(joint->joint, dParamHiStop, joint->upper);
    }
}

static int is_sane(dReal value)
{
    return value > -ABSURD && value < ABSURD; /* false for NaN, too */
}

/* Check what the drives of a body were told. Returns 0 and describes the fault if bad. */
int drives_check(const Body *body, Fault *fault)
{
    for (int field = DRIVE_Q; field <= DRIVE_EFFORT; field++) {
        const double *values = live(body, (LiveField)field);
        dReal lowest = field == DRIVE_KP || field == DRIVE_KD ? 0.0 : -ABSURD;
        for (int i = 0; i < body->coordinates; i++) {
            if (!is_sane(values[i]) || values[i] < lowest) {
                *fault = (Fault){.kind = FAULT_DRIVE, .body = body->id, .index = i};
                return 0;
            }
        }
    }
    for (int i = 0; i < body->links; i++) {
        if (!is_sane(live(body, DRIVE_TRACK_SPEED)[i])) {
            *fault = (Fault){.kind = FAULT_TRACK, .body = body->id, .index = i};
            return 0;
        }
    }
    return 1;
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

/* Push the child along the axis, and the parent back, at the same point. */
static void effort_add(const Body *body, const Joint *joint, dReal effort)
{
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
 * With J the rotor inertia and D = kd + kp h, the effort at the end of the step is
 * tau = base - D v', where base = effort + kp (q_ref - q) + kd dq_ref. The rotor resists
 * with J (v' - v) / h, viscous friction d with d v'. In terms of the constraint
 * v' + force / K = target that is
 *
 *     force = (J/h v + base) - (J/h + d + D) v',   K = J/h + d + D,
 *
 * one row, exact and stable for any gain. Where an effort range has to bound tau but not
 * the rest, these are two rows: the passive one (J/h + d) unbounded, the gains' (D)
 * bounded. A row's bounds are symmetric in ODE, so the middle of the range is added
 * directly. An effort without gains is added directly, too.
 *
 * Bounded rows cost half as much again as the whole step, so they are used only where the
 * range has its say: a step whose effort leaves it is taken again with them.
 */
static void drive_apply(const Body *body, Joint *joint, dReal h)
{
    int i = joint->coordinate;
    dReal kp = live(body, DRIVE_KP)[i], kd = live(body, DRIVE_KD)[i];
    dReal D = kd + kp * h, rotor = joint->rotor_inertia / h;
    dReal passive = rotor + joint->viscous_friction;
    dReal base = live(body, DRIVE_EFFORT)[i] + kd * live(body, DRIVE_DQ)[i];
    if (kp > 0.0)
        base += kp * (live(body, DRIVE_Q)[i] - joint->now.q);
    dReal lower = joint->effort_lower, upper = joint->effort_upper;
    int bounded = isfinite(lower) || isfinite(upper);
    joint->base = base;
    joint->damping = D;
    joint->applied = 0.0;
    if (D > 0.0 && !(bounded && joint->now.limited)) {
        dReal K = passive + D;
        row_set(joint, 0, (rotor * joint->now.dq + base) / K, 1.0 / K, dInfinity);
        row_set(joint, 1, 0.0, 0.0, 0.0);
        return;
    }
    if (passive > 0.0)
        row_set(joint, 0, rotor * joint->now.dq / passive, 1.0 / passive, dInfinity);
    else
        row_set(joint, 0, 0.0, 0.0, 0.0);
    if (D > 0.0) {
        lower = isfinite(lower) ? lower : upper - UNBOUNDED;
        upper = isfinite(upper) ? upper : lower + UNBOUNDED;
        joint->applied = (lower + upper) / 2.0;
        row_set(joint, 1, (base - joint->applied) / D, 1.0 / D, (upper - lower) / 2.0);
    } else {
        joint->applied = clipped(base, lower, upper);
        row_set(joint, 1, 0.0, 0.0, 0.0);
    }
    if (joint->applied != 0.0)
        effort_add(body, joint, joint->applied);
}

/* The acceleration along a slider that its turning alone brings, in [m/s^2].
 *
 * A row means the rate along the axis as the step finds it, and the axis turns in the step: with
 * nothing else at work the rate changes by h times -a . (w x (w x d)), where d leads from the
 * parent's centre of mass to the child's. The rate of a hinge has no such term.
 */
static dReal centrifugal(const Body *body, const Joint *joint)
{
    dReal axis[3], apart[3];
    if (joint->kind != JOINT_SLIDER || joint->parent < 0)
        return 0.0;
    dBodyID child = body->group[joint->child];
    const dReal *w = dBodyGetAngularVel(child), *p = dBodyGetPosition(child);
    const dReal *from = dBodyGetPosition(body->group[joint->parent]);
    rotate4(axis, dBodyGetRotation(child), joint->axis);
    for (int i = 0; i < 3; i++)
        apart[i] = p[i] - from[i];
    return dot3(w, w) * dot3(axis, apart) - dot3(axis, w) * dot3(w, apart);
}

void drives_apply(World *world, Body *body)
{
    for (int j = 0; j < body->joints; j++) {
        if (body->joint[j].kind == JOINT_FIXED)
            continue;
        body->joint[j].drift = world->step * centrifugal(body, &body->joint[j]);
        drive_apply(body, &body->joint[j], world->step);
    }
}

/* Keep the effort that the drive exerted in the step that was just taken.
 *
 * It follows from the rate that the step led to. QUICK leaves errors in rates, which stiff
 * gains would make large: there it follows from the force of the motor's row instead, if the
 * row holds nothing else that has a bound. The rotor's and the friction's share goes off.
 */
void drive_measure(const World *world, const Body *body, Joint *joint)
{
    joint->effort = joint->base - joint->damping * joint->now.dq;
    if (!joint->weighed || joint->damping == 0.0 || joint->now.limited)
        return;
    const dJointFeedback *row = &joint->motor_feedback;
    dReal axis[3];
    rotate4(axis, body->saved[joint->child].R, joint->axis);
    joint->effort = dot3(axis, joint->kind == JOINT_HINGE ? row->t1 : row->f1) +
                    joint->rotor_inertia * (joint->now.dq - joint->saved.dq) / world->step +
                    joint->viscous_friction * joint->now.dq;
}

/* Forget which efforts left their ranges: a new step begins. */
void drives_begin(Body *body)
{
    for (int j = 0; j < body->joints; j++)
        body->joint[j].exceeds = 0;
}

/* Whether a further effort left its range in the step that was just taken. Those that did
 * before in the same step stay bounded in it, so that it is taken again a limited number of
 * times: bounding one joint may well bring another back into its range. */
int drives_exceed(Body *body)
{
    int found = 0;
    for (int j = 0; j < body->joints; j++) {
        Joint *joint = &body->joint[j];
        dReal effort = joint->effort;
        int outside = effort > joint->effort_upper || effort < joint->effort_lower;
        int is_new = outside && joint->damping > 0.0 && !joint->now.limited && !joint->exceeds;
        joint->exceeds |= is_new;
        found |= is_new;
        if (!outside)
            joint->now.limited = 0;
    }
    return found;
}

/* Take every effort that was left free though it has a range for one that left it: the step that
 * was just taken failed, maybe for one of them. Returns whether there is any. */
int drives_doubt(Body *body)
{
    int found = 0;
    for (int j = 0; j < body->joints; j++) {
        Joint *joint = &body->joint[j];
        int has_range = isfinite(joint->effort_lower) || isfinite(joint->effort_upper);
        int is_free = has_range && joint->damping > 0.0 && !joint->now.limited && !joint->exceeds;
        joint->exceeds |= is_free;
        found |= is_free;
    }
    return found;
}

/* Bound the efforts that exceeded: for the same step, taken again. */
void drives_limit(Body *body)
{
    for (int j = 0; j < body->joints; j++)
        body->joint[j].now.limited |= body->joint[j].exceeds;
}
