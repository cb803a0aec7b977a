/* The same scene in plain C: what the engine's speed is measured against.
 *
 *     loop SCENE STEPS
 *
 * reads a scene as written by hrp_sim/bench.py (numbers in the order of the functions
 * below), steps it, and prints the CPU time of a step in microseconds and the height of
 * the last group. It is written as one would write this program by hand: a simple space
 * for each body, one for what stands still, a callback that keeps the four best contacts
 * of each pair, a motor row for each rotor. Nothing is checked and nothing is copied out.
 */
#include <math.h>
#include <ode/ode.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FOUND = 512 };
enum { FIXED, HINGE, SLIDER };
enum { BOX, SPHERE, CYLINDER, CAPSULE, MESH };
enum { NEVER, ALWAYS, UNLESS_OVERLAPPING };

typedef struct {
    int link, body;
} Tag;

typedef struct {
    int kind;
    dJointID joint, motor;
    double rotor;
} Rotor;

static struct {
    dWorldID world;
    dSpaceID all, standing;
    dSpaceID *space;
    dJointGroupID contacts;
    Rotor *rotors;
    int **allowed, *links;
    int bodies, rotor_count, max_contacts, quick, self_collision, joint_limits, forbidding;
    double step, friction;
    dBodyID last;
} scene;

static FILE *file;

static double number(void)
{
    double value;
    if (fscanf(file, "%lf", &value) != 1) {
        fprintf(stderr, "the scene ends too early\n");
        exit(1);
    }
    return value;
}

static int integer(void)
{
    return (int)number();
}

static void numbers(double *values, int count)
{
    for (int i = 0; i < count; i++)
        values[i] = number();
}

static void matrix(dMatrix3 R)
{
    double v[9];
    numbers(v, 9);
    for (int i = 0; i < 9; i++)
        R[4 * (i / 3) + i % 3] = v[i];
    R[3] = R[7] = R[11] = 0.0;
}

static void *array(int count, size_t size)
{
    void *memory = calloc((size_t)count + 1, size);
    if (!memory)
        exit(1);
    return memory;
}

static void place(dBodyID body)
{
    double p[3];
    dMatrix3 R;
    matrix(R);
    numbers(p, 3);
    dBodySetRotation(body, R);
    dBodySetPosition(body, p[0], p[1], p[2]);
}

static void read_settings(void)
{
    double g[3];
    scene.step = number();
    scene.quick = integer();
    numbers(g, 3);
    scene.world = dWorldCreate();
    dWorldSetGravity(scene.world, g[0], g[1], g[2]);
    dWorldSetERP(scene.world, number());
    dWorldSetCFM(scene.world, number());
    dWorldSetQuickStepNumIterations(scene.world, integer());
    dWorldSetQuickStepW(scene.world, number());
    dWorldSetContactMaxCorrectingVel(scene.world, number());
    dWorldSetContactSurfaceLayer(scene.world, number());
    scene.max_contacts = integer();
    scene.joint_limits = integer();
    scene.self_collision = integer();
    dRandSetSeed((unsigned long)number());
    scene.friction = number();
}

static dBodyID *read_groups(int count)
{
    dBodyID *groups = array(count, sizeof *groups);
    for (int g = 0; g < count; g++) {
        double I[9], m = number();
        dMass mass;
        numbers(I, 9);
        dMassSetParameters(&mass, m, 0, 0, 0, I[0], I[4], I[8], I[1], I[2], I[5]);
        groups[g] = dBodyCreate(scene.world);
        dBodySetMass(groups[g], &mass);
        place(groups[g]);
        scene.last = groups[g];
    }
    return groups;
}

static void read_joint(dBodyID *groups)
{
    int kind = integer(), child = integer(), parent = integer();
    dBodyID a = groups[child], b = parent < 0 ? NULL : groups[parent];
    double p[3], axis[3], lower, upper, rotor;
    numbers(p, 3);
    numbers(axis, 3);
    lower = number(), upper = number(), rotor = number();
    dJointID joint, motor = NULL;
    if (kind == HINGE) {
        joint = dJointCreateHinge(scene.world, 0);
        dJointAttach(joint, a, b);
        dJointSetHingeAnchor(joint, p[0], p[1], p[2]);
        dJointSetHingeAxis(joint, axis[0], axis[1], axis[2]);
        dJointSetHingeParam(joint, dParamLoStop, scene.joint_limits ? lower : -dInfinity);
        dJointSetHingeParam(joint, dParamHiStop, scene.joint_limits ? upper : dInfinity);
        motor = dJointCreateAMotor(scene.world, 0);
        dJointAttach(motor, a, b);
        dJointSetAMotorNumAxes(motor, 1);
        dJointSetAMotorAxis(motor, 0, 1, axis[0], axis[1], axis[2]);
    } else if (kind == SLIDER) {
        joint = dJointCreateSlider(scene.world, 0);
        dJointAttach(joint, a, b);
        dJointSetSliderAxis(joint, axis[0], axis[1], axis[2]);
        dJointSetSliderParam(joint, dParamLoStop, scene.joint_limits ? lower : -dInfinity);
        dJointSetSliderParam(joint, dParamHiStop, scene.joint_limits ? upper : dInfinity);
        motor = dJointCreateLMotor(scene.world, 0);
        dJointAttach(motor, a, b);
        dJointSetLMotorNumAxes(motor, 1);
        dJointSetLMotorAxis(motor, 0, 1, axis[0], axis[1], axis[2]);
    } else {
        joint = dJointCreateFixed(scene.world, 0);
        dJointAttach(joint, a, b);
        dJointSetFixed(joint);
    }
    if (rotor > 0.0)
        scene.rotors[scene.rotor_count++] = (Rotor){kind, joint, motor, rotor};
    else if (motor)
        dJointDestroy(motor);
}

static dGeomID read_shape(dSpaceID space, int kind, const double *size)
{
    if (kind == BOX)
        return dCreateBox(space, size[0], size[1], size[2]);
    if (kind == SPHERE)
        return dCreateSphere(space, size[0]);
    if (kind == CYLINDER)
        return dCreateCylinder(space, size[0], size[1]);
    if (kind == CAPSULE)
        return dCreateCapsule(space, size[0], size[1]);
    int vertices = integer(), triangles = integer();
    double *points = array(3 * vertices, sizeof(double));
    dTriIndex *corners = array(3 * triangles, sizeof(dTriIndex));
    numbers(points, 3 * vertices);
    for (int i = 0; i < 3 * triangles; i++)
        corners[i] = (dTriIndex)integer();
    dTriMeshDataID data = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildDouble(data, points, 3 * sizeof(double), vertices, corners, 3 * triangles,
                                3 * sizeof(dTriIndex));
    return dCreateTriMesh(space, data, 0, 0, 0);
}

static void read_geom(int body, dBodyID *groups)
{
    double size[3], p[3];
    dMatrix3 R;
    int kind = integer(), link = integer(), group = integer();
    numbers(size, 3);
    matrix(R);
    numbers(p, 3);
    dGeomID geom = read_shape(group < 0 ? scene.standing : scene.space[body], kind, size);
    Tag *tag = array(1, sizeof *tag);
    *tag = (Tag){link, body};
    dGeomSetData(geom, tag);
    if (group < 0) {
        dGeomSetPosition(geom, p[0], p[1], p[2]);
        dGeomSetRotation(geom, R);
    } else {
        dGeomSetBody(geom, groups[group]);
        dGeomSetOffsetPosition(geom, p[0], p[1], p[2]);
        dGeomSetOffsetRotation(geom, R);
    }
}

static void read_body(int body)
{
    int links = integer(), count = integer(), joints = integer(), geoms = integer();
    scene.space[body] = dSimpleSpaceCreate(scene.all);
    scene.links[body] = links;
    scene.allowed[body] = array(links * links, sizeof(int));
    for (int i = 0; i < links * links; i++)
        scene.allowed[body][i] = integer();
    dBodyID *groups = read_groups(count);
    scene.rotors = realloc(scene.rotors, sizeof(Rotor) * (size_t)(scene.rotor_count + joints + 1));
    for (int j = 0; j < joints; j++)
        read_joint(groups);
    for (int g = 0; g < count; g++) {
        double v[3], w[3];
        place(groups[g]);
        numbers(v, 3);
        numbers(w, 3);
        dBodySetLinearVel(groups[g], v[0], v[1], v[2]);
        dBodySetAngularVel(groups[g], w[0], w[1], w[2]);
    }
    for (int k = 0; k < geoms; k++)
        read_geom(body, groups);
}

static void read_scene(const char *path)
{
    file = fopen(path, "r");
    if (!file) {
        perror(path);
        exit(1);
    }
    read_settings();
    scene.all = dSimpleSpaceCreate(0);
    scene.standing = dSimpleSpaceCreate(scene.all);
    scene.contacts = dJointGroupCreate(0);
    scene.bodies = integer();
    scene.space = array(scene.bodies, sizeof *scene.space);
    scene.allowed = array(scene.bodies, sizeof *scene.allowed);
    scene.links = array(scene.bodies, sizeof *scene.links);
    for (int body = 0; body < scene.bodies; body++)
        read_body(body);
    fclose(file);
}

/* Keep the deepest contact, then always the one farthest from those kept. */
static int reduce(dContactGeom *c, int count, int wanted)
{
    double gap[FOUND];
    int best = 0, kept = 0;
    for (int i = 0; i < count; i++) {
        gap[i] = dInfinity;
        if (c[i].depth > c[best].depth)
            best = i;
    }
    while (kept < count && kept < wanted && gap[best] > 1e-12) {
        dContactGeom chosen = c[best];
        c[best] = c[kept];
        c[kept] = chosen;
        gap[best] = gap[kept];
        best = ++kept;
        for (int i = kept; i < count; i++) {
            double x = c[i].pos[0] - chosen.pos[0], y = c[i].pos[1] - chosen.pos[1],
                   z = c[i].pos[2] - chosen.pos[2];
            gap[i] = fmin(gap[i], x * x + y * y + z * z);
            if (gap[i] > gap[best])
                best = i;
        }
    }
    return kept;
}

static void near(void *data, dGeomID a, dGeomID b)
{
    if (dGeomIsSpace(a) || dGeomIsSpace(b)) {
        dSpaceCollide2(a, b, data, near);
        return;
    }
    const Tag *x = dGeomGetData(a), *y = dGeomGetData(b);
    int *allowed = NULL;
    if (x->body == y->body) {
        allowed = &scene.allowed[x->body][x->link * scene.links[x->body] + y->link];
        if (*allowed == NEVER)
            return;
    }
    dContactGeom found[FOUND];
    int count = dCollide(a, b, FOUND, found, sizeof *found);
    if (scene.forbidding) {
        for (int i = 0; i < count; i++)
            if (allowed && *allowed == UNLESS_OVERLAPPING && found[i].depth > 1e-3)
                *allowed = scene.allowed[x->body][y->link * scene.links[x->body] + x->link] = NEVER;
        return;
    }
    if (count)
        count = reduce(found, count, scene.max_contacts);
    for (int i = 0; i < count; i++) {
        dContact contact = {.geom = found[i]};
        contact.surface.mode = dContactApprox1;
        contact.surface.mu = scene.friction;
        dJointAttach(dJointCreateContact(scene.world, scene.contacts, &contact), dGeomGetBody(a),
                     dGeomGetBody(b));
    }
}

static void collide(void)
{
    dSpaceCollide(scene.all, NULL, near);
    for (int body = 0; scene.self_collision && body < scene.bodies; body++)
        dSpaceCollide(scene.space[body], NULL, near);
}

static void step(void)
{
    for (int i = 0; i < scene.rotor_count; i++) {
        Rotor *r = &scene.rotors[i];
        double rate = r->kind == HINGE ? dJointGetHingeAngleRate(r->joint)
                                       : dJointGetSliderPositionRate(r->joint);
        void (*set)(dJointID, int, dReal) =
            r->kind == HINGE ? dJointSetAMotorParam : dJointSetLMotorParam;
        set(r->motor, dParamVel, rate);
        set(r->motor, dParamCFM, scene.step / r->rotor);
        set(r->motor, dParamFMax, dInfinity);
    }
    collide();
    if (scene.quick)
        dWorldQuickStep(scene.world, scene.step);
    else
        dWorldStep(scene.world, scene.step);
    dJointGroupEmpty(scene.contacts);
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    int steps = atoi(argv[2]);
    dInitODE2(0);
    dAllocateODEDataForThread(dAllocateMaskAll);
    read_scene(argv[1]);
    scene.forbidding = 1;
    collide();
    scene.forbidding = 0;
    double start = cpu_seconds();
    for (int i = 0; i < steps; i++)
        step();
    printf("%.6f %.6f\n", (cpu_seconds() - start) / steps * 1e6,
           scene.last ? dBodyGetPosition(scene.last)[2] : 0.0);
    return 0;
}
