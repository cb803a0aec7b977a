/* Forces and torques from outside. */
#include "_core.h"

#include <math.h>

#define ABSURD 1e12 /* no wrench means more than this, in SI units */

/* Check what acts on a body. Returns 0 and describes the fault, with the link, if bad. */
int wrenches_check(const Body *body, Fault *fault)
{
    const double *force = live(body, WRENCH_FORCE), *torque = live(body, WRENCH_TORQUE);
    for (int i = 0; i < 3 * body->links; i++) {
        if (fabs(force[i]) < ABSURD && fabs(torque[i]) < ABSURD) /* not for NaN */
            continue;
        *fault = (Fault){.kind = FAULT_WRENCH, .body = body->id, .index = i / 3};
        return 0;
    }
    return 1;
}

/* Add to the groups, for the next step, what acts on their links; each about its origin. */
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
