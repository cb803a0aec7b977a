/* ODE behind plain arrays: the structures that the files _core_*.c share.
 *
 * Python passes an Articulation (hrp_sim/engine/articulation/articulation.py) and the arrays of a
 * BodyMotion, a JointDrive and an ExternalWrench (hrp_sim/engine/state.py). The engine holds their
 * buffers, and reads and writes them in place while the interpreter lock is released. Geoms are
 * stored in plain arrays, not in ODE's spaces, so that the order of contacts depends on the state
 * alone and not on the history of the spaces' lists.
 */
#ifndef HRP_SIM_ODE_CORE_H
#define HRP_SIM_ODE_CORE_H

#define PY_SSIZE_T_CLEAN
#if !__has_include(<Python.h>)
#error "the headers of Python are missing: apt install python3-dev"
#elif !__has_include(<ode/ode.h>)
#error "the headers of ODE are missing: apt install libode-dev"
#endif
#include <Python.h>
#include <ode/ode.h>
#include <setjmp.h>

#ifndef dDOUBLE
#error "the arrays are float64: ODE must be built with double precision"
#endif

#include "_core_vectors.h"

enum { JOINT_FIXED, JOINT_HINGE, JOINT_SLIDER };
enum { LOOP_BALL, LOOP_HINGE, LOOP_FIXED, LOOP_PISTON, LOOP_XY, LOOP_Z };
enum { ATTACH_BALL = LOOP_BALL, ATTACH_HINGE = LOOP_HINGE, ATTACH_FIXED = LOOP_FIXED,
       ATTACH_PISTON = LOOP_PISTON, ATTACH_XY = LOOP_XY, ATTACH_Z = LOOP_Z, ATTACH_SLIDER };
enum { SOLVER_WORLD, SOLVER_QUICK };
enum { GEOM_BOX, GEOM_SPHERE, GEOM_CYLINDER, GEOM_CAPSULE, GEOM_MESH };
enum { CONTACT_NEVER, CONTACT_ALWAYS, CONTACT_UNLESS_OVERLAPPING, CONTACT_UNLESS_TOUCHING };
enum { FAULT_NONE, FAULT_DRIVE, FAULT_TRACK, FAULT_STATE, FAULT_SOLVER,
       FAULT_WRENCH, FAULT_CONTACTS, FAULT_BLOCKS,
       FAULT_INTERRUPTED, FAULT_SURFACE };

/* Limits of one step. */
#define MAX_CONTACTS 200000
#define MAX_BLOCKS 1000000 /* of the matrix of the exact solver, of 288 bytes each */

/* Arrays of an Articulation, used only while a body is created. */
typedef enum {
    LINK_GROUP, LINK_R, LINK_P, LINK_TRACK_AXIS, LINK_WATCHED,
    GROUP_MASS, GROUP_INERTIA, GROUP_LIFT, GROUP_ZERO_R, GROUP_ZERO_P,
    GROUP_R, GROUP_P, GROUP_V, GROUP_W,
    JOINT_KIND, JOINT_LINK, JOINT_COORDINATE, JOINT_CHILD, JOINT_PARENT,
    JOINT_ANCHOR, JOINT_AXIS, JOINT_LOWER, JOINT_UPPER,
    JOINT_EFFORT_LOWER, JOINT_EFFORT_UPPER, JOINT_ROTOR_INERTIA,
    JOINT_DAMPING, JOINT_FRICTION, JOINT_STIFFNESS, JOINT_REST,
    LOOP_KIND, LOOP_A, LOOP_B, LOOP_R_A, LOOP_P_A, LOOP_R_B, LOOP_P_B, LOOP_AXIS,
    GEAR_FOLLOWER, GEAR_LEADER, GEAR_RATIO, GEAR_OFFSET,
    GEOM_KIND, GEOM_LINK, GEOM_SIZE, GEOM_R, GEOM_P, GEOM_MATERIAL, GEOM_SURFACE,
    GEOM_FIRST_VERTEX, GEOM_FIRST_TRIANGLE, VERTICES, TRIANGLES,
    CONTACTS, START_Q, START_DQ,
    FLAT_FIELDS
} FlatField;

typedef enum {
    PER_LINK, PER_GROUP, PER_JOINT, PER_LOOP, PER_GEAR, PER_GEOM, PER_COORDINATE,
    PER_VERTEX, PER_TRIANGLE, PER_GEOM_AND_END, PER_PAIR, PER_KINDS
} Per;

typedef struct {
    Py_buffer views[FLAT_FIELDS];
    int held;
    Py_ssize_t count[PER_KINDS];
} Flat;

/* Arrays of a BodyMotion, a JointDrive and an ExternalWrench, held as long as the body lives. */
typedef enum {
    MOTION_P, MOTION_R, MOTION_V, MOTION_W, MOTION_A, MOTION_ALPHA,
    MOTION_FORCE, MOTION_TORQUE, MOTION_Q, MOTION_DQ, MOTION_EFFORT,
    MOTION_TRACK_POSITION,
    DRIVE_Q, DRIVE_DQ, DRIVE_KP, DRIVE_KD, DRIVE_EFFORT, DRIVE_TRACK_SPEED,
    DRIVE_SURFACE_VELOCITY,
    WRENCH_FORCE, WRENCH_TORQUE,
    LIVE_FIELDS
} LiveField;

typedef struct {
    dReal p[3], quaternion[4], R[12], v[3], w[3];
} GroupState;

/* Inertia of a group about its principal axes, in ascending order. */
typedef struct {
    dReal axis[3][3], moment[3];
    dReal first, last; /* inverse of the first and last moment, less that of the middle one */
} Spin;

typedef struct {
    dReal q, dq;
    int turns;   /* of a hinge: q = ODE's angle + 2 pi turns */
    int active;  /* exact solver: bounds of its rows in the last step, two bits each; else whether
                    a separate bounded row limits the drive's effort */
} JointState;

/* Parameters of a motor row as last set in ODE. */
typedef struct {
    dReal softness, bound;
    int is_on;
} Row;

/* How a joint holds two groups; the first is not the world. Index 0 is the first, 1 the second. */
typedef struct {
    int kind, axis_owner;    /* axis_owner: of XY and Z joints */
    dBodyID first, second;   /* the second may be NULL, the world */
    dReal anchor[2][3], axis[2][3];
    dQuaternion relative;    /* orientation of the second in the first */
    dReal offset[3];         /* centre of mass of the first in the second */
} Attachment;

/* A row along the axis of a joint: rate + softness * force = velocity, lower <= force <= upper. */
typedef struct {
    dReal velocity, softness, lower, upper;
} AxisRow;

typedef struct {
    int kind, link, coordinate, child, parent;
    Attachment attachment;
    dJointID joint, motor;
    dReal axis[3], anchor[3];       /* in the child's frame */
    dReal parent_anchor[3];         /* in the parent's frame, or in W */
    dReal lower, upper, effort_lower, effort_upper, rotor_inertia;
    dReal viscous_friction, coulomb_friction;
    dReal stiffness, rest;          /* of the spring */
    JointState now, saved;
    dReal base, damping;            /* drive at the end of the step: base - damping dq */
    dReal passive;                  /* rotor inertia / step + viscous friction */
    dReal applied;                  /* effort applied directly to the ODE bodies */
    dReal effort;                   /* of the drive, in the last step */
    dReal drift;                    /* change of the rate in half a step of free motion */
    dJointFeedback feedback, motor_feedback;
    Row rows[2];
    int watched;                    /* whether a force sensor measures its wrench */
    int exceeded;                   /* whether its effort left its range in this step */
    int effort_from_force;          /* whether the effort is measured from the motor's force */
} Joint;

typedef struct {
    int kind;
    Attachment attachment;
    dJointID joint;                 /* NULL where ODE has no such joint: see loop_hold */
    dBodyID a, b;                   /* NULL is the world */
    dReal p_a[3], p_b[3];           /* the two points, in the frames of a and b or in W */
    dReal axis[3], across[3];       /* orthogonal unit vectors in the frame of a, or in W */
} Loop;

/* A mimic joint: q of the follower = ratio * q of the leader + offset. The exact solver alone holds
 * it; with others the follower has a servo. */
typedef struct {
    int follower, leader; /* joints */
    dReal ratio, offset;
} Gear;

/* A joint between links of two bodies, which may be added and removed between steps. */
typedef struct {
    long id, body[2];
    Loop loop;
} BodyJoint;

typedef struct {
    dReal R[9], p[3];
} Frame;

/* A box with rounded edges that contains shapes. */
typedef struct {
    dReal p[3], R[9], half[3], radius; /* R: the columns are the box's axes */
    dReal box[6];                      /* along the axes of the frame: lower, upper of each */
} Bound;

/* Contact properties that a model declares, a row of Geoms.surface; negative ones are not declared. */
enum { RULE_NONE, RULE_SMALLER, RULE_LARGER };
typedef struct {
    dReal rule, friction[2], along[3]; /* along: in the frame of the geom, or zero */
    dReal stiffness, damping, restitution, bounce_speed, is_frictionless, priority;
} Surface;

#define SURFACE_NUMBERS ((int)(sizeof(Surface) / sizeof(dReal)))

typedef struct {
    dGeomID geom;
    const Surface *surface; /* or NULL */
    int link, material, index; /* index: row in the Articulation */
    dReal ray_box[6];          /* along the axes of W, when rays are cast */
    Bound local, now;          /* in the frame of its group, and in W */
} Geom;

/* The colliding shapes of a link. */
typedef struct {
    int link, count;
    Geom *shapes;
    dBodyID group;     /* NULL if they do not move */
    Bound local, now;  /* of all shapes, in the frame of the group, and in W */
    int shapes_placed; /* whether the shapes' own bounds are up to date */
    dReal travel;      /* no point has moved by more since the body was added, in [m] */
} LinkShapes;

typedef struct {
    Geom *items;
    int count, colliding; /* colliding shapes come first; the others only stop rays */
    LinkShapes *links;
    int link_count;
    dReal box[6], ray_box[6]; /* bounding boxes of the colliding shapes, and of all shapes */
} GeomSet;

/* Two links of a body whose shapes may collide. They are apart as long as their travels sum up to
 * less than the limit; so are two of their shapes, with the limit at [i * links[1]->count + j]. */
typedef struct {
    LinkShapes *links[2];
    dReal limit, *limits;
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
    MeshChunk *chunks;             /* made when they are needed, see _core_mesh_pairs.c */
    int chunk_count;
    dTriIndex *chunk_indices;      /* the corners in the order of the chunks */
    dGeomID chunk_shape;           /* any chunk, to collide it */
} Mesh;

typedef struct {
    long id;
    int links, groups, joints, loops, gears, meshes, coordinates;
    dBodyID *group;
    Spin *spin;
    GroupState *start, *saved, *middle; /* middle: in the middle of the step, before its forces */
    dReal *start_q;
    int *link_group, *contacts;
    dReal *lift;          /* of each group: mass without weight, its first moment; or NULL */
    dReal *link_R, *link_p, *track_axis;
    dReal *before; /* v and w of each link as last written, 6 values each */
    Joint *joint;
    Loop *loop;
    Gear *gear;
    Mesh *mesh;
    Surface *surface;     /* of each shape */
    GeomSet moving, fixed;
    LinkPair *pairs;      /* pairs of the body's own links that may collide */
    dReal *limits;        /* of their shapes */
    LinkPair **near;      /* those of the pairs that may touch before room is used up, in order */
    size_t pair_count, limit_count, near_count;
    dReal room;           /* twice what each link may still move until all pairs are checked */
    int bounds_changed;   /* whether bounds in the frames of groups are new */
    int conveys;          /* whether the surface of a link moves in this call, as a conveyor's */
    Py_buffer live[LIVE_FIELDS];
    int held;
} Body;

/* Arrays of a body's dynamic state, to save and restore; see SavedBody in saved_state.py. */
typedef enum {
    SAVED_P, SAVED_QUATERNION, SAVED_R, SAVED_V, SAVED_W,
    SAVED_Q, SAVED_DQ, SAVED_TURNS, SAVED_ACTIVE,
    SAVED_FIELDS
} SavedField;

typedef struct {
    Py_buffer views[SAVED_FIELDS];
    int held;
} Saved;

typedef struct {
    int kind;
    long done, body;
    int index;
} Fault;

/* What a contact leaves to the next step of the exact solver, which finds it again by the groups and
 * the point. Snapshots hold it as integers, so there is no padding. */
typedef struct {
    int jammed;    /* steps left in which it is soft, see _core_overlap.c */
    int unused;
    int active;    /* bounds of its rows, see rows_remember */
    int groups[2]; /* numbers from 1 on; 0: the world */
    int at[3];     /* in the frame of the first group, in 0.1 mm */
    dReal impulse, slip[3]; /* along the normal, and of the patch there, in W */
    dReal load;                 /* impulse along the normal that bounds friction */
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

/* The box of a body, to sort. */
typedef struct {
    dReal box[6];
    int body;
} Span;

typedef struct {
    int bodies[2];
} BodyPair;

/* Bodies whose boxes overlap, see _core_sweep.c. */
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

/* Two links whose contacts ODE failed to find. */
typedef struct {
    long body[2];
    int link[2];
} FailedPair;

typedef struct {
    PyObject_HEAD
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
    BodyJoint *body_joints;       /* in the order in which they were added */
    int body_joint_count;
    long next_body_joint;
    int busy, broken;
    volatile int interrupt;       /* whether the current step is to be given up */
    double next_poll;             /* when to look for signals, on the monotonic clock, in [s] */
    PyThreadState *thread;        /* of the thread that steps, without the GIL */
    int materials;                /* number of rows and of columns of both matrices */
    dReal *friction, *restitution;
    int *prevails;                /* whether the table states a material's pair with the default one */
    dReal max_correcting_velocity; /* of contacts */
    int has_springs;              /* whether a shape declares a stiffness */
    ContactMemory *memory, *memory_before; /* of the exact solver; before: of the last step */
    int memory_count;             /* of memory_before that are valid */
    int *memory_table;            /* the first of them of each pair of groups, see _core_memory.c */
    int memory_table_size;
    int memory_first;             /* of the groups of the last contact */
    int touch_count, touch_count_before; /* contacts of this step */
    int memory_limit, memory_capacity;   /* of how many contacts there is a memory */
    long contacts;                /* number in this step */
    long overflow_body;           /* body and link with the last contact, for FAULT_CONTACTS */
    int overflow_link;
    Sweep sweep;
    int record_contacts;          /* whether steps record contact points and forces */
    ContactRecord *records;       /* of the last attempt at a step */
    int record_count, record_capacity, records_lost;
    int record_pair_costs;        /* whether steps record times of collision detection */
    PairCost *pair_costs;         /* of the last attempt at a step */
    size_t pair_cost_count, pair_cost_capacity;
    int collide_failed;           /* whether ODE failed to find contacts of the current links */
    FailedPair *failed;            /* in the last call of step, each once */
    int failed_count, failed_capacity;
} World;

/* _core_buffers.c */
int flat_fetch(Flat *flat, PyObject *articulation, int materials);
void flat_release(Flat *flat);
void group_mass(const Flat *flat, Py_ssize_t g, dMass *mass);
int live_fetch(Body *body, PyObject *motion, PyObject *drive, PyObject *wrench);
int fetch_array(PyObject *owner, const char *name, char type, Py_ssize_t size, int writable,
                Py_buffer *view);
static inline const double *flat_reals(const Flat *flat, FlatField field)
{
    return (const double *)flat->views[field].buf;
}
static inline const int *flat_ints(const Flat *flat, FlatField field)
{
    return (const int *)flat->views[field].buf;
}
static inline double *live(const Body *body, LiveField field)
{
    return (double *)body->live[field].buf;
}

static inline dBodyID group_or_world(const Body *body, int group)
{
    return group < 0 ? NULL : body->group[group];
}

/* _core_build.c, _core_joints.c, _core_geoms.c */
Body *body_new(const Flat *flat);
int body_create(World *world, Body *body, const Flat *flat);
int body_matches(const Body *body, const Flat *flat);
void body_rebase(World *world, Body *body, const Flat *flat);
void body_move(Body *body, const Flat *flat);
void body_destroy(Body *body);
void body_free(Body *body);
void to_group_frame(dReal out[3], dBodyID group, const double *in, int is_point);
void joints_create(World *world, Body *body, const Flat *flat);
int geoms_create(Body *body, const Flat *flat);
void geoms_place(Body *body, const Flat *flat);
void geoms_destroy(Body *body);
void geoms_free(Body *body);

void attachment_init(Attachment *attachment, int kind, dBodyID first, dBodyID second,
                     const dReal anchor[3], const dReal axis[3]);

/* _core_loops.c */
void loops_create(World *world, Body *body, const Flat *flat);
void loops_hold(World *world);
void loop_create_between(World *world, Loop *loop, int kind, dBodyID a, const Frame *in_a,
                         dBodyID b, const Frame *in_b, const dReal axis_J[3]);

/* _core_body_joints.c */
void body_joints_remove(World *world, const Body *body);
int body_joints_connect(const World *world, const Body *const bodies[2],
                        LinkShapes *const links[2]);
PyObject *world_add_joint(World *world, PyObject *args);
PyObject *world_remove_joint(World *world, PyObject *argument);

/* _core_drive.c */
int drives_check(Body *body, Fault *fault);
void drives_apply(World *world, Body *body);
int drive_rows(const World *world, const Joint *joint, AxisRow rows[3]);
void drives_clear_exceeded(Body *body);
void drive_measure(const World *world, const Body *body, Joint *joint);
int drives_find_exceeded(Body *body);
void drives_bound_exceeded(Body *body);
int drives_mark_unbounded(Body *body);
dReal joint_rate(const Body *body, const Joint *joint);
void joint_read_position(const Body *body, Joint *joint, dReal elapsed);
void joint_read(const Body *body, Joint *joint);
void joint_set_stops(Joint *joint);

/* _core_materials.c */
PyObject *materials_set(World *world, PyObject *args);
void materials_free(World *world);
int materials_collide(const World *world, int a, int b);
void contact_surface(const World *world, const Geom *a, const Geom *b, dContact *contact);

/* _core_wrench.c */
int wrenches_check(const Body *body, Fault *fault);
void wrenches_apply(Body *body);
void weights_lift(const World *world, Body *body);

/* _core_memory.c */
void memory_begin(World *world);
void memory_restore(World *world);
void memory_reset(World *world);
void memory_free(World *world);
void memory_recall(World *world, int number, const dReal p[3], dBodyID a, dBodyID b);
PyObject *world_get_contact_memory(World *world, void *closure);
int world_set_contact_memory(World *world, PyObject *value, void *closure);

/* _core_contact.c */
void contacts_create(World *world);
int link_pairs_list(const World *world, Body *body);
int overlaps_disable(World *world, Body *body, LinkNumbers *disabled);

/* _core_contact_records.c */
void records_clear(World *world);
void records_append(World *world, const ContactRecord *contact);
void records_request_forces(World *world);
void records_read_forces(World *world);
void records_free(World *world);
PyObject *world_get_record_contacts(World *world, void *closure);
int world_set_record_contacts(World *world, PyObject *value, void *closure);
PyObject *world_recorded_contacts(World *world, void *closure);
PyObject *world_read_contacts(World *world, PyObject *args);

/* _core_pair_costs.c */
void pair_costs_clear(World *world);
double pair_costs_start(const World *world);
void pair_costs_append(World *world, const Body *a, int link_a, const Body *b, int link_b,
                       double start);
void pair_costs_free(World *world);
PyObject *world_get_record_pair_costs(World *world, void *closure);
int world_set_record_pair_costs(World *world, PyObject *value, void *closure);
PyObject *world_read_pair_costs(World *world, PyObject *none);

/* _core_failed_pairs.c */
void failed_pairs_clear(World *world);
void failed_pairs_append(World *world, const Body *a, int link_a, const Body *b, int link_b);
void failed_pairs_free(World *world);
PyObject *world_read_failed_pairs(World *world, PyObject *none);

/* _core_friction.c */
dJointID contact_joint_create(World *world, dContact *contact, dBodyID a, dBodyID b);

/* _core_integrate.c */
void spin_init(Spin *spin, const dMass *mass);
void drift_to_middle(World *world, Body *body);
void drift_to_end(World *world, Body *body);

/* _core_state.c */
void group_save(dBodyID group, GroupState *state);
void group_restore(dBodyID group, const GroupState *state);
void state_save(World *world);
void state_restore(World *world);
void state_reset(World *world);
void body_record_start(Body *body);
int state_check(World *world, Fault *fault);
void velocities_store(Body *body);
void motion_write(const Body *body, dReal step);
void motion_write_at_rest(const Body *body);
void tracks_advance(const Body *body, dReal step);

/* _core_saved.c */
int saved_fetch(const Body *body, PyObject *owner, int writable, Saved *saved);
void saved_release(Saved *saved);
void saved_read(const Body *body, const Saved *saved);
int saved_check(const Saved *saved);
void saved_write(Body *body, const Saved *saved);

/* _core_place.c */
int body_find(const World *world, long id);
PyObject *world_add_body(World *world, PyObject *args);
PyObject *world_remove_body(World *world, PyObject *argument);
PyObject *world_rebase_body(World *world, PyObject *args);
PyObject *world_move_body(World *world, PyObject *args);
PyObject *world_read_state(World *world, PyObject *args);
PyObject *world_write_state(World *world, PyObject *args);

/* _core_step.c */
void world_step(World *world, long count, Fault *fault);

/* _core_exact.c */
int system_create(World *world);
void system_free(World *world);
void system_outdate(World *world);
int system_begin(World *world);
void touches_begin(World *world);
void touch_create(World *world, const dContact *contact, dBodyID a, dBodyID b, int cluster,
                  dReal cap);
int system_step(World *world, Fault *fault);
int touch_number(const World *world);
void touch_force(const World *world, int number, dReal force[3]);

/* _core_guard.c */
extern _Thread_local jmp_buf *error_exit; /* target of ODE's errors, or NULL */
extern _Thread_local long message_count;
int handlers_install(void);
void ode_lock(void);
void ode_lock_with_gil(void);
void ode_unlock(void);
typedef void OdeWork(World *world, void *arguments);
int ode_run(World *world, OdeWork *work, void *arguments);
int ode_run_or_raise(World *world, OdeWork *work, void *arguments);
int is_interrupted(World *world);
int guarded_collide(dGeomID a, dGeomID b, int max, dContactGeom *found, int stride);
int world_ready(World *world);
int world_usable(World *world);

/* _core_functions.c */
int functions_add(PyObject *module);

/* _core_rays.c */
enum { ALL_LINKS = -1, NO_LINK = -2 };
typedef struct {
    long body;
    int link; /* of this body, or ALL_LINKS */
} Ignored;
typedef struct {
    const double *origins, *directions;
    Py_ssize_t count;
    double max_distance;
    Ignored ignored;
    double *distances;
} Rays;
void rays_cast(World *world, void *rays);

#endif
