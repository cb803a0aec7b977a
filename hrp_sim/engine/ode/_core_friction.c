/* Contacts as joints of ODE, and the direction of friction there, for `solver: quick`. */
#include "_core.h"

#include <math.h>

#define MIN_SLIP 1e-6     /* slower slip has no direction, in [m/s] */
#define DECELERATION 10.0 /* approximate deceleration by friction with mu = 1, in [m/s^2] */

/* Align friction with the slip, given as the velocity of a relative to b after the step if no
 * constraint acted on them; across it allow only what a step can turn the slip by.
 *
 * ODE bounds friction along two directions by mu times the normal force each. By default they are
 * fixed axes of the world: friction is then up to sqrt(2) mu between them and deflects sliding
 * bodies. Coulomb friction is mu opposite to the slip, present or impending, and zero across it.
 * Without slip there is no direction, and friction acts along both.
 */
static void friction_align(const World *world, dReal slip[3], dContact *contact)
{
    const dReal *normal = contact->geom.normal;
    dReal parting = dot3(slip, normal);
    for (int i = 0; i < 3; i++)
        slip[i] -= parting * normal[i];
    dReal speed = sqrt(dot3(slip, slip));
    if (speed < MIN_SLIP)
        return;
    for (int i = 0; i < 3; i++)
        contact->fdir1[i] = slip[i] / speed;
    contact->surface.mode |= dContactFDir1 | dContactMu2;
    dReal stopped = DECELERATION * min_real(contact->surface.mu, 1.0) * world->step;
    contact->surface.mu2 = contact->surface.mu * min_real(1.0, stopped / speed);
}

/* Add the velocity of a point of a group after the step if no constraint acted on it. */
static void free_velocity_add(const World *world, dBodyID group, const dReal *at, dReal sign,
                         dReal sum[3])
{
    dVector3 velocity, gravity;
    dMass mass;
    if (!group)
        return;
    const dReal *force = dBodyGetForce(group);
    dBodyGetMass(group, &mass);
    dBodyGetPointVel(group, at[0], at[1], at[2], velocity);
    dWorldGetGravity(world->world, gravity);
    for (int i = 0; i < 3; i++)
        sum[i] += sign * (velocity[i] + (gravity[i] + force[i] / mass.mass) * world->step);
}

/* Compute the slip of two groups at a contact if no constraint acted on them in the step. */
static void free_slip(const World *world, dBodyID a, dBodyID b, const dContact *contact, dReal slip[3])
{
    slip[0] = slip[1] = slip[2] = 0.0;
    free_velocity_add(world, a, contact->geom.pos, 1.0, slip);
    free_velocity_add(world, b, contact->geom.pos, -1.0, slip);
}

/* Create the joint of a contact; the normal points into a. */
dJointID contact_joint_create(World *world, dContact *contact, dBodyID a, dBodyID b)
{
    if (!(contact->surface.mode & dContactFDir1)) {
        dReal slip[3];
        free_slip(world, a, b, contact, slip);
        friction_align(world, slip, contact);
    }
    dJointID joint = dJointCreateContact(world->world, world->contact_group, contact);
    dJointAttach(joint, a, b);
    return joint;
}
