/* Output after a step: the motion of links and joints, forces, distances. */
#include "loop.h"

#include <math.h>
#include <string.h>

static void link_read(const Body *body, int i, double step)
{
    const Link *link = &body->link[i];
    LinkMotion *motion = &body->motion[i];
    if (link->group < 0) {
        memcpy(motion->R, link->R, sizeof motion->R);
        memcpy(motion->p, link->p, sizeof motion->p);
        return;
    }
    dBodyID group = body->group[link->group];
    const dReal *R = dBodyGetRotation(group), *w = dBodyGetAngularVel(group);
    double offset[3], v[3];
    rotate(offset, R, link->p);
    cross(v, w, offset);
    for (int k = 0; k < 3; k++) {
        motion->p[k] = dBodyGetPosition(group)[k] + offset[k];
        v[k] += dBodyGetLinearVel(group)[k];
        motion->a[k] = (v[k] - motion->v[k]) / step;
        motion->alpha[k] = (w[k] - motion->w[k]) / step;
        motion->v[k] = v[k];
        motion->w[k] = w[k];
        for (int n = 0; n < 3; n++)
            motion->R[3 * k + n] = R[4 * k] * link->R[n] + R[4 * k + 1] * link->R[3 + n] +
                                   R[4 * k + 2] * link->R[6 + n];
    }
}

/* The wrench on a link with a force sensor, about its origin; ODE reports it about the centre of
 * mass. */
static void wrench_read(const Body *body, const Joint *joint)
{
    LinkMotion *motion = &body->motion[joint->link];
    double arm[3], moment[3];
    for (int i = 0; i < 3; i++) {
        motion->force[i] = joint->feedback.f1[i] + joint->motor_feedback.f1[i];
        motion->torque[i] = joint->feedback.t1[i] + joint->motor_feedback.t1[i];
    }
    rotate(arm, dBodyGetRotation(body->group[joint->child]), body->link[joint->link].p);
    cross(moment, motion->force, arm);
    for (int i = 0; i < 3; i++)
        motion->torque[i] += moment[i];
}

void motion_read(double step)
{
    for (int i = 0; i < scene.bodies; i++) {
        Body *body = &scene.body[i];
        for (int k = 0; k < body->links; k++)
            link_read(body, k, step);
        for (int j = 0; j < body->joints; j++) {
            const Joint *joint = &body->joint[j];
            if (joint->coordinate >= 0) {
                body->q[joint->coordinate] = joint->q;
                body->dq[joint->coordinate] = joint->dq;
                body->effort[joint->coordinate] = joint->drive;
            }
            if (body->link[joint->link].watched)
                wrench_read(body, joint);
        }
    }
}

typedef struct {
    dGeomID ray;
    const double *origin, *direction;
    double nearest;
} Beam;

/* ODE computes distances to meshes in single precision; compute that to the triangle's plane
 * here. */
static double hit_distance(const Beam *beam, dGeomID geom, const dContactGeom *hit)
{
    const Tag *tag = dGeomGetData(geom);
    if (!tag->points)
        return hit->depth;
    const dTriIndex *corner = tag->corners + 3 * hit->side2;
    const double *a = tag->points + 3 * corner[0], *b = tag->points + 3 * corner[1];
    const double *c = tag->points + 3 * corner[2];
    const dReal *p = dGeomGetPosition(geom), *R = dGeomGetRotation(geom);
    double away[3], origin[3], direction[3], ab[3], ac[3], normal[3];
    dSubtractVectors3(away, beam->origin, p);
    dMultiply1_331(origin, R, away);
    dMultiply1_331(direction, R, beam->direction);
    dSubtractVectors3(ab, b, a);
    dSubtractVectors3(ac, c, a);
    dCalcVectorCross3(normal, ab, ac);
    double exact = (dCalcVectorDot3(normal, a) - dCalcVectorDot3(normal, origin)) /
                   dCalcVectorDot3(normal, direction);
    return exact >= 0.0 ? exact : hit->depth;
}

static void ray_near(void *data, dGeomID a, dGeomID b)
{
    Beam *beam = data;
    dContactGeom hit;
    dGeomID other = a == beam->ray ? b : a;
    if (dGeomIsSpace(other)) {
        dSpaceCollide2(beam->ray, other, data, ray_near);
        return;
    }
    if (((const Tag *)dGeomGetData(other))->body == scene.ray_body)
        return;
    /* The ray must not be shortened here: the space still uses its bounding box. */
    if (!dCollide(beam->ray, other, 1, &hit, sizeof hit))
        return;
    double distance = hit_distance(beam, other, &hit);
    if (distance < beam->nearest)
        beam->nearest = distance;
}

void rays_cast(void)
{
    static dGeomID ray;
    if (!ray) {
        ray = dCreateRay(0, scene.ray_reach);
        dGeomRaySetClosestHit(ray, 1);
    }
    for (int n = 0; n < scene.rays; n++) {
        const double *o = scene.ray_origin + 3 * n, *d = scene.ray_direction + 3 * n;
        Beam beam = {ray, o, d, scene.ray_reach};
        dGeomRaySet(ray, o[0], o[1], o[2], d[0], d[1], d[2]);
        dSpaceCollide2(ray, (dGeomID)scene.all, &beam, ray_near);
        dSpaceCollide2(ray, (dGeomID)scene.untouched, &beam, ray_near);
        scene.ray_distance[n] = beam.nearest < scene.ray_reach ? beam.nearest : (double)INFINITY;
    }
}
