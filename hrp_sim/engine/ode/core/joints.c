/* Joints between the groups of a body, and their motors in ODE. */
#include "joints.h"

#include <string.h>

#define THIRD_ROW dParamGroup3

void hrp_to_group_frame(dReal out[3], dBodyID group, const double *in, int is_point)
{
    dReal from[3] = {in[0], in[1], in[2]};
    if (group) {
        const dReal *p = dBodyGetPosition(group);
        for (int i = 0; is_point && i < 3; i++)
            from[i] -= p[i];
        unrotate4(out, dBodyGetRotation(group), from);
    } else {
        memcpy(out, from, sizeof from);
    }
}

static dJointID joint_create(dWorldID world, int kind, dBodyID child, dBodyID parent,
                             const double *anchor, const double *axis)
{
    dJointID joint;
    if (kind == JOINT_HINGE) {
        joint = dJointCreateHinge(world, 0);
        dJointAttach(joint, child, parent);
        dJointSetHingeAnchor(joint, anchor[0], anchor[1], anchor[2]);
        dJointSetHingeAxis(joint, axis[0], axis[1], axis[2]);
    } else if (kind == JOINT_SLIDER) {
        joint = dJointCreateSlider(world, 0);
        dJointAttach(joint, child, parent);
        dJointSetSliderAxis(joint, axis[0], axis[1], axis[2]);
    } else {
        joint = dJointCreateFixed(world, 0);
        dJointAttach(joint, child, parent);
        dJointSetFixed(joint);
    }
    return joint;
}

/* Create the motor of a drive: rows along the joint axis, off until a drive sets them.
 *
 * It is a separate ODE joint, because in ODE a powered hinge exerts infinite forces at its stop.
 * Coulomb friction is a constant third row of zero velocity whose force is bounded.
 */
static dJointID motor_create(dWorldID world, const Joint *joint, dBodyID child, dBodyID parent,
                             const double *axis)
{
    int rows = joint->coulomb_friction > 0.0 ? 3 : 2, is_hinge = joint->kind == JOINT_HINGE;
    dJointID motor = is_hinge ? dJointCreateAMotor(world, 0) : dJointCreateLMotor(world, 0);
    dJointAttach(motor, child, parent);
    (is_hinge ? dJointSetAMotorNumAxes : dJointSetLMotorNumAxes)(motor, rows);
    for (int row = 0; row < rows; row++)
        (is_hinge ? dJointSetAMotorAxis : dJointSetLMotorAxis)(motor, row, 1, axis[0], axis[1],
                                                               axis[2]);
    if (rows == 3) {
        void (*set)(dJointID, int, dReal) = is_hinge ? dJointSetAMotorParam : dJointSetLMotorParam;
        set(motor, THIRD_ROW + dParamVel, 0.0);
        set(motor, THIRD_ROW + dParamCFM, 0.0); /* so that a sticking joint does not creep */
        set(motor, THIRD_ROW + dParamFMax, joint->coulomb_friction);
    }
    return motor;
}

void hrp_attachment_init(Attachment *attachment, int kind, dBodyID first, dBodyID second,
                         const dReal anchor[3], const dReal axis[3])
{
    static const dQuaternion none = {1.0, 0.0, 0.0, 0.0};
    const dBodyID groups[2] = {first, second};
    *attachment = (Attachment){.kind = kind, .first = first, .second = second};
    for (int i = 0; i < 2; i++) {
        hrp_to_group_frame(attachment->anchor[i], groups[i], anchor, 1);
        hrp_to_group_frame(attachment->axis[i], groups[i], axis, 0);
    }
    dQMultiply1(attachment->relative, dBodyGetQuaternion(first),
                second ? dBodyGetQuaternion(second) : none);
    hrp_to_group_frame(attachment->offset, second, dBodyGetPosition(first), 1);
}

/* Describe how a joint holds its groups. The rows of a fixed joint act at a centre of mass, as
 * those of ODE's do. */
static void attach(Joint *joint, dBodyID child, dBodyID parent, const double *anchor,
                   const double *axis)
{
    static const int kinds[] = {
        [JOINT_FIXED] = ATTACH_FIXED, [JOINT_HINGE] = ATTACH_HINGE, [JOINT_SLIDER] = ATTACH_SLIDER};
    const dReal *at =
        joint->kind == JOINT_FIXED ? dBodyGetPosition(parent ? parent : child) : anchor;
    hrp_attachment_init(&joint->attachment, kinds[joint->kind], child, parent, at, axis);
    const dQuaternion backward = {0.0, -joint->axis[0], -joint->axis[1], -joint->axis[2]};
    dQMultiply0(joint->sine, backward, joint->attachment.relative);
}

static void joint_init(Joint *joint, const Flat *flat, int j)
{
    joint->kind = flat_ints(flat, JOINT_KIND)[j];
    joint->link = flat_ints(flat, JOINT_LINK)[j];
    joint->coordinate = flat_ints(flat, JOINT_COORDINATE)[j];
    joint->child = flat_ints(flat, JOINT_CHILD)[j];
    joint->parent = flat_ints(flat, JOINT_PARENT)[j];
    joint->lower = flat_reals(flat, JOINT_LOWER)[j];
    joint->upper = flat_reals(flat, JOINT_UPPER)[j];
    joint->effort_lower = flat_reals(flat, JOINT_EFFORT_LOWER)[j];
    joint->effort_upper = flat_reals(flat, JOINT_EFFORT_UPPER)[j];
    joint->rotor_inertia = flat_reals(flat, JOINT_ROTOR_INERTIA)[j];
    joint->viscous_friction = flat_reals(flat, JOINT_DAMPING)[j];
    joint->coulomb_friction = flat_reals(flat, JOINT_FRICTION)[j];
    joint->stiffness = flat_reals(flat, JOINT_STIFFNESS)[j];
    joint->rest = flat_reals(flat, JOINT_REST)[j];
    joint->watched = flat_ints(flat, LINK_WATCHED)[joint->link];
}

void hrp_joints_create(World *world, Body *body, const Flat *flat)
{
    for (int j = 0; j < body->joints; j++) {
        Joint *joint = &body->joint[j];
        joint_init(joint, flat, j);
        const double *anchor = flat_reals(flat, JOINT_ANCHOR) + 3 * j;
        const double *axis = flat_reals(flat, JOINT_AXIS) + 3 * j;
        dBodyID child = body->group[joint->child];
        dBodyID parent = group_or_world(body, joint->parent);
        hrp_to_group_frame(joint->axis, child, axis, 0);
        hrp_to_group_frame(joint->anchor, child, anchor, 1);
        hrp_to_group_frame(joint->parent_anchor, parent, anchor, 1);
        attach(joint, child, parent, anchor, axis);
        joint->joint = joint_create(world->world, joint->kind, child, parent, anchor, axis);
        if (joint->kind != JOINT_FIXED)
            joint->motor = motor_create(world->world, joint, child, parent, axis);
        if (!world->joint_limits) {
            joint->lower = -dInfinity;
            joint->upper = dInfinity;
        }
        joint->effort_from_force =
            world->solver == SOLVER_QUICK && joint->motor && joint->coulomb_friction == 0.0;
        if (joint->watched)
            dJointSetFeedback(joint->joint, &joint->feedback);
        if (joint->motor && (joint->watched || joint->effort_from_force))
            dJointSetFeedback(joint->motor, &joint->motor_feedback);
    }
}
