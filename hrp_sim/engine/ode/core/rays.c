/* Ray casting. */
#include "rays.h"
#include "bounds.h"

#include <math.h>

typedef struct {
    double origin[3], direction[3], inverse[3];
    int entry[3], exit[3]; /* indices of the box bounds that the ray enters and leaves by */
    double nearest;
} Ray;

static void ray_aim(Ray *ray, const double origin[3], const double direction[3])
{
    for (int i = 0; i < 3; i++) {
        ray->origin[i] = origin[i];
        ray->direction[i] = direction[i];
        ray->inverse[i] = 1.0 / direction[i];
        int is_backward = ray->inverse[i] < 0.0; /* also for -0.0 */
        ray->entry[i] = 2 * i + is_backward;
        ray->exit[i] = 2 * i + !is_backward;
    }
}

/* Whether a ray hits a box nearer than its nearest hit so far (slab method).
 *
 * A ray in the plane of a face gives NaN, which passes no comparison.
 */
static inline int ray_hits_box(const Ray *ray, const dReal box[6])
{
    double near = 0.0, far = ray->nearest;
    for (int i = 0; i < 3; i++) {
        double in = (box[ray->entry[i]] - ray->origin[i]) * ray->inverse[i];
        double out = (box[ray->exit[i]] - ray->origin[i]) * ray->inverse[i];
        if (in > near)
            near = in;
        if (out < far)
            far = out;
        if (near > far)
            return 0;
    }
    return 1;
}

/* Return the distance at which a ray hits a shape. For meshes ODE computes in single precision, so
 * the distance to the plane of the triangle that was hit is computed here in double precision. */
static double hit_distance(const Ray *ray, dGeomID geom, const dContactGeom *hit)
{
    const Mesh *mesh = dGeomGetData(geom);
    if (!mesh)
        return hit->depth;
    const dTriIndex *corners = mesh->indices + 3 * hit->side2;
    const dReal *a = mesh->vertices + 3 * corners[0], *b = mesh->vertices + 3 * corners[1];
    const dReal *c = mesh->vertices + 3 * corners[2];
    const dReal *p = dGeomGetPosition(geom), *R = dGeomGetRotation(geom);
    dReal away[3], origin[3], direction[3], ab[3], ac[3], normal[3];
    for (int i = 0; i < 3; i++)
        away[i] = ray->origin[i] - p[i];
    unrotate4(origin, R, away);
    unrotate4(direction, R, ray->direction);
    for (int i = 0; i < 3; i++) {
        ab[i] = b[i] - a[i];
        ac[i] = c[i] - a[i];
    }
    cross3(normal, ab, ac);
    double exact = (dot3(normal, a) - dot3(normal, origin)) / dot3(normal, direction);
    return exact >= 0.0 ? exact : hit->depth; /* NaN where the ray lies in the plane */
}

static void ray_cast_set(World *world, Ray *ray, const GeomSet *set, int ignored_link)
{
    if (!set->count || !ray_hits_box(ray, set->ray_box))
        return;
    for (int i = 0; i < set->count; i++) {
        const Geom *item = &set->items[i];
        dContactGeom hit;
        if (item->link == ignored_link || !ray_hits_box(ray, item->ray_box))
            continue;
        dGeomRaySetLength(world->ray, ray->nearest);
        if (dCollide(world->ray, item->geom, 1, &hit, sizeof hit) > 0)
            ray->nearest = min_real(ray->nearest, hit_distance(ray, item->geom, &hit));
    }
}

void hrp_rays_cast(World *world, void *arguments)
{
    const Rays *rays = arguments;
    for (int i = 0; i < world->count; i++)
        hrp_ray_boxes_update(world->bodies[i]);
    for (long n = 0; n < rays->count; n++) {
        Ray ray = {.nearest = rays->max_distance};
        const double *o = rays->origins + 3 * n, *d = rays->directions + 3 * n;
        ray_aim(&ray, o, d);
        dGeomRaySet(world->ray, o[0], o[1], o[2], d[0], d[1], d[2]);
        for (int i = 0; i < world->count; i++) {
            const Body *body = world->bodies[i];
            int link = body->id == rays->ignored.body ? rays->ignored.link : NO_LINK;
            if (link == ALL_LINKS)
                continue;
            ray_cast_set(world, &ray, &body->moving, link);
            ray_cast_set(world, &ray, &body->fixed, link);
        }
        rays->distances[n] = ray.nearest < rays->max_distance ? ray.nearest : (double)INFINITY;
    }
}
