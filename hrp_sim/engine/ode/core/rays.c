/* Ray casting: in a tree of the boxes of all shapes, made anew in each call, and in trees of the
 * triangles of meshes, made once. Other shapes are left to ODE's formulas. */
#include "rays.h"
#include "bounds.h"
#include "mesh.h"
#include "state.h"
#include "tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FEW_RAYS 8             /* not worth a good tree of shapes */
#define ROUNDING (1.0 + 2e-15) /* of where a ray leaves a box (Ize, 2013) */

/* A ray, and what its tests share. Triangles are seen along the axis on which it advances most,
 * sheared such that the ray is parallel to that axis (Woop, Benthin and Wald, 2013): an edge then has
 * the same side for both triangles at it, so that no ray passes between them. */
typedef struct {
    double origin[3], direction[3], inverse[3];
    int in[3], out[3];    /* indices of the box bounds that the ray enters and leaves by */
    int along, across[2]; /* axes */
    double shear[2];
    double nearest;
} Ray;

/* Set all of a ray but where it starts, from its direction. */
static inline void ray_aim(Ray *ray, double nearest)
{
    const double *d = ray->direction;
    const double x = fabs(d[0]), y = fabs(d[1]), z = fabs(d[2]);
    ray->along = x > y ? x > z ? 0 : 2 : y > z ? 1 : 2;
    for (int i = 0; i < 3; i++) {
        ray->inverse[i] = 1.0 / d[i];
        const int is_backward = ray->inverse[i] < 0.0; /* also for -0.0 */
        ray->in[i] = 2 * i + is_backward;
        ray->out[i] = 2 * i + !is_backward;
    }
    ray->nearest = nearest;
    for (int k = 0; k < 2; k++) {
        ray->across[k] = (ray->along + k + 1) % 3;
        ray->shear[k] = d[ray->across[k]] * ray->inverse[ray->along];
    }
}

/* Set the distances at which a ray enters the boxes of a node, infinity where it does not before its
 * nearest hit (slab method). NaN, in the plane of a face, passes no comparison. A loop that is not
 * unrolled is compiled to vector instructions. */
static inline void boxes_enter(const Ray *ray, const TreeNode *node, double entry[TREE_WIDTH])
{
    const double *o = ray->origin, *inverse = ray->inverse, nearest = ray->nearest;
    const dReal *in_x = node->box[ray->in[0]], *out_x = node->box[ray->out[0]];
    const dReal *in_y = node->box[ray->in[1]], *out_y = node->box[ray->out[1]];
    const dReal *in_z = node->box[ray->in[2]], *out_z = node->box[ray->out[2]];
#pragma GCC unroll 1
    for (int k = 0; k < TREE_WIDTH; k++) {
        double near = 0.0, far = nearest;
        near = max_real(near, (in_x[k] - o[0]) * inverse[0]);
        near = max_real(near, (in_y[k] - o[1]) * inverse[1]);
        near = max_real(near, (in_z[k] - o[2]) * inverse[2]);
        far = min_real(far, (out_x[k] - o[0]) * inverse[0]);
        far = min_real(far, (out_y[k] - o[1]) * inverse[1]);
        far = min_real(far, (out_z[k] - o[2]) * inverse[2]);
        entry[k] = near <= far * ROUNDING ? near : (double)INFINITY;
    }
}

/* A part that a ray has yet to visit. */
typedef struct {
    double near;
    int first, count;
} Waiting;

/* Shorten a ray to its nearest hit with the items of a tree, the nearest boxes first. */
static inline __attribute__((always_inline)) void
tree_cast(const Tree *tree, Ray *ray, void (*hit)(void *of, Ray *ray, int first, int count), void *of)
{
    Waiting stack[TREE_STACK];
    int size = 1;
    stack[0] = (Waiting){0.0, 0, 0};
    while (size > 0) {
        const Waiting part = stack[--size];
        if (part.near > ray->nearest)
            continue;
        if (part.count) {
            hit(of, ray, part.first, part.count);
            continue;
        }
        const TreeNode *node = &tree->nodes[part.first];
        double entry[TREE_WIDTH];
        const int start = size;
        boxes_enter(ray, node, entry);
        for (int k = 0; k < TREE_WIDTH; k++) {
            if (entry[k] == (double)INFINITY)
                continue;
            int at = size++;
            for (; at > start && stack[at - 1].near < entry[k]; at--)
                stack[at] = stack[at - 1];
            stack[at] = (Waiting){entry[k], node->first[k], node->count[k]};
        }
    }
}

/* Set a corner as a ray sees it: across it, and along. */
static inline void corner_see(double seen[3], const Ray *ray, const dReal *corner)
{
    seen[2] = corner[ray->along] - ray->origin[ray->along];
    for (int k = 0; k < 2; k++)
        seen[k] = corner[ray->across[k]] - ray->origin[ray->across[k]] - ray->shear[k] * seen[2];
}

/* Shorten a ray to where it hits triangles of a mesh. A ray in the plane of one passes it. */
static void triangles_hit(void *of, Ray *ray, int first, int count)
{
    const Mesh *mesh = of;
    const dTriIndex *corners = mesh->tree_indices + 3 * first;
    for (int t = 0; t < count; t++, corners += 3) {
        double a[3], b[3], c[3];
        corner_see(a, ray, mesh->vertices + 3 * corners[0]);
        corner_see(b, ray, mesh->vertices + 3 * corners[1]);
        corner_see(c, ray, mesh->vertices + 3 * corners[2]);
        const double u = c[0] * b[1] - c[1] * b[0], v = a[0] * c[1] - a[1] * c[0];
        const double w = b[0] * a[1] - b[1] * a[0], area = u + v + w;
        if ((u < 0.0 || v < 0.0 || w < 0.0) && (u > 0.0 || v > 0.0 || w > 0.0))
            continue;
        const double at = (u * a[2] + v * b[2] + w * c[2]) / area * ray->inverse[ray->along];
        if (at >= 0.0 && at < ray->nearest) /* NaN without area */
            ray->nearest = at;
    }
}

/* Rays of a call, and the shape that ODE has for them. */
typedef struct {
    World *world;
    Rays *rays;
    int is_set; /* whether that shape is the current ray */
} Cast;

static void mesh_hit(Cast *cast, Ray *ray, const RayTarget *target)
{
    Ray local;
    dReal away[3];
    if (!target->mesh->tree.count && !hrp_mesh_tree_create(target->mesh)) {
        cast->rays->complete = 0;
        return;
    }
    for (int i = 0; i < 3; i++)
        away[i] = ray->origin[i] - target->p[i];
    unrotate4(local.origin, target->R, away);
    unrotate4(local.direction, target->R, ray->direction);
    ray_aim(&local, ray->nearest);
    tree_cast(&target->mesh->tree, &local, triangles_hit, target->mesh);
    ray->nearest = local.nearest;
}

static void targets_hit(void *of, Ray *ray, int first, int count)
{
    Cast *cast = of;
    World *world = cast->world;
    for (int i = first; i < first + count; i++) {
        const RayTarget *target = &world->ray_targets.targets[world->ray_targets.items[i].number];
        dContactGeom hit;
        if (target->mesh) {
            mesh_hit(cast, ray, target);
            continue;
        }
        const double *o = ray->origin, *d = ray->direction;
        if (!cast->is_set)
            dGeomRaySet(world->ray, o[0], o[1], o[2], d[0], d[1], d[2]);
        cast->is_set = 1;
        dGeomRaySetLength(world->ray, ray->nearest);
        if (dCollide(world->ray, target->geom, 1, &hit, sizeof hit) > 0)
            ray->nearest = min_real(ray->nearest, hit.depth);
    }
}

/* Make room for all shapes. Returns 0 when memory is short. */
static int targets_reserve(World *world)
{
    RayTargets *all = &world->ray_targets;
    int count = 0, capacity = all->capacity; /* of both */
    for (int i = 0; i < world->count; i++)
        count += world->bodies[i]->moving.count + world->bodies[i]->fixed.count;
    return hrp_array_reserve(&all->targets, &capacity, count, sizeof(RayTarget)) &&
           hrp_array_reserve(&all->items, &all->capacity, count, sizeof(TreeItem));
}

static void targets_append(RayTargets *all, const GeomSet *set, int ignored_link)
{
    for (int i = 0; i < set->count; i++) {
        const dGeomID geom = set->items[i].geom;
        if (set->items[i].link == ignored_link)
            continue;
        TreeItem *item = &all->items[all->count];
        dGeomGetAABB(geom, item->box);
        for (int k = 0; k < 6; k++)
            item->box[k] += k % 2 ? BOUND_MARGIN : -BOUND_MARGIN;
        item->number = all->count;
        all->targets[all->count++] = (RayTarget){geom, dGeomGetData(geom), dGeomGetPosition(geom),
                                                 dGeomGetRotation(geom)};
    }
}

/* List what rays may hit. Returns 0 when memory is short. */
static int targets_list(World *world, const Rays *rays)
{
    RayTargets *all = &world->ray_targets;
    all->count = 0;
    if (!targets_reserve(world))
        return 0;
    hrp_shapes_update(world);
    for (int i = 0; i < world->count; i++) {
        const Body *body = world->bodies[i];
        const int link = body->id == rays->ignored.body ? rays->ignored.link : NO_LINK;
        if (link == ALL_LINKS)
            continue;
        targets_append(all, &body->moving, link);
        targets_append(all, &body->fixed, link);
    }
    return hrp_tree_build(&all->tree, all->items, all->count, 1,
                          rays->count < FEW_RAYS ? 0 : TREE_LEVELS);
}

void hrp_rays_cast(World *world, void *arguments)
{
    Rays *rays = arguments;
    rays->complete = targets_list(world, rays);
    for (long n = 0; n < rays->count && rays->complete; n++) {
        Ray ray;
        Cast cast = {.world = world, .rays = rays};
        for (int i = 0; i < 3; i++) {
            ray.origin[i] = rays->origins[3 * n + i];
            ray.direction[i] = rays->directions[3 * n + i];
        }
        ray_aim(&ray, rays->max_distance);
        tree_cast(&world->ray_targets.tree, &ray, targets_hit, &cast);
        rays->distances[n] = ray.nearest < rays->max_distance ? ray.nearest : (double)INFINITY;
    }
}

void hrp_rays_free(World *world)
{
    hrp_tree_free(&world->ray_targets.tree);
    free(world->ray_targets.targets);
    free(world->ray_targets.items);
    world->ray_targets = (RayTargets){.count = 0};
}
