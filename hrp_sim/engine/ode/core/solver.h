/* The problem of a step of the exact solver, and what the files that set it up and solve it share.
 *
 * A step changes the velocities of all groups by dv. With the mass matrix M, the impulses f of all
 * forces and the impulses p of the rows,
 *
 *     M dv = f + sum over rows of J^T p,      J dv + softness p = target,   lower <= p <= upper:
 *
 * the rows and the complementarity problem of dWorldStep, with softness = cfm / h. Rows of joints
 * are couplings. Those of a body's tree are no unknowns: they hold exactly, as one group follows the
 * other (rows.c, factor.c). Those that close loops, join bodies or are gears are unknowns of their
 * own. Rows with bounds only stiffen the groups they act on while they are free, so that the cost
 * of a contact does not depend on the number of others. The matrix of such a system has a block of
 * 6 x 6 for each group and each such coupling, and a tree of groups is factored from the leaves to
 * the root without fill-in.
 *
 * Friction has no rows of this kind: the normal impulses of a contact patch bound it (friction.h).
 * materials.c chooses its coefficient, patch.c joins contacts to patches. */
#ifndef HRP_SIM_ODE_SOLVER_H
#define HRP_SIM_ODE_SOLVER_H

#include "world.h"

#define WORLD_NODE (-1)
#define MAX_PATCH_POINTS 128 /* of the friction of a patch */
#define MAX_AXIS_ROWS 4

typedef Lanes Pair; /* a row of 6 is three of them */

/* A group: generalized velocities are (v of its centre of mass, w), in W. */
typedef struct {
    Body *body;
    Motion motion;
    dReal mass, inertia[9];  /* in the group's frame */
    dReal mobility[2];       /* as if nothing held it: to move, in [1/kg], and to turn */
    dReal velocity[6];       /* before the step, as the joints of trees let it be: see rows.c */
    dReal I_W[9], impulse[6]; /* of all forces that are not rows, and of what velocity lacks */
} Node;

/* A row with bounds. A fixed row has the impulse at one of them; a free one that of its equation,
 * the wanted one. */
typedef struct {
    dReal target, softness, lower, upper;
    dReal impulse; /* of the current solution */
    dReal rate;    /* J dv of the current solution */
    dReal wanted;  /* impulse without bounds */
    dReal rate_before, wanted_before;
    dReal stiffness; /* in the matrix that was assembled last; 0 if it was fixed then */
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

/* What holds two nodes together. */
typedef struct {
    int first, second; /* second may be WORLD_NODE */
    int is_tree;       /* whether it is a joint of the tree of its body */
    int is_watched;    /* whether a force sensor measures its wrench */
    dReal impulse[6];  /* of its rows; of a watched joint of a tree on its first node, without the
                          axis */

    /* Of a tree's joint. The first node moves as if fixed to the second one, at reach from its
     * centre of mass, and along the axis. */
    dReal reach[3];
    dReal motion[2][6]; /* of each node at unit rate, while the other one rests; zero if fixed */
    dReal axis_first[6], axis_second[6]; /* the row along the axis */
    int axis_rows;      /* with bounds (possibly infinite), along the axis */
    BoundedRow axis[MAX_AXIS_ROWS];
    int follower;       /* position of the node that follows the other one in the factor */
    dReal stiffness;    /* of the free rows, in the matrix */
    dReal pull;         /* along the axis, of the right-hand side */
    dReal solved_rate, solved_impulse; /* along the axis, of the last system; of the free rows */
    dReal axis_rate, axis_impulse;     /* likewise of the current solution */

    /* Of the others. */
    int rows;
    dReal J_first[36], J_second[36];
    dReal target[6], softness[6], impulse_before[6];
    int block_first, block_second; /* indices of its blocks in the matrix */
    GearNodes *gear;   /* NULL if it is none */
} Coupling;

/* How the node at a position of the factor follows another one, see factor.c. */
typedef struct {
    int coupling;  /* joint of the tree; -1: it follows none */
    int side;      /* which of the joint's nodes it is: 0, the first, or 1 */
    int leader;    /* position of the other one; -1: the world */
    int block;     /* index of the block of both */
    int is_linked; /* whether that is not zero: contacts connect them, too */
    dReal gain[6]; /* articulated inertia times motion */
    dReal inverse; /* of the inertia along the axis; 0 if fixed */
} Follower;

/* Whether a contact that presses hard was examined, see overlap.h. */
enum { UNEXAMINED, SUSPECT, PROBED, EXAMINED };

/* A contact point: a row along its normal, which only pushes. */
typedef struct {
    int first, second; /* second may be WORLD_NODE */
    int is_stiff;      /* whether its stiffness leaves errors in what else its groups can do */
    int friction;      /* that of its patch */
    int next;          /* contact point of it, or -1 */
    dReal at[2];       /* from the middle of the patch, along both tangents, in [m] */
    dReal depth, mobility; /* in [m]; of both nodes, in [1/kg] */
    dReal rigid;       /* softness of a contact without a spring */
    int yields;        /* whether its softness is that of load_share */
    dReal raised;      /* speed at which it is made as deep as the others of its patch */
    dReal load;        /* impulse along the normal that bounds friction */
    dReal impulse_before, slip_before[3]; /* in the last step, see hrp_friction_slip */
    dReal p[3], normal[3]; /* in W; the normal points into the first node */
    dReal surface[3];  /* velocity of the second surface relative to the first, in W */
    dReal J_first[6], J_second[6];
    BoundedRow row;
    int block; /* index of its block in the matrix, if both are groups */
    dReal correction; /* speed at which it is to separate */
    dReal pressed;    /* its impulse before it was examined: see overlap.h */
    int examined, jammed_left; /* in how many steps it is soft, see hrp_overlap_recall */
    int right_left;            /* likewise, in which it was found to be right */
} Touch;

/* Four points of a patch: friction there is bounded by their share of the load. */
typedef struct {
    Quad x, y;  /* from the middle of the patch, along both tangents, in [m] */
    Quad reach; /* of the piece of a line that each stands for: its turning is slip, too, in [m] */
    Quad share; /* of the area; all sum up to 1 */
    Quad arm_a, arm_b; /* y and x, scaled by the shares of mu along the tangents */
    Quad bound; /* of the impulse */
    Quad stiffness, falls; /* at the rates that were last asked for, see points_oppose */
    Quad along_step[3]; /* square of the slip at x of a step: its factors of 1, 2 x and x^2 */
} FrictionPoints;

enum { AREA_POINT, AREA_LINE, AREA_DISC, AREA_POLYGON };

/* The impulse of friction at some rates, and how it changes with them: minus a symmetric matrix. */
typedef struct {
    dReal rate[3];
    dReal impulse[3], slope[6]; /* xx, xy, x turn, yy, y turn, turn turn */
    dReal secant; /* part of the slope that is one of secants, see friction.h */
    int has_slope; /* whether that is set, too */
    int sticks;   /* whether no point slips */
} Response;

/* A patch, the contact points of two links with one normal, and its friction: two rows along
 * tangents, and one about the normal, all through the middle of the patch. See
 * friction.c. */
typedef struct {
    int first, second;
    int touch, last;        /* its first and its last contact point */
    int cluster;            /* of the points of the two links */
    int corners;            /* number of its contact points */
    int points, points_end; /* range of friction_points; empty until they matter */
    int point_count;
    dReal middle[3], tangent[3]; /* in W; the tangent is zero if any will do */
    int area;               /* AREA_... */
    dReal radius;           /* of the patch, in [m] */
    dReal cap;              /* radius of a cylinder that may stand there, or 0 */
    dReal mu, along[2];     /* coefficient, and its share along both tangents */
    dReal mean[2], variance[3]; /* of its area: xx, xy, yy */
    dReal pressure[2];      /* gradient of the pressure, relative to its mean, in [1/m] */
    dReal centre[2];        /* of the load */
    int is_symmetric;       /* whether any linear pressure leaves its second moments */
    dReal stiffness;        /* of all points while they stick */
    dReal hold[6];          /* the slope then, see Response */
    dReal load;             /* of its contact points */
    dReal load_change;      /* by which its contact points last differed from it */
    dReal before[3];        /* velocities along the rows before the step, from the surfaces' own */
    dReal rate[3], rate_before[3];  /* J dv of the current solution, and of the one before */
    dReal base[3], slope[6]; /* Newton's model: base - slope rate; slope: see Response */
    dReal impulse[3];       /* of the model at the current solution */
    int sticks;             /* whether no point slips, in the model */
    int is_known;           /* whether the response is that for the current bounds */
    dReal secant;           /* part of the slope that is one of secants, see friction.h */
    int holds;              /* whether no point slips along a step, whose derivative is then */
    dReal along_step[2];    /* this, with its factors of 1 and x; else the model's part of it */
    dReal assembled[6];     /* the slope in the matrix that was assembled last */
    dReal J_first[18], J_second[18]; /* from here on not cleared before they are set */
    Response response;      /* at the rates that were last asked for */
} Friction;

/* A block below the diagonal. */
typedef struct {
    int column, block; /* its position, and its index in the matrix */
} RowBlock;

typedef struct {
    int first, end; /* positions */
    int touches, touches_end, couplings, couplings_end; /* ranges of touch_order, coupling_order */
    int excess; /* by what factor its matrix is larger than those that get all iterations */
} Island;

struct System {
    Node *nodes;
    Coupling *couplings;
    Touch *touches;
    Friction *frictions;
    FrictionPoints *friction_points;
    GearNodes *gears; /* of the last couplings */
    int gear_count, gear_capacity;
    int node_count, coupling_count, touch_count, friction_count, friction_point_count;
    int node_capacity, coupling_capacity, touch_capacity, friction_capacity;
    int friction_point_capacity;
    int first_friction; /* of the links whose contacts are being created */
    int crowded;  /* a node of a matrix that would be too large in this step, or -1 */
    int is_short; /* whether memory was short in this step */
    int is_stale; /* whether bodies were added or removed since nodes were listed */
    dReal cfm, erp, max_correcting_velocity, surface_layer;

    /* The structure of the matrix; vertices are nodes and, after them, couplings. Joints of trees
     * have no position. */
    int (*pairs)[2]; /* of nodes in contact, for which the structure was made */
    int pair_count, pair_capacity;
    int vertex_capacity, block_capacity, row_capacity;
    int *vertex_at, *position_of;           /* elimination order */
    int *column_start, *row;                /* positions of the blocks below the diagonal */
    int *left_start;                        /* those of each row, by column */
    RowBlock *left;
    int left_capacity;
    char *is_changed; /* columns of the factor that the assembled matrix changes, by position */
    Follower *followers; /* by position */
    int *touch_order, *coupling_order;      /* by island */
    int touch_order_capacity;
    Island *islands;
    int island_count;
    int *island_of;                         /* of each node */
    BoundedRow **bounded;                   /* room for all rows with bounds of an island */
    Friction **gripping;                    /* likewise for the friction of its patches */
    int bounded_capacity, gripping_capacity;

    /* Numbers, by position. */
    dReal *pivot, *block, *x;
    dReal *block_gain; /* of each block of a follower: its transpose times motion, 6 numbers */
    int block_gain_capacity;
    dReal *dv, *dv_before; /* by node */
};
typedef struct System System;

/* An island, all of its rows with bounds, and the friction of its patches. */
typedef struct {
    World *world;
    System *system;
    const Island *island;
    BoundedRow **rows;
    int row_count;
    Friction **frictions;
    int friction_count;
    int passes; /* of hrp_overlaps_soften */
} View;

static inline Coupling *coupling_at(const View *view, int i)
{
    return &view->system->couplings[view->system->coupling_order[i]];
}

static inline Touch *touch_at(const View *view, int i)
{
    return &view->system->touches[view->system->touch_order[i]];
}

static inline dReal *dv_of(const System *system, int node)
{
    return system->dv + 6 * (size_t)node;
}

static inline Touch *touch_or_null(const System *system, int number)
{
    return number < 0 ? NULL : &system->touches[number];
}

/* For all contact points of a patch. */
#define for_corners(system, friction, corner)                                \
    for (Touch *corner = touch_or_null(system, (friction)->touch); corner; \
         corner = touch_or_null(system, corner->next))

static inline dReal dot6(const dReal a[6], const dReal b[6])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5];
}

#endif
