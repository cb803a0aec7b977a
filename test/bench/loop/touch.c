/* Contacts of two shapes. */
#include "loop.h"

#include <math.h>
#include <string.h>

#define SAME_PLACE 1e-6 /* contacts closer than this are merged, in [m] */
#define PARALLEL 1e-8   /* sine of the angle below which edges count as parallel */
#define TILT 1e-7       /* [rad] */
#define FLAT_CONTACTS 3 /* fewest contact points of boxes that lie flat on each other */
#define MIN_DEPTH 1e-6  /* more than the tilt changes the depth, in [m] */
#define MIN_SLIP 1e-6   /* slower slip has no direction, in [m/s] */
#define DECELERATION 10.0 /* approximate deceleration by friction with mu = 1, in [m/s^2] */

static int has_nearly_parallel_edges(dGeomID a, dGeomID b)
{
    const dReal *R = dGeomGetRotation(a), *S = dGeomGetRotation(b);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double cosine = R[i] * S[j] + R[4 + i] * S[4 + j] + R[8 + i] * S[8 + j];
            if (cosine != 0.0 && fabs(cosine) < PARALLEL)
                return 1;
        }
    return 0;
}

/* ODE may miss boxes whose edges are parallel up to rounding; try them again with one tilted. */
int found_between(dGeomID a, dGeomID b, dContactGeom *found)
{
    int count = dCollide(a, b, FOUND, found, sizeof *found);
    if (count >= FLAT_CONTACTS || dGeomGetClass(a) != dBoxClass || dGeomGetClass(b) != dBoxClass ||
        !has_nearly_parallel_edges(a, b))
        return count;
    dContactGeom first[FLAT_CONTACTS];
    memcpy(first, found, sizeof *found * (size_t)count);
    dVector3 size;
    dMatrix3 tilt, R;
    const dReal *p = dGeomGetPosition(b);
    dGeomBoxGetLengths(b, size);
    dRFromAxisAndAngle(tilt, 1.0, 2.0, 3.0, TILT);
    dMultiply0_333(R, dGeomGetRotation(b), tilt);
    dGeomBoxSetLengths(scene.substitute_box, size[0], size[1], size[2]);
    dGeomSetPosition(scene.substitute_box, p[0], p[1], p[2]);
    dGeomSetRotation(scene.substitute_box, R);
    int now = dCollide(a, scene.substitute_box, FOUND, found, sizeof *found);
    for (int i = 0; now > count && i < now; i++)
        if (found[i].depth > MIN_DEPTH)
            return now;
    memcpy(found, first, sizeof *found * (size_t)count);
    return count;
}

/* Select the deepest contact, then repeatedly the one farthest from those selected. */
static int reduce(dContactGeom *c, int count, int wanted)
{
    double gap[FOUND];
    int best = 0, kept = 0;
    for (int i = 0; i < count; i++) {
        gap[i] = dInfinity;
        if (c[i].depth > c[best].depth)
            best = i;
    }
    while (kept < count && kept < wanted && gap[best] >= SAME_PLACE * SAME_PLACE) {
        dContactGeom chosen = c[best];
        c[best] = c[kept];
        c[kept] = chosen;
        gap[best] = gap[kept];
        best = ++kept;
        for (int i = kept; i < count; i++) {
            double d[3];
            for (int k = 0; k < 3; k++)
                d[k] = c[i].pos[k] - chosen.pos[k];
            gap[i] = fmin(gap[i], dot(d, d));
            if (gap[i] > gap[best])
                best = i;
        }
    }
    return kept;
}

/* Drive a track along axis x normal, the normal pointing into its link. */
static int track(const Tag *tag, const Tag *other, int side, dContact *contact)
{
    const Link *link = &scene.body[tag->body].link[tag->link];
    double axis[3], *along = contact->fdir1, sign = side ? -1.0 : 1.0;
    if (dot(link->track_axis, link->track_axis) == 0.0)
        return 0;
    memcpy(axis, link->track_axis, sizeof axis);
    if (tag->group)
        rotate(axis, dBodyGetRotation(tag->group), link->track_axis);
    cross(along, axis, contact->geom.normal);
    double length = sqrt(dot(along, along));
    if (length < 1e-5)
        return 0;
    for (int i = 0; i < 3; i++)
        along[i] *= sign / length;
    contact->surface.mode |= dContactFDir1 | dContactMotion1 | dContactMu2;
    contact->surface.mu2 = 0.5;
    int is_first = tag->group && (side == 0 || !other->group); /* of the joint's two bodies */
    contact->surface.motion1 = is_first ? link->track_speed : -link->track_speed;
    return 1;
}

static void surface(const Tag *x, const Tag *y, dContact *contact)
{
    int pair = x->material * scene.materials + y->material;
    contact->surface.mode = dContactApprox1;
    contact->surface.mu = scene.friction[pair];
    if (scene.restitution[pair] > 0.0) {
        double pull = fabs(dot(scene.gravity, contact->geom.normal));
        contact->surface.mode |= dContactBounce;
        contact->surface.bounce = scene.restitution[pair];
        contact->surface.bounce_vel = fmax(2.0 * pull * scene.step, 1e-4);
    }
}

/* The velocity of a point after the step without any constraints. */
static void velocity_add(dBodyID group, const dReal *at, double sign, double sum[3])
{
    dVector3 v;
    dMass mass;
    if (!group)
        return;
    const dReal *force = dBodyGetForce(group);
    dBodyGetMass(group, &mass);
    dBodyGetPointVel(group, at[0], at[1], at[2], v);
    for (int i = 0; i < 3; i++)
        sum[i] += sign * (v[i] + (scene.gravity[i] + force[i] / mass.mass) * scene.step);
}

/* Align friction with the slip; across it allow only what a step can turn the slip by. */
static void slip(dBodyID a, dBodyID b, dContact *contact)
{
    double v[3] = {0.0, 0.0, 0.0};
    const dReal *normal = contact->geom.normal;
    velocity_add(a, contact->geom.pos, 1.0, v);
    velocity_add(b, contact->geom.pos, -1.0, v);
    double parting = dot(v, normal);
    for (int i = 0; i < 3; i++)
        v[i] -= parting * normal[i];
    double speed = sqrt(dot(v, v));
    if (speed < MIN_SLIP)
        return;
    for (int i = 0; i < 3; i++)
        contact->fdir1[i] = v[i] / speed;
    contact->surface.mode |= dContactFDir1 | dContactMu2;
    double stopped = DECELERATION * fmin(contact->surface.mu, 1.0) * scene.step;
    contact->surface.mu2 = contact->surface.mu * fmin(1.0, stopped / speed);
}

void touch(dGeomID a, dGeomID b)
{
    const Tag *x = dGeomGetData(a), *y = dGeomGetData(b);
    dContactGeom found[FOUND];
    int count = found_between(a, b, found);
    if (count)
        count = reduce(found, count, scene.max_contacts);
    for (int i = 0; i < count; i++) {
        dContact contact = {.geom = found[i]};
        surface(x, y, &contact);
        if (!track(x, y, 0, &contact) && !track(y, x, 1, &contact))
            slip(x->group, y->group, &contact);
        dJointAttach(dJointCreateContact(scene.world, scene.contacts, &contact), x->group,
                     y->group);
    }
}

/* Like the original plugin: every contact that is found, with friction along axes of the world. */
void touch_as_original(dGeomID a, dGeomID b)
{
    static dContact contacts[FOUND_BY_ORIGINAL];
    const Tag *x = dGeomGetData(a), *y = dGeomGetData(b);
    if (x->body == y->body)
        return;
    int count = dCollide(a, b, FOUND_BY_ORIGINAL, &contacts[0].geom, sizeof *contacts);
    for (int i = 0; i < count; i++) {
        surface(x, y, &contacts[i]);
        dJointAttach(dJointCreateContact(scene.world, scene.contacts, &contacts[i]), x->group,
                     y->group);
    }
}
