/* A scene from its file of float64 numbers, in the order of the functions below; it is
 * written by test/bench/comparison/scene_file.py. */
#include "loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Scene scene;

static FILE *file;

void *array(int count, size_t size)
{
    void *memory = calloc((size_t)count + 1, size);
    if (!memory)
        exit(1);
    return memory;
}

void numbers(double *values, int count)
{
    if (fread(values, sizeof *values, (size_t)count, file) != (size_t)count) {
        fprintf(stderr, "the scene ends too early\n");
        exit(1);
    }
}

double number(void)
{
    double value;
    numbers(&value, 1);
    return value;
}

int integer(void)
{
    return (int)number();
}

void matrix(dMatrix3 R)
{
    double v[9];
    numbers(v, 9);
    for (int i = 0; i < 9; i++)
        R[4 * (i / 3) + i % 3] = v[i];
    R[3] = R[7] = R[11] = 0.0;
}

static void place(dBodyID group)
{
    double p[3];
    dMatrix3 R;
    matrix(R);
    numbers(p, 3);
    dBodySetPosition(group, p[0], p[1], p[2]);
    dBodySetRotation(group, R);
}

static void settings_read(void)
{
    double *g = scene.gravity;
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
    scene.original = integer();
    scene.materials = integer();
    scene.friction = array(scene.materials * scene.materials, sizeof(double));
    scene.restitution = array(scene.materials * scene.materials, sizeof(double));
    engine_begin(scene.step);
    numbers(scene.friction, scene.materials * scene.materials);
    numbers(scene.restitution, scene.materials * scene.materials);
}

static void links_read(Body *body)
{
    body->link = array(body->links, sizeof *body->link);
    body->motion = array(body->links, sizeof *body->motion);
    for (int i = 0; i < body->links; i++) {
        Link *link = &body->link[i];
        link->group = integer();
        link->watched = integer();
        numbers(link->R, 9);
        numbers(link->p, 3);
        numbers(link->track_axis, 3);
        link->track_speed = number();
    }
}

static void groups_read(Body *body, int is_kinematic)
{
    body->group = array(body->groups, sizeof *body->group);
    body->saved = array(body->groups, sizeof *body->saved);
    for (int g = 0; g < body->groups; g++) {
        double I[9], m = number();
        dMass mass;
        numbers(I, 9);
        dMassSetParameters(&mass, m, 0, 0, 0, I[0], I[4], I[8], I[1], I[2], I[5]);
        body->group[g] = dBodyCreate(scene.world);
        dBodySetMass(body->group[g], &mass);
        dBodySetFiniteRotationMode(body->group[g], !scene.original);
        dBodySetGyroscopicMode(body->group[g], scene.original);
        place(body->group[g]);
    }
    if (is_kinematic)
        dBodySetKinematic(body->group[0]);
}

static void groups_start(Body *body)
{
    for (int g = 0; g < body->groups; g++) {
        double v[3], w[3];
        place(body->group[g]);
        numbers(v, 3);
        numbers(w, 3);
        dBodySetLinearVel(body->group[g], v[0], v[1], v[2]);
        dBodySetAngularVel(body->group[g], w[0], w[1], w[2]);
    }
}

/* A body with several shapes has its own space. */
static dSpaceID space_of(int geoms)
{
    if (scene.original)
        return dHashSpaceCreate(scene.all);
    return geoms > 1 ? dSimpleSpaceCreate(scene.all) : scene.all;
}

static void body_read(int of_body)
{
    Body *body = &scene.body[of_body];
    int order[2] = {0, 0};
    body->links = integer();
    body->groups = integer();
    body->joints = integer();
    body->loops = integer();
    int geoms = integer(), is_kinematic = integer();
    body->allowed = array(body->links * body->links, sizeof(int));
    for (int i = 0; i < body->links * body->links; i++)
        body->allowed[i] = integer();
    links_read(body);
    groups_read(body, is_kinematic);
    joints_create(body);
    groups_start(body);
    body->loop = array(body->loops, sizeof *body->loop);
    for (int i = 0; i < body->loops; i++)
        loop_create(body, &body->loop[i]);
    body->space = space_of(geoms);
    body->engine = engine_body(body->groups, body->group, geoms);
    for (int k = 0; k < geoms; k++)
        geom_create(of_body, order);
    shapes_end(body->engine, tag_complete);
    joints_read(body);
}

static void rays_read(void)
{
    scene.rays = integer();
    if (!scene.rays)
        return;
    scene.ray_body = integer();
    scene.ray_reach = number();
    scene.ray_origin = array(3 * scene.rays, sizeof(double));
    scene.ray_direction = array(3 * scene.rays, sizeof(double));
    scene.ray_distance = array(scene.rays, sizeof(double));
    numbers(scene.ray_origin, 3 * scene.rays);
    numbers(scene.ray_direction, 3 * scene.rays);
}

void scene_read(const char *path)
{
    file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    settings_read();
    scene.all = scene.original ? dHashSpaceCreate(0) : dSimpleSpaceCreate(0);
    scene.standing = dSimpleSpaceCreate(scene.all);
    scene.untouched = dSimpleSpaceCreate(0);
    scene.contacts = dJointGroupCreate(0);
    scene.bodies = integer();
    scene.body = array(scene.bodies, sizeof *scene.body);
    for (int body = 0; body < scene.bodies; body++)
        body_read(body);
    rays_read();
    fclose(file);
}
