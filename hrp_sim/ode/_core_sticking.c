/* Contacts that stick, solved as what they are: joints.
 *
 * dWorldStep solves what has no bounds at once, and takes up every row of a contact on its
 * own afterwards, each at the price of a solution. A contact that sticks has no bounds to
 * tell: it is a ball joint whose force pushes and stays within the friction pyramid. So
 * contacts at rest are supposed to stick; where the force of one shows that it does not, the
 * step is taken again with a proper contact there. The motion is that of the same problem. Of
 * forces that redundant contacts may share in many ways these are the even ones, where
 * dWorldStep's own leave some corners without any and make stacks fall.
 */
#include "_core.h"

#include <math.h>
#include <string.h>

#define AT_REST 0.01       /* [m/s], about what gravity adds in a step */
#define LEAST_SOFTNESS 1e-12 /* of cfm: redundant joints have no solution without any */
#define LONGEST_WAIT 127
#define MOST_TAKES 3

/* Make room for as many contacts as there may be; without it they are proper contacts. */
void sticking_begin(World *world)
{
    int room = 2 * world->touches + 64;
    world->none_sticks = 0;
    world->takes = 0;
    if (!world->predict_sticking || room <= world->touch_room)
        return;
    Habit *habit = realloc(world->habit, (size_t)room * sizeof *habit);
    if (!habit)
        return;
    memset(habit + world->touch_room, 0, (size_t)(room - world->touch_room) * sizeof *habit);
    world->habit = habit;
    Touch *touch = realloc(world->touch, (size_t)room * sizeof *touch);
    if (!touch)
        return;
    world->touch = touch;
    world->touch_room = room;
}

/* Forget everything: a run begins. */
void sticking_reset(World *world)
{
    world->touches = 0;
    if (world->habit)
        memset(world->habit, 0, (size_t)world->touch_room * sizeof *world->habit);
}

static int is_at_rest(const dReal p[3], dBodyID a, dBodyID b)
{
    dVector3 v = {0.0, 0.0, 0.0}, u = {0.0, 0.0, 0.0};
    if (a)
        dBodyGetPointVel(a, p[0], p[1], p[2], v);
    if (b)
        dBodyGetPointVel(b, p[0], p[1], p[2], u);
    for (int i = 0; i < 3; i++)
        v[i] -= u[i];
    return dot3(v, v) < AT_REST * AT_REST;
}

/* Make a ball joint that moves as a sticking contact does: out of the depth at the speed that
 * a contact would, which is what a ball joint corrects if its points are that far apart. */
static dJointID stick(World *world, const dContactGeom *contact, const dReal normal[3], dBodyID a,
                      dBodyID b)
{
    const dReal *p = contact->pos;
    dReal depth = contact->depth - dWorldGetContactSurfaceLayer(world->world);
    dReal rate = dWorldGetERP(world->world) / world->step;
    dReal speed = fmin(rate * depth, dWorldGetContactMaxCorrectingVel(world->world));
    dJointID joint = dJointCreateBall(world->world, world->contact_group);
    dJointAttach(joint, a, b);
    dJointSetBallAnchor(joint, p[0], p[1], p[2]);
    if (speed > 0.0) {
        dReal away[3], local[3];
        for (int i = 0; i < 3; i++)
            away[i] = p[i] + normal[i] * speed / rate;
        into_group(local, b, away, 1);
        dJointSetBallAnchor2(joint, local[0], local[1], local[2]); /* in b's own frame */
    }
    return joint;
}

/* Make the joint of a contact; the normal points into a. */
void contact_add(World *world, dContact *contact, dBodyID a, dBodyID b)
{
    int number = world->touches++;
    Touch *touch = number < world->touch_room ? &world->touch[number] : NULL;
    if (touch) {
        /* The surface of a track runs, and what bounces leaves. */
        int may_stick = contact->surface.mode == dContactApprox1 &&
                        contact->surface.mu > 0.0 && !world->none_sticks &&
                        world->habit[number].wait == 0 &&
                        dWorldGetCFM(world->world) >= LEAST_SOFTNESS;
        touch->sticks = may_stick && is_at_rest(contact->geom.pos, a, b);
        touch->friction = contact->surface.mu;
        const dReal into = a ? 1.0 : -1.0;
        for (int i = 0; i < 3; i++)
            touch->normal[i] = into * contact->geom.normal[i];
    }
    if (touch && touch->sticks) {
        dJointID joint = stick(world, &contact->geom, touch->normal, a ? a : b, a ? b : NULL);
        dJointSetFeedback(joint, &touch->feedback);
    } else {
        dJointID joint = dJointCreateContact(world->world, world->contact_group, contact);
        dJointAttach(joint, a, b);
    }
}

/* Whether a contact can exert the force that made it stick: the pyramid is ODE's own. */
static int holds(const Touch *touch)
{
    const dReal *f = touch->feedback.f1;
    dVector3 n = {touch->normal[0], touch->normal[1], touch->normal[2]}, t1, t2;
    dPlaneSpace(n, t1, t2);
    dReal push = dot3(f, n);
    if (!(push >= 0.0))
        return 0;
    return isinf(touch->friction) || (fabs(dot3(f, t1)) <= touch->friction * push &&
                                      fabs(dot3(f, t2)) <= touch->friction * push);
}

/* Whether a contact was wrongly supposed to stick in the step that was just taken. It waits
 * the longer before it is again the more often that happens. After a few takes of a step
 * none is supposed to any more, so that they end. */
int sticking_fails(World *world)
{
    int fails = 0, known = world->touches < world->touch_room ? world->touches : world->touch_room;
    for (int i = 0; i < known; i++) {
        if (!world->touch[i].sticks || holds(&world->touch[i]))
            continue;
        Habit *habit = &world->habit[i];
        int longer = 2 * habit->patience + 1;
        habit->wait = habit->patience =
            (unsigned char)(longer < LONGEST_WAIT ? longer : LONGEST_WAIT);
        fails = 1;
    }
    world->takes += fails;
    world->none_sticks |= world->takes >= MOST_TAKES;
    return fails;
}

/* Remember how the contacts behaved in the step that is now done. */
void sticking_end(World *world)
{
    for (int i = 0; i < world->touch_room; i++) {
        Habit *habit = &world->habit[i];
        if (i >= world->touches)
            *habit = (Habit){0, 0};
        else if (habit->wait > 0)
            habit->wait--;
        else if (habit->patience > 0)
            habit->patience--;
    }
}
