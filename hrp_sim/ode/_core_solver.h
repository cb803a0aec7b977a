/* The exact solver of `solver: world`: structures that _core_rows.c, _core_order.c, _core_factor.c,
 * _core_newton.c and _core_exact.c share.
 *
 * A step changes the velocities of all groups by dv. With the mass matrix M, the impulses f of all
 * forces and the impulses p of the rows,
 *
 *     M dv = f + sum over rows of J^T p,      J dv + softness p = target,   lower <= p <= upper:
 *
 * the rows and the complementarity problem of dWorldStep, with softness = cfm / h. Rows of joints
 * are unknowns of their own (couplings). Rows with bounds only stiffen the groups they act on while
 * they are free, so that the cost of a contact does not depend on the number of others. The matrix
 * of such a system has a block of 6 x 6 for each group and each coupling, and a tree of groups is
 * factored from the leaves to the root without fill-in.
 */
#ifndef HRP_SIM_ODE_CORE_SOLVER_H
#define HRP_SIM_ODE_CORE_SOLVER_H

#include "_core.h"

#define WORLD_NODE (-1)
#define MAX_AXIS_ROWS 4

/* A group: generalized velocities are (v of its centre of mass, w), in W. */
typedef struct {
    dBodyID group;
    const dReal *p, *R, *quaternion, *v, *w, *force, *torque; /* ODE's own */
    dReal mass, inertia[9];  /* in the group's frame */
    dReal I_W[9], impulse[6]; /* of all forces that are not rows */
} Node;

/* A row with bounds. A fixed row has the impulse at one of them; a free one that of its equation,
 * the wanted one. */
typedef struct {
    dReal target, softness, lower, upper;
    dReal impulse; /* of the current solution */
    dReal rate;    /* J dv of the current solution */
    dReal wanted;  /* impulse without bounds */
    dReal rate_before, wanted_before;
    int is_free, at_upper;
} BoundedRow;

/* A gear as a coupling: its one row acts on both groups of two joints, so on up to four nodes.
 * These are the nodes besides the first, which is the one that the follower moves. */
typedef struct {
    Gear gear;
    Joint *joints[2];       /* the follower and the leader */
    int couplings[2];       /* theirs */
    int count, nodes[3], blocks[3];
    dReal J[3][36];
} GearNodes;

/* The rows of a joint between two nodes. The last row of the matrices is that of the free rows
 * along the axis, which act in parallel as one. */
typedef struct {
    int first, second; /* second may be WORLD_NODE */
    int rows;          /* without bounds */
    int axis_rows;     /* with bounds (possibly infinite), along the axis */
    int is_tree;       /* whether it belongs to the tree of its body; others close loops */
    dReal J_first[36], J_second[36];
    dReal target[6], softness[6], impulse[6], impulse_before[6];
    dReal axis_first[6], axis_second[6];
    BoundedRow axis[MAX_AXIS_ROWS];
    int block_first, block_second; /* indices of its blocks in the matrix */
    GearNodes *gear;   /* NULL if it is none */
} Coupling;

/* Whether a contact that presses hard was examined, see _core_overlap.c. */
enum { UNEXAMINED, PROBED, EXAMINED };

/* A contact: a normal and up to two tangential rows. */
typedef struct {
    int first, second; /* second may be WORLD_NODE */
    int rows;
    int is_stiff;      /* whether its stiffness leaves errors in what else its groups can do */
    int sticks;        /* whether it is predicted to stick: its rows have no bounds */
    int pushed;        /* whether it did in the solution without friction */
    dReal J_first[18], J_second[18];
    dReal friction[2]; /* coefficient along each tangential row */
    BoundedRow row[3];
    int block;         /* index of its block in the matrix, if both are groups */
    dReal correction;  /* speed at which it is to separate */
    dReal pressed;     /* its impulse before it was examined: see _core_overlap.c */
    int examined;
} Touch;

typedef struct {
    int first, end; /* positions */
    int touches, touches_end, couplings, couplings_end; /* ranges of touch_order, coupling_order */
    int excess; /* by what factor its matrix is larger than those that get all iterations */
} Island;

struct System {
    Node *nodes;
    Coupling *couplings;
    Touch *touches;
    GearNodes *gears; /* of the last couplings */
    int node_count, coupling_count, touch_count, gear_count;
    int node_capacity, coupling_capacity, touch_capacity, gear_capacity;
    int crowded;  /* a node of a matrix that would be too large in this step, or -1 */
    int is_short; /* whether memory was short in this step */
    int is_stale; /* whether bodies were added or removed since nodes were listed */
    dReal cfm, erp, max_correcting_velocity, surface_layer;

    /* The structure of the matrix; vertices are nodes and, after them, couplings. */
    int (*pairs)[2]; /* of nodes in contact, for which the structure was made */
    int pair_count, pair_capacity;
    int vertex_capacity, block_capacity, row_capacity;
    int *vertex_at, *position_of;           /* elimination order */
    int *column_start, *row;                /* positions of the blocks below the diagonal */
    int *touch_order, *coupling_order;      /* by island */
    int touch_order_capacity;
    Island *islands;
    int island_count;
    int *island_of;                         /* of each node */
    BoundedRow **bounded;                   /* room for all rows with bounds of an island */
    int bounded_capacity;

    /* Numbers, by position. */
    dReal *pivot, *block, *x;
    dReal *dv, *dv_before; /* by node */
};
typedef struct System System;

/* An island, and all of its rows with bounds. */
typedef struct {
    World *world;
    System *system;
    const Island *island;
    BoundedRow **rows;
    int row_count;
    int passes; /* of overlaps_soften */
} View;

static inline Coupling *coupling_at(const View *view, int i)
{
    return &view->system->couplings[view->system->coupling_order[i]];
}

static inline dReal *dv_of(const System *system, int node)
{
    return system->dv + 6 * (size_t)node;
}

/* _core_rows.c */
int array_reserve(void *array, int *capacity, int count, size_t size);
int system_list(World *world, System *system);
void couplings_fill(World *world, System *system);
dReal velocity_along(const System *system, int node, const dReal J[6]);
dReal mobility_of(const System *system, int first, int second, int turns);
Touch *touch_append(System *system);
void touch_fill(World *world, Touch *touch, dContact *contact, dBodyID a, dBodyID b);

/* _core_gears.c */
void gears_list(World *world, System *system);
void gears_fill(System *system, dReal h);
dReal gear_rate(const System *system, const Coupling *coupling);
void gear_impulse_add(const System *system, const Coupling *coupling);
void gears_read(const System *system, dReal h);

/* _core_order.c */
int structure_update(World *world);

/* _core_factor.c */
void matrix_assemble(System *system, const Island *island);
int matrix_factor(World *world, const Island *island);
void matrix_solve(const System *system, const Island *island, dReal *x);

/* _core_newton.c */
int row_bits(const BoundedRow *row);
int island_solve(World *world, const Island *island);

/* _core_exact.c */
void force_add(dJointFeedback *feedback, const dReal J[6], dReal force);

/* _core_overlap.c */
int overlaps_soften(View *view);

/* _core_search.c */
dReal line_search(const View *view);

static inline dReal dot6(const dReal a[6], const dReal b[6])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5];
}

#endif
