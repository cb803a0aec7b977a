/* Tests of the C core by itself: rows and friction beside finite differences, the factor and the line
 * search beside plain methods, areas of patches beside closed forms, kept contacts and pairs of bodies
 * beside a search through all, trees of boxes. `core_tests NAME` runs one; test_core_in_c.py compiles
 * and runs it. */
#include "bounds.h"
#include "contact_set.h"
#include "exact.h"
#include "factor.h"
#include "friction.h"
#include "guard.h"
#include "joints.h"
#include "order.h"
#include "patch.h"
#include "rows.h"
#include "search.h"
#include "solver.h"
#include "sweep.h"
#include "tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP 1e-3
#define ERP 0.4
#define CFM 1e-6
#define MOST_LINKS 12

static int failures;

static void check(int good, const char *what, double found, double expected)
{
    if (good)
        return;
    failures++;
    printf("%s: %.17g instead of %.17g\n", what, found, expected);
}

static void check_near(const char *what, double found, double expected, double tolerance)
{
    check(fabs(found - expected) <= tolerance, what, found, expected);
}

/* Return a number from -1 to 1; equal in every run. */
static double draw(void)
{
    static unsigned long long state = 1;
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(state >> 11) / (double)(1ull << 52) - 1.0;
}

static void draw_unit(dReal v[3])
{
    do
        for (int i = 0; i < 3; i++)
            v[i] = draw();
    while (!(dot3(v, v) > 0.01 && dot3(v, v) < 1.0));
    const double length = sqrt(dot3(v, v));
    for (int i = 0; i < 3; i++)
        v[i] /= length;
}

/* A world with one body whose groups are held by loops alone. */
static World world;
static Body thing;
static Body *bodies[] = {&thing};
static dBodyID groups[MOST_LINKS];
static Loop loops[MOST_LINKS];

static dBodyID group_new(void)
{
    dMass mass;
    dMatrix3 R;
    dReal axis[3];
    draw_unit(axis);
    dRFromAxisAndAngle(R, axis[0], axis[1], axis[2], 2.0 * draw());
    dMassSetBoxTotal(&mass, 1.5 + draw(), 0.3, 0.2, 0.1);
    const dBodyID group = dBodyCreate(world.world);
    dBodySetMass(group, &mass);
    dBodySetRotation(group, R);
    dBodySetPosition(group, draw(), draw(), draw());
    return group;
}

static System *system_of(int group_count)
{
    world = (World){.world = dWorldCreate(), .step = STEP, .bodies = bodies, .count = 1};
    dWorldSetERP(world.world, ERP);
    dWorldSetCFM(world.world, CFM);
    for (int i = 0; i < group_count; i++)
        groups[i] = group_new();
    memset(loops, 0, sizeof loops);
    thing = (Body){.groups = group_count, .group = groups, .loop = loops};
    hrp_system_create(&world);
    return world.system;
}

static void system_drop(void)
{
    hrp_system_free(&world);
    dWorldDestroy(world.world);
}

static void attach(Attachment *attachment, int kind, dBodyID first, dBodyID second)
{
    dReal anchor[3] = {draw(), draw(), draw()}, axis[3];
    draw_unit(axis);
    hrp_attachment_init(attachment, kind, first, second, anchor, axis);
}

/* Move a group for a time with its velocity. */
static void group_move(dBodyID group, double time)
{
    const dReal *v = dBodyGetLinearVel(group), *w = dBodyGetAngularVel(group);
    const dReal *p = dBodyGetPosition(group), speed = sqrt(dot3(w, w));
    dQuaternion turn, turned;
    dQFromAxisAndAngle(turn, w[0], w[1], w[2], speed * time);
    dQMultiply0(turned, turn, dBodyGetQuaternion(group));
    dBodySetPosition(group, p[0] + v[0] * time, p[1] + v[1] * time, p[2] + v[2] * time);
    dBodySetQuaternion(group, turned);
}

/* Errors of a joint follow from the targets of its rows at rest: -ERP / h times the error. */
static void errors_read(System *system, double errors[6])
{
    const Coupling *coupling = &system->couplings[0];
    hrp_couplings_fill(&world, system);
    for (int r = 0; r < coupling->rows; r++) {
        double rate = 0.0;
        for (int side = 0; side < 2; side++) {
            const int node = side ? coupling->second : coupling->first;
            rate += hrp_velocity_along(system, node,
                                       (side ? coupling->J_second : coupling->J_first) + 6 * r);
        }
        errors[r] = -(coupling->target[r] + rate) * STEP / ERP;
    }
}

/* Rows of joints are the derivatives of their errors, where these are small. */
static void test_rows(void)
{
    static const char *names[] = {"ball", "hinge", "fixed", "piston", "xy", "z"};
    static const int kinds[] = {ATTACH_BALL, ATTACH_HINGE, ATTACH_FIXED, ATTACH_PISTON,
                                ATTACH_XY,   ATTACH_Z};
    for (int k = 0; k < 6; k++)
        for (int to_world = 0; to_world < 2; to_world++) {
            System *system = system_of(2);
            thing.loops = 1;
            attach(&loops[0].attachment, kinds[k], groups[0], to_world ? NULL : groups[1]);
            hrp_system_list(&world, system);
            for (int i = 0; i < 2; i++) {
                dBodySetLinearVel(groups[i], draw(), draw(), draw());
                dBodySetAngularVel(groups[i], draw(), draw(), draw());
            }
            double before[6], after[6], rates[6], time = 1e-5;
            const Coupling *coupling = &system->couplings[0];
            errors_read(system, before);
            for (int r = 0; r < coupling->rows; r++)
                rates[r] = hrp_velocity_along(system, coupling->first, coupling->J_first + 6 * r) +
                           hrp_velocity_along(system, coupling->second, coupling->J_second + 6 * r);
            for (int i = 0; i < 2; i++)
                group_move(groups[i], -time);
            errors_read(system, before);
            for (int i = 0; i < 2; i++)
                group_move(groups[i], 2.0 * time);
            errors_read(system, after);
            for (int r = 0; r < coupling->rows; r++)
                check_near(names[k], (after[r] - before[r]) / (2.0 * time), rates[r], 1e-4);
            system_drop();
        }
}

/* Solve A x = b by Gauss' method with pivots; A is overwritten. */
static void gauss(int n, double *A, double *b)
{
    for (int k = 0; k < n; k++) {
        int pivot = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(A[i * n + k]) > fabs(A[pivot * n + k]))
                pivot = i;
        for (int j = 0; j < n; j++) {
            const double swap = A[k * n + j];
            A[k * n + j] = A[pivot * n + j];
            A[pivot * n + j] = swap;
        }
        const double swap = b[k];
        b[k] = b[pivot];
        b[pivot] = swap;
        for (int i = k + 1; i < n; i++) {
            const double factor = A[i * n + k] / A[k * n + k];
            for (int j = k; j < n; j++)
                A[i * n + j] -= factor * A[k * n + j];
            b[i] -= factor * b[k];
        }
    }
    for (int k = n - 1; k >= 0; k--) {
        for (int j = k + 1; j < n; j++)
            b[k] -= A[k * n + j] * b[j];
        b[k] /= A[k * n + k];
    }
}

/* Write [M J^T; J -S], by position. */
static void matrix_write(const System *system, int n, double *A)
{
    memset(A, 0, sizeof *A * (size_t)n * (size_t)n);
    for (int g = 0; g < system->node_count; g++) {
        const Node *node = &system->nodes[g];
        const int at = 6 * system->position_of[g];
        for (int i = 0; i < 3; i++) {
            A[(at + i) * n + at + i] = node->mass;
            for (int j = 0; j < 3; j++)
                A[(at + 3 + i) * n + at + 3 + j] = node->I_W[3 * i + j];
        }
    }
    for (int c = 0; c < system->coupling_count; c++) {
        const Coupling *coupling = &system->couplings[c];
        const int at = 6 * system->position_of[system->node_count + c];
        for (int r = 0; r < 6; r++) {
            const int row = at + r;
            A[row * n + row] = r < coupling->rows ? -coupling->softness[r] : -1.0;
            for (int side = 0; side < 2 && r < coupling->rows; side++) {
                const int node = side ? coupling->second : coupling->first;
                const dReal *J = (side ? coupling->J_second : coupling->J_first) + 6 * r;
                for (int k = 0; node != WORLD_NODE && k < 6; k++) {
                    const int column = 6 * system->position_of[node] + k;
                    A[row * n + column] += J[k];
                    A[column * n + row] += J[k];
                }
            }
        }
    }
}

/* Set and factor all islands; copy what solutions read of them. Returns how many columns were set. */
static int factor_copy(System *system, int is_first, dReal *copy)
{
    int changed = 0;
    for (int i = 0; i < system->island_count; i++) {
        hrp_matrix_assemble(system, &system->islands[i], is_first);
        check(hrp_matrix_factor(&world, &system->islands[i]), "factor", 0.0, 1.0);
    }
    const int vertices = system->node_count + system->coupling_count;
    for (int at = 0; at < vertices; at++) {
        changed += system->is_changed[at];
        for (int row = 0; row < 6; row++)
            for (int k = 0; k <= row; k++)
                *copy++ = system->pivot[36 * at + 6 * row + k];
    }
    memcpy(copy, system->block, 36 * sizeof *copy * (size_t)system->column_start[vertices]);
    return changed;
}

/* Where rows become free or fixed, the columns that change make the factor of the whole matrix. */
static void update_test(System *system)
{
    const int vertices = system->node_count + system->coupling_count;
    const int numbers = 21 * vertices + 36 * system->column_start[vertices];
    dReal *update = calloc((size_t)numbers, sizeof *update);
    dReal *whole = calloc((size_t)numbers, sizeof *whole);
    for (int c = 0; c < system->coupling_count; c++) {
        Coupling *coupling = &system->couplings[c];
        coupling->axis_rows = coupling->rows == 5;
        coupling->axis[0] = (BoundedRow){.softness = 0.1 + draw() * draw(), .is_free = c % 2};
        for (int k = 0; k < 6; k++) {
            coupling->axis_first[k] = draw();
            coupling->axis_second[k] = draw();
        }
    }
    check(factor_copy(system, 1, update) == vertices, "all columns", 0.0, 1.0);
    check(factor_copy(system, 0, whole) == 0, "no column", 0.0, 1.0);
    check(memcmp(update, whole, sizeof *whole * (size_t)numbers) == 0, "as it was", 0.0, 1.0);
    for (int c = 0; c < system->coupling_count; c++) {
        BoundedRow *row = &system->couplings[c].axis[0];
        row->is_free ^= c % 3 == 0;
        factor_copy(system, 0, update);
        factor_copy(system, 1, whole);
        check(memcmp(update, whole, sizeof *whole * (size_t)numbers) == 0, "update", 0.0, 1.0);
    }
    free(update);
    free(whole);
}

/* Solutions with the factor of a tree with loops are those of a dense matrix. */
static void test_factor(void)
{
    for (int count = 1; count <= MOST_LINKS; count++) {
        System *system = system_of(count);
        thing.loops = count;
        for (int i = 0; i < count; i++) { /* the last one closes a loop */
            const int other =
                i + 1 < count ? (i + 1) * (int)(1000.0 + 999.0 * draw()) % (i + 1) : -1;
            const int first = i + 1 < count ? i + 1 : 0;
            attach(&loops[i].attachment, ATTACH_BALL + i % 4, groups[first],
                   other < 0 ? NULL : groups[other]);
        }
        hrp_system_list(&world, system);
        hrp_couplings_fill(&world, system);
        check(hrp_structure_update(&world), "order", 0.0, 1.0);
        const int n = 6 * (system->node_count + system->coupling_count);
        double *A = malloc(sizeof *A * (size_t)n * (size_t)n), *b = malloc(sizeof *b * (size_t)n);
        double *x = malloc(sizeof *x * (size_t)n), largest = 0.0;
        matrix_write(system, n, A);
        for (int i = 0; i < n; i++)
            x[i] = b[i] = draw();
        for (int i = 0; i < system->island_count; i++) {
            hrp_matrix_assemble(system, &system->islands[i], 1);
            check(hrp_matrix_factor(&world, &system->islands[i]), "factor", 0.0, 1.0);
            hrp_matrix_solve(system, &system->islands[i], x);
        }
        gauss(n, A, b);
        for (int i = 0; i < n; i++)
            largest = max_real(largest, fabs(b[i]));
        for (int i = 0; i < n; i++)
            check_near("solution", x[i], b[i], 1e-9 * largest);
        update_test(system);
        free(A);
        free(b);
        free(x);
        system_drop();
    }
}

/* Return the function that Newton's method minimizes at a fraction of a step: that of rows, and a
 * linear one, such that all rows are in balance where none has bounds. */
static double energy(const BoundedRow *rows, int count, double x)
{
    double sum = 0.0;
    for (int i = 0; i < count; i++) {
        const BoundedRow *row = &rows[i];
        const double wanted = row->wanted_before + x * (row->wanted - row->wanted_before);
        const double p = clamp(wanted, row->lower, row->upper);
        sum += row->softness * p * (wanted - 0.5 * p); /* phi' = -p, wanted = -rate / softness */
        sum += x * (row->rate - row->rate_before) * row->impulse;
    }
    return sum;
}

/* The line search ends where the function is least along the step. */
static void test_line_search(void)
{
    for (int trial = 0; trial < 100; trial++) {
        BoundedRow rows[8], *all[8];
        System system = {.node_count = 0};
        Island island = {.first = 0};
        View view = {.system = &system, .island = &island, .rows = all, .row_count = 8};
        for (int i = 0; i < 8; i++) {
            all[i] = &rows[i];
            rows[i] = (BoundedRow){
                .softness = 1.5 + draw(), .lower = -1.5 + draw(), .upper = 1.5 + draw()};
            rows[i].rate_before = 6.0 * draw();
            rows[i].rate = 6.0 * draw();
            rows[i].wanted_before = -rows[i].rate_before / rows[i].softness;
            rows[i].wanted = -rows[i].rate / rows[i].softness;
            rows[i].impulse = rows[i].wanted; /* as if all were free in Newton's model */
        }
        const double found = hrp_line_search(&view), least = energy(rows, 8, found);
        check(found > 0.0 && found <= 1.0, "fraction", found, 1.0);
        for (int i = 0; i <= 1000; i++)
            check(energy(rows, 8, i / 1000.0) >= least - 1e-9, "energy",
                  energy(rows, 8, i / 1000.0), least);
    }
}

/* Mean and variance of the area of a patch are those of a rectangle and of a disc. */
static void test_patch(void)
{
    const double width = 0.3, depth = 0.2;
    Touch touches[4];
    Friction friction = {.touch = 0, .corners = 4, .mu = 1.0, .radius = 0.5 * hypot(width, depth)};
    FrictionPoints points[MAX_PATCH_POINTS];
    System system = {.touches = touches, .frictions = &friction, .friction_points = points};
    memset(touches, 0, sizeof touches);
    for (int i = 0; i < 4; i++) {
        touches[i].at[0] = (i == 0 || i == 3 ? -0.5 : 0.5) * width;
        touches[i].at[1] = (i < 2 ? -0.5 : 0.5) * depth;
        touches[i].next = i < 3 ? i + 1 : -1;
    }
    hrp_patch_area_set(&system, &friction);
    check_near("variance x", friction.variance[0], width * width / 12.0, 1e-12);
    check_near("variance xy", friction.variance[1], 0.0, 1e-12);
    check_near("variance y", friction.variance[2], depth * depth / 12.0, 1e-12);
    hrp_patch_points_set(&system, &friction);
    double share = 0.0, square = 0.0;
    for (int i = friction.points; i < friction.points_end; i++)
        for (int k = 0; k < 4; k++) {
            share += points[i].share[k];
            square += points[i].share[k] * points[i].x[k] * points[i].x[k];
        }
    check_near("shares", share, 1.0, 1e-12);
    check_near("second moment", square, width * width / 12.0, 1e-12);
}

/* The slope of a line that turns and slides, of which some points hold, is minus the derivative of
 * its impulse; both are those of the work that friction does along a step. */
static void test_friction(void)
{
    const double length = 0.4, e = 1e-6, change[3] = {0.3, -0.2, 0.5};
    static const int at[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
    Touch touches[2];
    Friction friction = {.touch = 0,
                         .corners = 2,
                         .mu = 0.5,
                         .along = {1.0, 0.7},
                         .radius = 0.5 * length,
                         .load = 3.0,
                         .stiffness = 60.0,
                         .before = {0.01, 0.02, 0.3}};
    FrictionPoints points[MAX_PATCH_POINTS];
    System system = {.touches = touches, .frictions = &friction, .friction_points = points};
    memset(touches, 0, sizeof touches);
    for (int i = 0; i < 2; i++) {
        touches[i].at[0] = (i - 0.5) * length;
        touches[i].next = i < 1 ? i + 1 : -1;
    }
    hrp_patch_area_set(&system, &friction);
    hrp_friction_linearize(&system, &friction);
    check_near("is one that slips", friction.sticks, 0.0, 0.0);
    double slope[6], impulse[3], along = 0.0, steep = 0.0;
    memcpy(slope, friction.slope, sizeof slope);
    memcpy(impulse, friction.impulse, sizeof impulse);
    for (int k = 0; k < 3; k++) {
        double ends[2][3];
        for (int side = 0; side < 2; side++) {
            friction.rate[k] = side ? e : -e;
            hrp_friction_linearize(&system, &friction);
            memcpy(ends[side], friction.impulse, sizeof ends[side]);
        }
        friction.rate[k] = 0.0;
        for (int r = 0; r < 3; r++) {
            check_near("slope", slope[at[r][k]], (ends[0][r] - ends[1][r]) / (2.0 * e), 1e-3);
            steep += change[r] * slope[at[r][k]] * change[k];
        }
        along -= change[k] * impulse[k];
        friction.rate_before[k] = 0.0;
    }
    memcpy(friction.rate, change, sizeof change);
    memset(friction.impulse, 0, sizeof friction.impulse);
    double derivative = 0.0, curvature = 0.0;
    hrp_friction_search_begin(&system, &friction);
    hrp_friction_search(&system, &friction, 0.0, &derivative, &curvature);
    check_near("derivative", derivative, along, 1e-9);
    check_near("curvature", curvature, steep, 1e-9);
}

/* Of many points in a plane, the corners of their hull are kept, and at most so many. */
static void test_contact_set(void)
{
    static ContactSet set;
    for (int trial = 0; trial < 50; trial++) {
        dReal farthest[16];
        set.count = 0;
        for (int k = 0; k < 16; k++)
            farthest[k] = -dInfinity;
        for (int i = 0; i < 60; i++) {
            ContactPoint *point = hrp_contact_set_append(&set, NULL, NULL);
            point->at.pos[0] = draw();
            point->at.pos[1] = draw();
            point->at.normal[2] = 1.0;
            for (int k = 0; k < 16; k++)
                farthest[k] =
                    max_real(farthest[k], cos(k) * point->at.pos[0] + sin(k) * point->at.pos[1]);
        }
        hrp_contact_set_reduce(&set, trial % 2 ? 4 : 50);
        check(set.count <= (trial % 2 ? 4 : 50) && set.count > 2, "count", set.count, 4.0);
        for (int k = 0; k < 16 && trial % 2 == 0; k++) {
            dReal kept = -dInfinity;
            for (int i = 0; i < set.count; i++)
                kept = max_real(kept, cos(k) * set.points[i].at.pos[0] +
                                          sin(k) * set.points[i].at.pos[1]);
            check_near("support", kept, farthest[k], 1e-12);
        }
    }
}

/* The sweep finds the pairs of boxes that a search through all finds, in their order. */
static void test_sweep(void)
{
    enum { COUNT = 40 };
    static Body many[COUNT];
    Body *all[COUNT];
    World of_boxes = {.bodies = all, .count = COUNT};
    for (int trial = 0; trial < 20; trial++) {
        for (int i = 0; i < COUNT; i++) {
            all[i] = &many[i];
            for (int k = 0; k < 3; k++) {
                const double at = 3.0 * draw(), half = 0.5 + 0.4 * draw();
                many[i].moving.box[2 * k] = many[i].fixed.box[2 * k] = at - half;
                many[i].moving.box[2 * k + 1] = many[i].fixed.box[2 * k + 1] = at + half;
            }
        }
        check(hrp_sweep_pairs(&of_boxes), "sweep", 0.0, 1.0);
        int count = 0;
        for (int i = 0; i < COUNT; i++)
            for (int j = i + 1; j < COUNT; j++) {
                const dReal *a = many[i].moving.box, *b = many[j].moving.box;
                int meets = 1;
                for (int k = 0; k < 3; k++)
                    meets &= a[2 * k] <= b[2 * k + 1] && b[2 * k] <= a[2 * k + 1];
                if (!meets)
                    continue;
                const int *pair = of_boxes.sweep.found[count].bodies;
                check(count < of_boxes.sweep.pair_count && pair[0] == i && pair[1] == j, "pair", i,
                      j);
                count++;
            }
        check(count == of_boxes.sweep.pair_count && count > 10, "pairs", of_boxes.sweep.pair_count,
              count);
    }
    hrp_sweep_free(&of_boxes.sweep);
}

/* Visit a node: its box of each part contains what is in it. Returns how many items it has. */
static int node_check(const Tree *tree, const TreeItem *items, int number, int leaf, int depth,
                      dReal whole[6])
{
    const TreeNode *node = &tree->nodes[number];
    int count = 0, parts = 0;
    hrp_box_clear(whole);
    check((TREE_WIDTH - 1) * depth < TREE_STACK, "depth", depth, 0.0);
    for (int k = 0; k < TREE_WIDTH; k++) {
        dReal box[6], inside[6];
        for (int side = 0; side < 6; side++)
            box[side] = node->box[side][k];
        if (node->count[k] == 0 && node->first[k] == 0)
            continue;
        hrp_box_clear(inside);
        parts++;
        count += node->count[k] ? node->count[k]
                                : node_check(tree, items, node->first[k], leaf, depth + 1, inside);
        check(node->count[k] <= leaf, "side by side", node->count[k], leaf);
        for (int i = 0; i < node->count[k]; i++)
            hrp_box_unite(inside, items[node->first[k] + i].box);
        for (int side = 0; side < 6; side++)
            check(box[side] == inside[side], "box", box[side], inside[side]);
        hrp_box_unite(whole, box);
    }
    check(parts > 1 || (depth == 0 && count <= leaf), "parts", parts, 2.0);
    return count;
}

static double place_of(int kind, int i)
{
    switch (kind) {
    case 0:
        return draw();
    case 1:
        return 0.5; /* all at one place */
    case 2:
        return ldexp(1.0, -(i % 1000)); /* ever closer */
    default:
        return i % 3 == 0 ? NAN : i % 3 == 1 ? dInfinity : draw();
    }
}

/* A tree has each item once, in boxes that are no larger than needed, and is never too deep. */
static void test_tree(void)
{
    enum { MOST = 3000 };
    static TreeItem items[MOST];
    static int seen[MOST];
    static const int counts[] = {0, 1, 2, 4, 5, 37, MOST};
    Tree tree = {NULL, 0, 0};
    for (int trial = 0; trial < 7 * 4 * 4; trial++) {
        const int count = counts[trial % 7], kind = trial / 7 % 4;
        const int leaf = trial / 28 % 2 ? 4 : 1, levels = trial / 56 ? TREE_LEVELS : 0;
        dReal whole[6];
        for (int i = 0; i < count; i++) {
            items[i].number = i;
            for (int k = 0; k < 3; k++) {
                items[i].box[2 * k] = place_of(kind, i);
                items[i].box[2 * k + 1] = items[i].box[2 * k] + 0.1 * fabs(draw());
            }
        }
        check(hrp_tree_build(&tree, items, count, leaf, levels), "tree", 0.0, 1.0);
        const int found = node_check(&tree, items, 0, leaf, 0, whole);
        check(found == count, "items", found, count);
        memset(seen, 0, sizeof seen);
        for (int i = 0; i < count; i++)
            check(seen[items[i].number]++ == 0, "item", i, items[i].number);
    }
    hrp_tree_free(&tree);
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } tests[] = {
        {"rows", test_rows},   {"factor", test_factor},           {"line_search", test_line_search},
        {"patch", test_patch}, {"contact_set", test_contact_set}, {"sweep", test_sweep},
        {"tree", test_tree},   {"friction", test_friction}};
    dInitODE2(0);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (count == 2 && strcmp(arguments[1], tests[i].name) == 0) {
            tests[i].run();
            return failures > 0;
        }
    return 2;
}
