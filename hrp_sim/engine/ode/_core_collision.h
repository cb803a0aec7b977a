/* How shapes and links are found to touch: what the files of the collision share. */
#ifndef HRP_SIM_ODE_CORE_COLLISION_H
#define HRP_SIM_ODE_CORE_COLLISION_H

#include "_core.h"

/* _core_bounds.c */
#define BOUND_MARGIN 1e-6 /* above rounding errors of bounds and their distances, in [m] */
static inline int boxes_overlap(const dReal a[6], const dReal b[6])
{
    return a[0] <= b[1] && b[0] <= a[1] && a[2] <= b[3] && b[2] <= a[3] && a[4] <= b[5] &&
           b[4] <= a[5];
}
void box_clear(dReal box[6]);
void box_extend(dReal box[6], const dReal p[3]);
void ray_boxes_update(Body *body);
void bounds_create(Body *body);
void bounds_place(Body *body);
void shapes_place(LinkShapes *link);
dReal bounds_distance(const Bound *a, const Bound *b);

/* _core_patch.c */
#define PATCH_POINTS 2048
#define NO_CLUSTER (-1)
typedef struct {
    dContactGeom at;
    const Geom *a, *b;
    int cluster, is_kept; /* cluster: of points with similar normals, or NO_CLUSTER */
    dReal u, v; /* position in the plane across the normal */
} PatchPoint;

/* The contact points of two links; the normals point into the first. */
typedef struct {
    PatchPoint points[PATCH_POINTS];
    int count;
} Patch;

PatchPoint *patch_reserve(Patch *patch, int count);
PatchPoint *patch_append(Patch *patch, const Geom *a, const Geom *b);
void patch_reduce(Patch *patch, int max);

/* _core_sweep.c */
int sweep_pairs(World *world);
void sweep_free(Sweep *sweep);

/* _core_mesh_blocks.c */
#define BLOCK_POINTS 32
int mesh_blocks_create(Mesh *mesh, int vertices);
void mesh_blocks_free(Mesh *mesh);

/* _core_faces.c */
int face_collide(Patch *patch, const Geom *a, const Geom *b);

/* _core_mesh_pairs.c */
#define MAX_FOUND 512 /* contacts requested: ODE returns the first, not the deepest */
void mesh_chunks_destroy(Mesh *mesh);
void mesh_chunks_free(Mesh *mesh);
int meshes_collide(World *world, Patch *patch, const Geom *a, const Geom *b);

/* _core_boxes.c */
void shapes_collide(World *world, Patch *patch, const Geom *a, const Geom *b);

#endif
