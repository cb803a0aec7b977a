/* Joints, motor rows and extra joints of a body, as they are made. */
#include "loop.h"

#include <math.h>
#include <string.h>

/* Express a point or a direction of the world in a group's frame. */
static void into(double out[3], dBodyID group, const double in[3], int is_point)
{
    double from[3] = {in[0], in[1], in[2]};
    memcpy(out, from, sizeof from);
    if (!group)
        return;
    for (int i = 0; is_point && i < 3; i++)
        from[i] -= dBodyGetPosition(group)[i];
    unrotate(out, dBodyGetRotation(group), from);
}

static dJointID hinge(dBodyID a, dBodyID b, const double p[3], const double axis[3])
{
    dJointID joint = dJointCreateHinge(scene.world, 0);
    dJointAttach(joint, a, b);
    dJointSetHingeAnchor(joint, p[0], p[1], p[2]);
    dJointSetHingeAxis(joint, axis[0], axis[1], axis[2]);
    return joint;
}

static dJointID slider(dBodyID a, dBodyID b, const double axis[3])
{
    dJointID joint = dJointCreateSlider(scene.world, 0);
    dJointAttach(joint, a, b);
    dJointSetSliderAxis(joint, axis[0], axis[1], axis[2]);
    return joint;
}

static dJointID fixed(dBodyID a, dBodyID b)
{
    dJointID joint = dJointCreateFixed(scene.world, 0);
    dJointAttach(joint, a, b);
    dJointSetFixed(joint);
    return joint;
}

static dJointID motor(int kind, dBodyID a, dBodyID b, const double axis[3])
{
    dJointID joint;
    if (kind == HINGE) {
        joint = dJointCreateAMotor(scene.world, 0);
        dJointAttach(joint, a, b);
        dJointSetAMotorNumAxes(joint, 2);
        for (int row = 0; row < 2; row++)
            dJointSetAMotorAxis(joint, row, 1, axis[0], axis[1], axis[2]);
    } else {
        joint = dJointCreateLMotor(scene.world, 0);
        dJointAttach(joint, a, b);
        dJointSetLMotorNumAxes(joint, 2);
        for (int row = 0; row < 2; row++)
            dJointSetLMotorAxis(joint, row, 1, axis[0], axis[1], axis[2]);
    }
    return joint;
}

static void joint_numbers(Joint *joint)
{
    joint->rotor = number();
    joint->kp = number();
    joint->kd = number();
    joint->q_aim = number();
    joint->dq_aim = number();
    joint->effort = number();
    joint->q = number();
}

static void joint_read(Body *body, Joint *joint)
{
    double p[3], axis[3];
    joint->kind = integer();
    joint->child = integer();
    joint->parent = integer();
    joint->link = integer();
    joint->coordinate = integer();
    numbers(p, 3);
    numbers(axis, 3);
    joint->lower = number();
    joint->upper = number();
    joint->effort_lower = number();
    joint->effort_upper = number();
    joint_numbers(joint);
    if (!scene.joint_limits)
        joint->lower = -dInfinity, joint->upper = dInfinity;
    dBodyID a = body->group[joint->child];
    dBodyID b = joint->parent < 0 ? NULL : body->group[joint->parent];
    into(joint->axis, a, axis, 0);
    into(joint->anchor, a, p, 1);
    into(joint->parent_anchor, b, p, 1);
    if (joint->kind == HINGE) {
        joint->joint = hinge(a, b, p, axis);
        dJointSetHingeParam(joint->joint, dParamLoStop, joint->lower);
        dJointSetHingeParam(joint->joint, dParamHiStop, joint->upper);
    } else if (joint->kind == SLIDER) {
        joint->joint = slider(a, b, axis);
        dJointSetSliderParam(joint->joint, dParamLoStop, joint->lower);
        dJointSetSliderParam(joint->joint, dParamHiStop, joint->upper);
    } else {
        joint->joint = fixed(a, b);
    }
    int has_gains = joint->kp > 0.0 || joint->kd > 0.0, has_row = joint->rotor > 0.0 || has_gains;
    if (has_gains && (isfinite(joint->effort_lower) || isfinite(joint->effort_upper)))
        scene.bounded = 1;
    if (joint->kind != FIXED && has_row && !scene.original)
        joint->motor = motor(joint->kind, a, b, axis);
    if (body->link[joint->link].watched) {
        dJointSetFeedback(joint->joint, &joint->feedback);
        if (joint->motor)
            dJointSetFeedback(joint->motor, &joint->motor_feedback);
    }
}

void joints_create(Body *body)
{
    body->joint = array(body->joints, sizeof *body->joint);
    body->q = array(body->joints, sizeof(double));
    body->dq = array(body->joints, sizeof(double));
    body->effort = array(body->joints, sizeof(double));
    for (int j = 0; j < body->joints; j++)
        joint_read(body, &body->joint[j]);
}

/* Read the point of an extra joint; returns the group that it lies on. */
static dBodyID loop_end(const Body *body, int group, double p[3])
{
    double local[3];
    numbers(local, 3);
    memcpy(p, local, sizeof local);
    if (group < 0)
        return NULL;
    rotate(p, dBodyGetRotation(body->group[group]), local);
    for (int i = 0; i < 3; i++)
        p[i] += dBodyGetPosition(body->group[group])[i];
    return body->group[group];
}

void loop_create(const Body *body)
{
    int kind = integer(), on_a = integer(), on_b = integer();
    double p_a[3], p_b[3], local[3], axis[3], back[3];
    dBodyID a = loop_end(body, on_a, p_a), b = loop_end(body, on_b, p_b), moved = b ? b : a;
    numbers(local, 3);
    memcpy(axis, local, sizeof axis);
    if (a)
        rotate(axis, dBodyGetRotation(a), local);
    const double *p = b ? p_a : p_b, *from = b ? p_b : p_a;
    memcpy(back, dBodyGetPosition(moved), sizeof back);
    dBodySetPosition(moved, back[0] + p[0] - from[0], back[1] + p[1] - from[1],
                     back[2] + p[2] - from[2]);
    dJointID joint;
    if (kind == LOOP_BALL) {
        joint = dJointCreateBall(scene.world, 0);
        dJointAttach(joint, a, b);
        dJointSetBallAnchor(joint, p[0], p[1], p[2]);
    } else if (kind == LOOP_HINGE) {
        hinge(a, b, p, axis);
    } else if (kind == LOOP_PISTON) {
        joint = dJointCreatePiston(scene.world, 0);
        dJointAttach(joint, a, b);
        dJointSetPistonAnchor(joint, p[0], p[1], p[2]);
        dJointSetPistonAxis(joint, axis[0], axis[1], axis[2]);
    } else {
        fixed(a, b);
    }
    dBodySetPosition(moved, back[0], back[1], back[2]);
}
