/* A world of bodies, and what the files of this folder have in common.
 *
 * Nothing here knows Python but module.c and arrays.c, which pass the buffers of numpy. Geoms are
 * stored in plain arrays, not in ODE's spaces, so that the order of contacts depends on the state
 * alone and not on the history of the spaces' lists.
 *
 * Names that files share begin with hrp_. A function that can fail returns 0 then, else 1; one
 * that creates something returns NULL. The reason is a Fault of a step, or a problem in words,
 * which stays empty when memory is short. Errors of ODE leave a call by longjmp, see guard.h. */
#ifndef HRP_SIM_ODE_WORLD_H
#define HRP_SIM_ODE_WORLD_H

#include "body.h"

#include <stdlib.h>

enum { SOLVER_WORLD, SOLVER_QUICK };
enum { FAULT_NONE, FAULT_DRIVE, FAULT_TRACK, FAULT_STATE, FAULT_SOLVER,
       FAULT_WRENCH, FAULT_CONTACTS, FAULT_BLOCKS,
       FAULT_INTERRUPTED, FAULT_SURFACE };

/* Limits of one step. */
#define MAX_CONTACTS 200000
#define MAX_BLOCKS 1000000 /* of the matrix of the exact solver, of 336 bytes each */

typedef struct {
    int kind;
    long done, body;
    int index;
} Fault;

/* A joint between links of two bodies, which may be added and removed between steps. */
typedef struct {
    long id, body[2];
    Loop loop;
} BodyJoint;

/* What a contact leaves to the next step of the exact solver, which finds it again by the groups
 * and the point. Snapshots hold it as integers, so there is no padding. */
typedef struct {
    int jammed;    /* steps left in which it is soft, see overlap.h */
    int right;     /* likewise, in which it was found to be right */
    int active;    /* bounds of its rows, see rows_remember */
    int groups[2]; /* numbers from 1 on; 0: the world */
    int at[3];     /* in the frame of the first group, in 0.1 mm */
    dReal impulse, slip[3]; /* along the normal, and of the patch there, in W */
    dReal load;    /* impulse along the normal that bounds friction */
} ContactMemory;

#define MEMORY_NUMBERS ((int)(sizeof(ContactMemory) / sizeof(int)))

/* A recorded contact: the force acts on its first shape, the normal points into it. */
typedef struct {
    long body[2];
    int link[2], is_first; /* whether the joint's first body carries the first shape */
    dReal p[3], normal[3], depth, force[3];
    dJointID joint;                 /* NULL with the exact solver */
    int touch;                      /* its number in the system of the exact solver */
    dJointFeedback feedback;
} ContactRecord;

/* A contact of a body that sleeps. */
typedef struct {
    Body *body[2];
    ContactRecord record;
    ContactMemory memory;
} SleepingContact;

/* The box of a body, to sort. */
typedef struct {
    dReal box[6];
    int body;
} Span;

typedef struct {
    int bodies[2];
} BodyPair;

/* Bodies whose boxes overlap, see sweep.h. */
typedef struct {
    Span *spans;
    int *starts, count;
    BodyPair *found, *pairs; /* found: in their order at last */
    int pair_count, capacity;
} Sweep;

/* Time of collision detection of two links, or of some of their shapes. */
typedef struct {
    long body[2];
    int link[2];
    double seconds;
} PairCost;

/* A shape that rays may hit, and where it is in W. */
typedef struct {
    dGeomID geom;
    Mesh *mesh; /* or NULL */
    const dReal *p, *R;
} RayTarget;

/* The shapes of a call of hrp_rays_cast, in a tree of their boxes. */
typedef struct {
    RayTarget *targets;
    TreeItem *items; /* numbers of targets, in the order of the tree */
    Tree tree;
    int count, capacity;
} RayTargets;

/* Two links whose contacts ODE failed to find. */
typedef struct {
    long body[2];
    int link[2];
} FailedPair;

struct World {
    dWorldID world;
    dJointGroupID contact_group;
    dGeomID ray, substitute_box;
    dReal step;
    struct System *system;        /* of the exact solver, or NULL */
    int solver, joint_limits, self_collision, max_contacts;
    unsigned long seed, random;
    long next_id, message_count, steps_done;
    Body **bodies;
    int count;
    Body **awake;                 /* those that do not sleep, in the same order */
    int awake_count;
    int steps_to_sleep;           /* for which an island must be at rest; 0: none sleeps */
    int has_woken;                /* whether bodies woke since these were listed */
    int is_touched;               /* whether a body that sleeps is touched in this attempt */
    SleepingContact *sleepers;
    int sleeper_count, sleeper_capacity;
    BodyJoint *body_joints;       /* in the order in which they were added */
    int body_joint_count;
    long next_body_joint;
    int busy, broken;
    volatile int interrupt;       /* whether the current step is to be given up */
    double next_poll;             /* when to ask poll, on the monotonic clock, in [s] */
    int (*poll)(void *poller);    /* whether to give up the current step; or NULL */
    void *poller;
    int materials;                /* number of rows and of columns of both matrices */
    dReal *friction, *restitution;
    int *prevails;                /* whether the table has a material's pair with the default one */
    dReal max_correcting_velocity; /* of contacts */
    int has_springs;              /* whether a shape declares a stiffness */
    ContactMemory *memory, *memory_before; /* of the exact solver; before: of the last step */
    int memory_count;             /* of memory_before that are valid */
    int *memory_table;            /* the first of them of each pair of groups, see memory.c */
    int memory_table_size;
    int memory_first;             /* of the groups of the last contact */
    int touch_count, touch_count_before; /* contacts of this step */
    int memory_limit, memory_capacity;   /* of how many contacts there is a memory */
    int has_moved;                /* whether steps moved groups since hrp_shapes_update */
    long contacts;                /* number in this step */
    long overflow_body;           /* body and link with the last contact, for FAULT_CONTACTS */
    int overflow_link;
    Sweep sweep;
    RayTargets ray_targets;
    int record_contacts;          /* whether steps record contact points and forces */
    ContactRecord *records;       /* of the last attempt at a step */
    int record_count, record_capacity, records_lost;
    int record_pair_costs;        /* whether steps record times of collision detection */
    PairCost *pair_costs;         /* of the last attempt at a step */
    int pair_cost_count, pair_cost_capacity;
    int collide_failed;           /* whether ODE failed to find contacts of the current links */
    FailedPair *failed;           /* in the last call of step, each once */
    int failed_count, failed_capacity;
};

/* Make room for count items, growing by half; there is an array even for none. Returns 0 when
 * memory is short. */
static inline int hrp_array_reserve(void *array, int *capacity, int count, size_t size)
{
    void **items = array;
    if (*items && count <= *capacity)
        return 1;
    int wanted = count + count / 2 + 16;
    void *grown = realloc(*items, (size_t)wanted * size);
    if (!grown)
        return 0;
    *items = grown;
    *capacity = wanted;
    return 1;
}

#endif
