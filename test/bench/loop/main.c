/* Reads commands and measures times.
 *
 *     loop SCENE [ordered]
 *
 * reads a scene and then commands from its standard input, each a letter and a count:
 *
 *     s N    take N steps                                   answers CPU seconds
 *     r N    take N steps, read the state out after each    answers CPU seconds
 *     l N    take N steps, cast the rays after each         answers CPU seconds of the rays
 *     p 0    positions of all links, as they are now        answers 3 numbers a link
 *     d 0    distances along the rays                       answers a number a ray
 */
#include "loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void attempt(void)
{
    for (int i = 0; i < scene.bodies; i++) {
        if (!scene.original)
            body_to_middle(&scene.body[i]);
        joints_drive(&scene.body[i]);
    }
    for (int i = 0; i < scene.bodies; i++)
        loops_hold(&scene.body[i]);
    contacts_create();
    if (scene.quick)
        dWorldQuickStep(scene.world, scene.step);
    else
        dWorldStep(scene.world, scene.step);
    dJointGroupEmpty(scene.contacts);
    for (int i = 0; i < scene.bodies; i++) {
        if (scene.original)
            joints_read(&scene.body[i]);
        else
            body_to_end(&scene.body[i]);
        joints_weigh(&scene.body[i]);
    }
}

/* Step; repeat with efforts bounded that left their ranges. */
static void step(void)
{
    if (!scene.remembers) {
        attempt();
        return;
    }
    unsigned long seed = dRandGetSeed();
    for (int i = 0; i < scene.bodies; i++)
        state_save(&scene.body[i]);
    for (;;) {
        int exceeds = 0;
        attempt();
        for (int i = 0; i < scene.bodies; i++)
            exceeds |= joints_exceed(&scene.body[i]);
        if (!exceeds)
            return;
        for (int i = 0; i < scene.bodies; i++)
            state_restore(&scene.body[i]);
        dRandSetSeed(seed);
    }
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double steps(int count, int read_out)
{
    double start = cpu_seconds();
    for (int i = 0; i < count; i++) {
        step();
        if (read_out)
            motion_read(scene.step);
    }
    return cpu_seconds() - start;
}

static double scans(int count)
{
    double taken = 0.0;
    for (int i = 0; i < count; i++) {
        step();
        double start = cpu_seconds();
        rays_cast();
        taken += cpu_seconds() - start;
    }
    return taken;
}

static void print_positions(void)
{
    motion_read(scene.step);
    for (int i = 0; i < scene.bodies; i++)
        for (int k = 0; k < scene.body[i].links; k++)
            for (int axis = 0; axis < 3; axis++)
                printf("%.17g ", scene.body[i].motion[k].p[axis]);
    puts("");
}

static void print_distances(void)
{
    rays_cast();
    for (int n = 0; n < scene.rays; n++)
        printf("%.17g ", scene.ray_distance[n]);
    puts("");
}

static void obey(char command, int count)
{
    switch (command) {
    case 's':
        printf("%.9f\n", steps(count, 0));
        break;
    case 'r':
        printf("%.9f\n", steps(count, 1));
        break;
    case 'l':
        printf("%.9f\n", scans(count));
        break;
    case 'p':
        print_positions();
        break;
    case 'd':
        print_distances();
        break;
    default:
        fprintf(stderr, "no command '%c'\n", command);
        exit(2);
    }
    fflush(stdout);
}

/* The original's contacts cause a message of ODE in every step, which it ignores, too. */
static void ignore(int number, const char *message, va_list arguments)
{
    (void)number, (void)message, (void)arguments;
}

int main(int argc, char **argv)
{
    char command;
    int count;
    if (argc < 2)
        return 2;
    dInitODE2(0);
    dAllocateODEDataForThread(dAllocateMaskAll);
    dSetMessageHandler(ignore);
    scene.ordered = argc > 2;
    scene_read(argv[1]);
    overlaps_forbid();
    printf("%s\n", dODE_VERSION);
    fflush(stdout);
    while (scanf(" %c %d", &command, &count) == 2)
        obey(command, count);
    return 0;
}
