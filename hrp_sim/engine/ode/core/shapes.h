/* Collision shapes of a body, and the links that carry them. */
#ifndef HRP_SIM_ODE_SHAPES_H
#define HRP_SIM_ODE_SHAPES_H

#include "articulation.h"
#include "tree.h"

typedef struct Body Body;
typedef struct World World;

/* A box with rounded edges that contains shapes. */
typedef struct {
    dReal p[3], R[9], half[3], radius; /* R: the columns are the box's axes */
    dReal box[6];                      /* along the axes of the frame: lower, upper of each */
} Bound;

typedef struct {
    dGeomID geom;
    const Surface *surface; /* or NULL */
    int link, material, index; /* index: row in the Articulation */
    Bound local, now;          /* in the frame of its group, and in W */
} Geom;

/* The colliding shapes of a link. */
typedef struct {
    int link, count;
    Geom *shapes;
    dBodyID group;     /* NULL if they do not move */
    const dReal *group_p, *group_R; /* ODE's own */
    Bound local, now;  /* of all shapes, in the frame of the group, and in W where it was placed */
    dReal p[3], R[12]; /* of the group, where the bound was placed */
    dReal reach;       /* largest coordinate of a point of the bound in the frame of the group */
    dReal slack;       /* no point is farther from where the bound was placed, in [m] */
    dReal unseen;      /* how far it was placed from there since hrp_bounds_place, in [m] */
    int shapes_placed; /* whether the shapes' own bounds are up to date */
    int is_marked;     /* whether ODE knows where the group is in this step */
    dReal travel;      /* no placed point has moved by more since the body was added, in [m] */
} LinkShapes;

typedef struct {
    Geom *items;
    int count, colliding; /* colliding shapes come first; the others only stop rays */
    LinkShapes *links;
    int link_count;
    dReal box[6]; /* bounding box of the colliding shapes */
} GeomSet;

/* Two links of a body whose shapes may collide. They are apart as long as their travels sum up to
 * less than the limit. Two of their shapes are, as long as the pair's own travel is less than their
 * limit at [i * links[1]->count + j]; that is negative if they touched when last looked at. */
typedef struct {
    LinkShapes *links[2];
    dReal limit, *limits;
    dReal travel;      /* no point of the second has moved by more in the frame of the first, in [m] */
    dReal R[9], p[3];  /* of the second link's bound in that of the first, when last looked at */
} LinkPair;

typedef struct {
    int (*pairs)[2];
    int count, capacity;
} LinkNumbers;

/* Triangles of a mesh that lie close together. */
typedef struct {
    dTriMeshDataID data;           /* NULL until it is collided */
    const dTriIndex *indices;
    int corners;
    dReal box[6];                  /* in the frame of the mesh */
} MeshChunk;

typedef struct {
    dTriMeshDataID data;
    dReal *vertices;
    dTriIndex *indices;
    int corners;                   /* number of indices */
    dReal (*points)[3];            /* the corners, each once, neighbours side by side */
    dReal (*boxes)[6];             /* of each BLOCK_POINTS of them */
    int point_count;
    int vertex_count;
    dReal middle[3], half[3];      /* of its box in its own frame */
    MeshChunk *chunks;             /* made when they are needed, see mesh.c */
    int chunk_count;
    dTriIndex *chunk_indices;      /* the corners in the order of the chunks */
    dGeomID chunk_shape;           /* any chunk, to collide it */
    Tree tree;                     /* of the triangles, made when a ray or a shape comes near */
    dTriIndex *tree_indices;       /* the corners in the order of the tree */
} Mesh;

/* Create the shapes of a body, colliding ones first. Returns 0 when memory is short. */
int hrp_geoms_create(Body *body, const Flat *flat);

/* Place the shapes of static links. */
void hrp_geoms_place(Body *body, const Flat *flat);

/* Destroy the shapes of a body in ODE. */
void hrp_geoms_destroy(Body *body);

/* Free the memory of a body's shapes. They were destroyed in ODE, or ODE must not be called. */
void hrp_geoms_free(Body *body);

/* List the pairs of a body's own links that may collide. Returns 0 when memory is short. */
int hrp_link_pairs_list(const World *world, Body *body);

#endif
