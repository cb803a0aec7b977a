/* Creates joints and their motors. */
#include "loop.h"

#include <math.h>
#include <string.h>

/* Transform a point or a direction from the world to a group's frame. */
void into(double out[3], dBodyID group, const double in[3], int is_point)
{
    double from[3] = {in[0], in[1], in[2]};
    memcpy(out, from, sizeof from);
    if (!group)
        return;
    for (int i = 0; is_point && i < 3; i++)
        from[i] -= dBodyGetPosition(group)[i];
    unrotate(out, dBodyGetRotation(group), from);
}

dJointID hinge(dBodyID a, dBodyID b, const double p[3], const double axis[3])
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

dJointID fixed(dBodyID a, dBodyID b)
{
    dJointID joint = dJointCreateFixed(scene.world, 0);
    dJointAttach(joint, a, b);
    dJointSetFixed(joint);
    return joint;
}

static dJointID motor(const Joint *joint, dBodyID a, dBodyID b, const double axis[3])
{
    int rows = joint->friction > 0.0 ? 3 : 2, is_hinge = joint->kind == HINGE;
    dJointID motor = is_hinge ? dJointCreateAMotor(scene.world, 0)
                              : dJointCreateLMotor(scene.world, 0);
    dJointAttach(motor, a, b);
    (is_hinge ? dJointSetAMotorNumAxes : dJointSetLMotorNumAxes)(motor, rows);
    for (int row = 0; row < rows; row++)
        (is_hinge ? dJointSetAMotorAxis : dJointSetLMotorAxis)(motor, row, 1, axis[0], axis[1],
                                                               axis[2]);
    if (rows == 3) { /* Coulomb friction: zero velocity with bounded force */
        void (*set)(dJointID, int, dReal) = is_hinge ? dJointSetAMotorParam : dJointSetLMotorParam;
        set(motor, dParamGroup3 + dParamVel, 0.0);
        set(motor, dParamGroup3 + dParamCFM, 0.0);
        set(motor, dParamGroup3 + dParamFMax, joint->friction);
    }
    return motor;
}

static void joint_numbers(Joint *joint)
{
    joint->rotor = number();
    joint->viscosity = number();
    joint->friction = number();
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
    int has_gains = joint->kp > 0.0 || joint->kd > 0.0;
    int has_row = has_gains || joint->rotor + joint->viscosity + joint->friction > 0.0;
    int is_watched = body->link[joint->link].watched;
    if (joint->kind != FIXED && has_row && !scene.original)
        joint->motor = motor(joint, a, b, axis);
    joint->effort_from_force = scene.quick && joint->motor && has_gains && joint->friction == 0.0;
    scene.remembers |= joint->effort_from_force;
    if (has_gains && (isfinite(joint->effort_lower) || isfinite(joint->effort_upper)))
        scene.remembers = 1;
    if (is_watched)
        dJointSetFeedback(joint->joint, &joint->feedback);
    if (joint->motor && (is_watched || joint->effort_from_force))
        dJointSetFeedback(joint->motor, &joint->motor_feedback);
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
