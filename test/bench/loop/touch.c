/* Contact joints. */
#include "loop.h"

#include <math.h>
#include <string.h>

#define MIN_SLIP 1e-6   /* slower slip has no direction, in [m/s] */
#define DECELERATION 10.0 /* approximate deceleration by friction with mu = 1, in [m/s^2] */

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

void touch(dGeomID a, dGeomID b, const dContactGeom *point)
{
    const Tag *x = dGeomGetData(a), *y = dGeomGetData(b);
    dContact contact = {.geom = *point};
    surface(x, y, &contact);
    if (!track(x, y, 0, &contact) && !track(y, x, 1, &contact))
        slip(x->group, y->group, &contact);
    dJointAttach(dJointCreateContact(scene.world, scene.contacts, &contact), x->group, y->group);
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
