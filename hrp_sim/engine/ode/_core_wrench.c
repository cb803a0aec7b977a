/* External forces and torques. */
#include "_core.h"

#include <math.h>

#define MAX_VALUE 1e12 /* of any number of a wrench, in SI units */

/* Check the wrench arrays of a body. Returns 0 and describes the fault if a value is invalid. */
int wrenches_check(const Body *body, Fault *fault)
{
    const double *force = live(body, WRENCH_FORCE), *torque = live(body, WRENCH_TORQUE);
    for (int i = 0; i < 3 * body->links; i++) {
        if (fabs(force[i]) < MAX_VALUE && fabs(torque[i]) < MAX_VALUE) /* false for NaN */
            continue;
        *fault = (Fault){.kind = FAULT_WRENCH, .body = body->id, .index = i / 3};
        return 0;
    }
    return 1;
}

/* Apply the wrenches of all links to their groups for the next step. */
void wrenches_apply(Body *body)
{
    for (int link = 0; link < body->links; link++) {
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

/* Lift the masses without weight. */
void weights_lift(const World *world, Body *body)
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
