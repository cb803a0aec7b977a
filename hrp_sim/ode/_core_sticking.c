/* Contacts that stick, solved as what they are: joints.
 *
 * dWorldStep solves what has no bounds at once, and takes up every row of a contact on its
 * own afterwards, each at the price of a solution. A contact that sticks has no bounds to
 * tell: it is a ball joint whose force pushes and stays within the friction cone. So
 * contacts at rest are supposed to stick; where the force of one shows that it does not, the
 * step is taken again with a proper contact there. The motion is that of the same problem. Of
 * forces that redundant contacts may share in many ways these are the even ones, where
 * dWorldStep's own leave some corners without any and make stacks fall.
 */
#include "_core.h"

#include <math.h>
#include <string.h>

#define AT_REST 0.01       /* [m/s], about what gravity adds in a step */
#define LEAST_SOFTNESS 1e-13 /* of cfm / h beside 1 / mass: what rounding errors leave */
#define LONGEST_WAIT 127
#define MOST_TAKES 3

/* Make room for contacts; returns 0 without memory. What is new is zero. */
static int make_room(World *world, int room)
{
    if (room <= world->touch_capacity)
        return 1;
    size_t old = (size_t)world->touch_capacity, size = (size_t)room;
    Habit *habit = realloc(world->habit, size * sizeof *habit);
    if (habit)
        world->habit = habit;
    Habit *before = realloc(world->habit_before, size * sizeof *before);
    if (before)
        world->habit_before = before;
    Touch *touch = realloc(world->touch, size * sizeof *touch);
    if (touch)
        world->touch = touch;
    if (!habit || !before || !touch)
        return 0;
    memset(habit + old, 0, (size - old) * sizeof *habit);
    world->touch_capacity = room;
    return 1;
}

/* Return the room for contacts of the step after one that had so many. */
static int room_after(int touches)
{
    return 2 * touches + 64;
}

/* Return how many contacts of the last step there was room for. */
static int known_touches(const World *world)
{
    return world->touches < world->touch_room ? world->touches : world->touch_room;
}

/* Make room for as many contacts as there may be; those beyond it are proper contacts. The
 * room depends on the last step alone, not on the steps before, so that runs repeat. */
void sticking_begin(World *world)
{
    int room = room_after(world->touches);
    world->none_sticks = 0;
    world->takes = 0;
    world->touches_before = world->touches;
    if (!world->predict_sticking)
        return;
    world->touch_room = make_room(world, room) ? room : world->touch_capacity;
    if (world->touch_room > 0)
        memcpy(world->habit_before, world->habit, (size_t)world->touch_room * sizeof(Habit));
}

/* Forget the step that could not be taken. */
void sticking_undo(World *world)
{
    world->touches = world->touches_before;
    if (world->touch_room > 0)
        memcpy(world->habit, world->habit_before, (size_t)world->touch_room * sizeof(Habit));
}

/* Forget everything: a run begins. */
void sticking_reset(World *world)
{
    world->touches = 0;
    if (world->habit)
        memset(world->habit, 0, (size_t)world->touch_capacity * sizeof *world->habit);
}

/* Free what contacts are remembered by: the world ends. */
void sticking_free(World *world)
{
    free(world->touch);
    free(world->habit);
    free(world->habit_before);
    world->touch = NULL;
    world->habit = world->habit_before = NULL;
    world->touch_room = world->touch_capacity = world->touches = 0;
}

/* Return what is remembered of the contacts: wait and patience of each, a byte each. */
PyObject *world_habits(World *world, void *Py_UNUSED(closure))
{
    if (!world_ready(world))
        return NULL;
    int known = known_touches(world);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)sizeof(Habit) * world->touches);
    if (!bytes)
        return NULL;
    memset(PyBytes_AS_STRING(bytes), 0, sizeof(Habit) * (size_t)world->touches);
    if (known > 0)
        memcpy(PyBytes_AS_STRING(bytes), world->habit, sizeof(Habit) * (size_t)known);
    return bytes;
}

/* Remember what was returned once. */
int world_set_habits(World *world, PyObject *value, void *Py_UNUSED(closure))
{
    char *bytes;
    Py_ssize_t size;
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "habits cannot be deleted");
        return -1;
    }
    if (PyBytes_AsStringAndSize(value, &bytes, &size) || !world_ready(world))
        return -1;
    if (size > (Py_ssize_t)sizeof(Habit) * MOST_CONTACTS) {
        PyErr_Format(PyExc_ValueError, "habits of more than %d contacts", MOST_CONTACTS);
        return -1;
    }
    int touches = (int)(size / (Py_ssize_t)sizeof(Habit));
    sticking_reset(world);
    if (!make_room(world, room_after(touches))) {
        PyErr_NoMemory();
        return -1;
    }
    world->touches = touches;
    world->touch_room = world->predict_sticking ? room_after(touches) : 0;
    memcpy(world->habit, bytes, sizeof(Habit) * (size_t)touches);
    return 0;
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

/* Whether cfm is large enough beside what a contact's rows have of their own, 1 / mass and more:
 * redundant joints have no solution without it, and ODE's is then anything. */
static int is_soft(const World *world, dBodyID a, dBodyID b)
{
    dReal softness = dWorldGetCFM(world->world) / world->step, lightest = dInfinity;
    dBodyID groups[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        dMass mass;
        if (!groups[i])
            continue;
        dBodyGetMass(groups[i], &mass);
        lightest = fmin(lightest, mass.mass);
    }
    return softness * lightest >= LEAST_SOFTNESS;
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

/* Make the joint of a contact and return it; the normal points into a. */
dJointID contact_add(World *world, dContact *contact, dBodyID a, dBodyID b)
{
    int number = world->touches++;
    Touch *touch = number < world->touch_room ? &world->touch[number] : NULL;
    if (touch) {
        /* The surface of a track runs, and what bounces leaves. */
        int may_stick = contact->surface.mode == dContactApprox1 &&
                        contact->surface.mu > 0.0 && !world->none_sticks &&
                        world->habit[number].wait == 0;
        touch->sticks = may_stick && is_at_rest(contact->geom.pos, a, b) && is_soft(world, a, b);
        touch->friction = contact->surface.mu;
        const dReal into = a ? 1.0 : -1.0;
        for (int i = 0; i < 3; i++)
            touch->normal[i] = into * contact->geom.normal[i];
    }
    if (touch && touch->sticks) {
        dJointID joint = stick(world, &contact->geom, touch->normal, a ? a : b, a ? b : NULL);
        dJointSetFeedback(joint, &touch->feedback);
        return joint;
    }
    if (!(contact->surface.mode & dContactFDir1))
        slip_direct(world, a, b, contact);
    dJointID joint = dJointCreateContact(world->world, world->contact_group, contact);
    dJointAttach(joint, a, b);
    return joint;
}

/* Whether a contact can exert the force that made it stick: within the cone of friction. */
static int holds(const Touch *touch)
{
    const dReal *f = touch->feedback.f1;
    dReal push = dot3(f, touch->normal), most = touch->friction * push;
    if (!(push >= 0.0))
        return 0;
    return isinf(touch->friction) || dot3(f, f) - push * push <= most * most;
}

/* Whether a contact was wrongly supposed to stick in the step that was just taken. It waits
 * the longer before it is again the more often that happens. After a few takes of a step
 * none is supposed to any more, so that they end. */
int sticking_fails(World *world)
{
    int fails = 0, known = known_touches(world);
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
