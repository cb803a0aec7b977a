/* Along which direction friction acts. */
#include "_core.h"

#include <math.h>

#define STILL 1e-6  /* slower than this has no direction, in [m/s] */
#define BRAKING 10.0 /* what friction of mu = 1 about takes from a speed, in [m/s^2] */

/* Add the velocity that a point of a group would have after the step if nothing held it. */
static void velocity_add(const World *world, dBodyID group, const dReal *at, dReal sign,
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

/* Let friction act along the slip, and across it only as far as a step can turn the slip.
 *
 * ODE bounds friction along two directions by mu times the normal force each. Left alone it
 * lays them along fixed axes of the world: friction is then up to sqrt(2) mu between them,
 * and turns what slides. Coulomb's is mu against the slip, present or about to begin, and
 * nothing across; what sticks has no direction yet and is held in all.
 */
void slip_direct(const World *world, dBodyID a, dBodyID b, dContact *contact)
{
    dReal slip[3] = {0.0, 0.0, 0.0};
    const dReal *normal = contact->geom.normal, *at = contact->geom.pos;
    velocity_add(world, a, at, 1.0, slip);
    velocity_add(world, b, at, -1.0, slip);
    dReal parting = dot3(slip, normal);
    for (int i = 0; i < 3; i++)
        slip[i] -= parting * normal[i];
    dReal speed = sqrt(dot3(slip, slip));
    if (speed < STILL)
        return;
    for (int i = 0; i < 3; i++)
        contact->fdir1[i] = slip[i] / speed;
    contact->surface.mode |= dContactFDir1 | dContactMu2;
    dReal stopped = BRAKING * lesser(contact->surface.mu, 1.0) * world->step;
    contact->surface.mu2 = contact->surface.mu * lesser(1.0, stopped / speed);
}
