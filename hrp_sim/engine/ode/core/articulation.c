/* The arrays of an Articulation, and whether what they contain can be simulated. */
#include "articulation.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#define MAX_VALUE 1e30 /* of any number of a body, in SI units */

const FlatColumn hrp_flat_columns[FLAT_FIELDS] = {
    [LINK_GROUP] = {"links", "group", 'i', 1, PER_LINK},
    [LINK_R] = {"links", "R", 'd', 9, PER_LINK},
    [LINK_P] = {"links", "p", 'd', 3, PER_LINK},
    [LINK_TRACK_AXIS] = {"links", "track_axis", 'd', 3, PER_LINK},
    [LINK_WATCHED] = {"links", "watched", 'i', 1, PER_LINK},
    [GROUP_MASS] = {"groups", "mass", 'd', 1, PER_GROUP},
    [GROUP_INERTIA] = {"groups", "inertia", 'd', 9, PER_GROUP},
    [GROUP_LIFT] = {"groups", "lift", 'd', 4, PER_GROUP},
    [GROUP_ZERO_R] = {"groups", "zero_R", 'd', 9, PER_GROUP},
    [GROUP_ZERO_P] = {"groups", "zero_p", 'd', 3, PER_GROUP},
    [GROUP_R] = {"groups", "R", 'd', 9, PER_GROUP},
    [GROUP_P] = {"groups", "p", 'd', 3, PER_GROUP},
    [GROUP_V] = {"groups", "v", 'd', 3, PER_GROUP},
    [GROUP_W] = {"groups", "w", 'd', 3, PER_GROUP},
    [JOINT_KIND] = {"joints", "kind", 'i', 1, PER_JOINT},
    [JOINT_LINK] = {"joints", "link", 'i', 1, PER_JOINT},
    [JOINT_COORDINATE] = {"joints", "coordinate", 'i', 1, PER_JOINT},
    [JOINT_CHILD] = {"joints", "child", 'i', 1, PER_JOINT},
    [JOINT_PARENT] = {"joints", "parent", 'i', 1, PER_JOINT},
    [JOINT_ANCHOR] = {"joints", "anchor", 'd', 3, PER_JOINT},
    [JOINT_AXIS] = {"joints", "axis", 'd', 3, PER_JOINT},
    [JOINT_LOWER] = {"joints", "lower", 'd', 1, PER_JOINT},
    [JOINT_UPPER] = {"joints", "upper", 'd', 1, PER_JOINT},
    [JOINT_EFFORT_LOWER] = {"joints", "effort_lower", 'd', 1, PER_JOINT},
    [JOINT_EFFORT_UPPER] = {"joints", "effort_upper", 'd', 1, PER_JOINT},
    [JOINT_ROTOR_INERTIA] = {"joints", "rotor_inertia", 'd', 1, PER_JOINT},
    [JOINT_DAMPING] = {"joints", "damping", 'd', 1, PER_JOINT},
    [JOINT_FRICTION] = {"joints", "friction", 'd', 1, PER_JOINT},
    [JOINT_STIFFNESS] = {"joints", "stiffness", 'd', 1, PER_JOINT},
    [JOINT_REST] = {"joints", "rest", 'd', 1, PER_JOINT},
    [LOOP_KIND] = {"loops", "kind", 'i', 1, PER_LOOP},
    [LOOP_A] = {"loops", "a", 'i', 1, PER_LOOP},
    [LOOP_B] = {"loops", "b", 'i', 1, PER_LOOP},
    [LOOP_R_A] = {"loops", "R_a", 'd', 9, PER_LOOP},
    [LOOP_P_A] = {"loops", "p_a", 'd', 3, PER_LOOP},
    [LOOP_R_B] = {"loops", "R_b", 'd', 9, PER_LOOP},
    [LOOP_P_B] = {"loops", "p_b", 'd', 3, PER_LOOP},
    [LOOP_AXIS] = {"loops", "axis", 'd', 3, PER_LOOP},
    [GEAR_FOLLOWER] = {"gears", "follower", 'i', 1, PER_GEAR},
    [GEAR_LEADER] = {"gears", "leader", 'i', 1, PER_GEAR},
    [GEAR_RATIO] = {"gears", "ratio", 'd', 1, PER_GEAR},
    [GEAR_OFFSET] = {"gears", "offset", 'd', 1, PER_GEAR},
    [GEOM_KIND] = {"geoms", "kind", 'i', 1, PER_GEOM},
    [GEOM_LINK] = {"geoms", "link", 'i', 1, PER_GEOM},
    [GEOM_SIZE] = {"geoms", "size", 'd', 3, PER_GEOM},
    [GEOM_R] = {"geoms", "R", 'd', 9, PER_GEOM},
    [GEOM_P] = {"geoms", "p", 'd', 3, PER_GEOM},
    [GEOM_MATERIAL] = {"geoms", "material", 'i', 1, PER_GEOM},
    [GEOM_SURFACE] = {"geoms", "surface", 'd', SURFACE_NUMBERS, PER_GEOM},
    [GEOM_FIRST_VERTEX] = {"geoms", "first_vertex", 'i', 1, PER_GEOM_AND_END},
    [GEOM_FIRST_TRIANGLE] = {"geoms", "first_triangle", 'i', 1, PER_GEOM_AND_END},
    [VERTICES] = {"geoms", "vertices", 'd', 3, PER_VERTEX},
    [TRIANGLES] = {"geoms", "triangles", 'i', 3, PER_TRIANGLE},
    [CONTACTS] = {NULL, "contacts", 'i', 1, PER_PAIR},
    [START_Q] = {NULL, "q", 'd', 1, PER_COORDINATE},
    [START_DQ] = {NULL, "dq", 'd', 1, PER_COORDINATE},
};

/* The field whose length determines each count; the others must agree. */
static const FlatField first_column[] = {
    [PER_LINK] = LINK_GROUP,    [PER_GROUP] = GROUP_MASS,   [PER_JOINT] = JOINT_KIND,
    [PER_LOOP] = LOOP_KIND,     [PER_GEAR] = GEAR_FOLLOWER, [PER_GEOM] = GEOM_KIND,
    [PER_COORDINATE] = START_Q, [PER_VERTEX] = VERTICES,    [PER_TRIANGLE] = TRIANGLES,
};

long hrp_flat_expected_length(const Flat *flat, FlatField field)
{
    const FlatColumn *column = &hrp_flat_columns[field];
    int is_first = column->per <= PER_TRIANGLE && first_column[column->per] == field;
    return is_first ? -1 : flat->count[column->per] * column->width;
}

void hrp_flat_set(Flat *flat, FlatField field, const void *data, long length)
{
    const FlatColumn *column = &hrp_flat_columns[field];
    if (hrp_flat_expected_length(flat, field) < 0)
        flat->count[column->per] = length / column->width;
    flat->count[PER_GEOM_AND_END] = flat->count[PER_GEOM] + 1;
    flat->count[PER_PAIR] = flat->count[PER_LINK] * flat->count[PER_LINK];
    flat->data[field] = data;
    flat->length[field] = length;
}

void hrp_problem_set(char *problem, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem, PROBLEM_SIZE, format, arguments);
    va_end(arguments);
}

static int indices_in_range(char *problem, const Flat *flat, FlatField field, int lowest, long end)
{
    const int *values = flat_ints(flat, field);
    long count = flat->length[field];
    for (long i = 0; i < count; i++) {
        if (values[i] < lowest || values[i] >= end) {
            hrp_problem_set(problem, "%s.%s[%ld] = %d is out of range",
                            hrp_flat_columns[field].owner, hrp_flat_columns[field].name, i,
                            values[i]);
            return 0;
        }
    }
    return 1;
}

/* Mesh offsets must increase from 0 to the number of rows; triangles must index own vertices. */
static int meshes_in_range(char *problem, const Flat *flat)
{
    const int *v = flat_ints(flat, GEOM_FIRST_VERTEX), *t = flat_ints(flat, GEOM_FIRST_TRIANGLE);
    const int *triangles = flat_ints(flat, TRIANGLES);
    long count = flat->count[PER_GEOM];
    int good = v[0] == 0 && t[0] == 0 && v[count] == flat->count[PER_VERTEX] &&
               t[count] == flat->count[PER_TRIANGLE];
    for (long k = 0; good && k < count; k++)
        good = v[k] <= v[k + 1] && t[k] <= t[k + 1];
    for (long k = 0; good && k < count; k++)
        for (int i = 3 * t[k]; good && i < 3 * t[k + 1]; i++)
            good = triangles[i] >= 0 && triangles[i] < v[k + 1] - v[k];
    if (!good)
        hrp_problem_set(problem, "the meshes of geoms are inconsistent");
    return good;
}

/* Whether joints are those of trees, parents first, and have a coordinate if they move; and whether
 * extra joints connect two different groups, or a group and the world. */
static int joint_ends_in_range(char *problem, const Flat *flat)
{
    int last = -1;
    for (long j = 0; j < flat->count[PER_JOINT]; j++) {
        const int child = flat_ints(flat, JOINT_CHILD)[j];
        const int moves = flat_ints(flat, JOINT_KIND)[j] != JOINT_FIXED;
        const int in_order = child > last && flat_ints(flat, JOINT_PARENT)[j] < child;
        last = child;
        if (in_order && (!moves || flat_ints(flat, JOINT_COORDINATE)[j] >= 0))
            continue;
        hrp_problem_set(problem, "joints[%ld] is not that of a tree, or has no coordinate", j);
        return 0;
    }
    for (long i = 0; i < flat->count[PER_LOOP]; i++) {
        if (flat_ints(flat, LOOP_A)[i] != flat_ints(flat, LOOP_B)[i])
            continue;
        hrp_problem_set(problem, "loops[%ld] connects a group to itself", i);
        return 0;
    }
    return 1;
}

/* Whether gears connect two moving joints. */
static int gears_in_range(char *problem, const Flat *flat)
{
    const int *kind = flat_ints(flat, JOINT_KIND);
    for (long i = 0; i < flat->count[PER_GEAR]; i++) {
        int follower = flat_ints(flat, GEAR_FOLLOWER)[i], leader = flat_ints(flat, GEAR_LEADER)[i];
        if (follower != leader && kind[follower] != JOINT_FIXED && kind[leader] != JOINT_FIXED)
            continue;
        hrp_problem_set(problem, "gears[%ld] does not connect two moving joints", i);
        return 0;
    }
    return 1;
}

/* Whether the values of a field are within MAX_VALUE; only ranges may be infinite. */
static int reals_in_range(char *problem, const Flat *flat, FlatField field)
{
    const double *values = flat_reals(flat, field);
    long count = flat->length[field];
    int is_range = field >= JOINT_LOWER && field <= JOINT_EFFORT_UPPER;
    int is_positive = field == GROUP_MASS;
    int is_size = field == GEOM_SIZE || field == JOINT_ROTOR_INERTIA || field == JOINT_STIFFNESS;
    for (long i = 0; i < count; i++) {
        double x = values[i];
        if ((is_range ? isnan(x) : !(fabs(x) < MAX_VALUE)) || (is_positive && x <= 0.0) ||
            (is_size && x < 0.0)) {
            hrp_problem_set(problem, "%s.%s[%ld] is not finite or out of range",
                            hrp_flat_columns[field].owner ? hrp_flat_columns[field].owner : "start",
                            hrp_flat_columns[field].name, i);
            return 0;
        }
    }
    return 1;
}

/* Whether vectors (width 3) are unit vectors, or the rows of matrices (width 9) orthonormal. */
static int units_in_range(char *problem, const Flat *flat, FlatField field)
{
    const double *values = flat_reals(flat, field);
    int rows = hrp_flat_columns[field].width / 3;
    long count = flat->length[field] / hrp_flat_columns[field].width;
    for (long n = 0; n < count; n++) {
        if (field == JOINT_AXIS && flat_ints(flat, JOINT_KIND)[n] == JOINT_FIXED)
            continue; /* it has no axis */
        for (int i = 0; i < rows; i++)
            for (int k = 0; k < rows; k++) {
                const double *at = values + hrp_flat_columns[field].width * n;
                if (fabs(dot3(at + 3 * i, at + 3 * k) - (i == k)) < 1e-5)
                    continue;
                hrp_problem_set(problem, "%s.%s[%ld] is not normalized",
                                hrp_flat_columns[field].owner, hrp_flat_columns[field].name, n);
                return 0;
            }
    }
    return 1;
}

void hrp_group_mass(const Flat *flat, long g, dMass *mass)
{
    const double *I = flat_reals(flat, GROUP_INERTIA) + 9 * g;
    dMassSetParameters(mass, flat_reals(flat, GROUP_MASS)[g], 0.0, 0.0, 0.0, I[0], I[4], I[8], I[1],
                       I[2], I[5]);
}

/* Whether ODE accepts every mass and inertia. */
static int masses_in_range(char *problem, const Flat *flat)
{
    for (long g = 0; g < flat->count[PER_GROUP]; g++) {
        dMass mass;
        hrp_group_mass(flat, g, &mass);
        if (dMassCheck(&mass))
            continue;
        hrp_problem_set(problem, "groups.inertia[%ld] is not positive definite", g);
        return 0;
    }
    return 1;
}

/* ODE fails on such numbers in the middle of a call, which breaks the world. So they are checked
 * here even though flatten() has checked them and named the link. */
static int numbers_in_range(char *problem, const Flat *flat)
{
    static const FlatField units[] = {LINK_R,   GROUP_ZERO_R, GROUP_R,    GEOM_R,
                                      LOOP_R_A, LOOP_R_B,     JOINT_AXIS, LOOP_AXIS};
    for (int field = 0; field < FLAT_FIELDS; field++)
        if (hrp_flat_columns[field].type == 'd' && !reals_in_range(problem, flat, (FlatField)field))
            return 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!units_in_range(problem, flat, units[i]))
            return 0;
    return masses_in_range(problem, flat);
}

int hrp_flat_check(const Flat *flat, int materials, char *problem)
{
    const long *n = flat->count;
    return numbers_in_range(problem, flat) &&
           indices_in_range(problem, flat, LINK_GROUP, -1, n[PER_GROUP]) &&
           indices_in_range(problem, flat, JOINT_KIND, JOINT_FIXED, JOINT_SLIDER + 1) &&
           indices_in_range(problem, flat, JOINT_LINK, 0, n[PER_LINK]) &&
           indices_in_range(problem, flat, JOINT_COORDINATE, -1, n[PER_COORDINATE]) &&
           indices_in_range(problem, flat, JOINT_CHILD, 0, n[PER_GROUP]) &&
           indices_in_range(problem, flat, JOINT_PARENT, -1, n[PER_GROUP]) &&
           indices_in_range(problem, flat, LOOP_KIND, LOOP_BALL, LOOP_Z + 1) &&
           indices_in_range(problem, flat, LOOP_A, -1, n[PER_GROUP]) &&
           indices_in_range(problem, flat, LOOP_B, -1, n[PER_GROUP]) &&
           indices_in_range(problem, flat, GEOM_KIND, GEOM_BOX, GEOM_MESH + 1) &&
           indices_in_range(problem, flat, GEOM_LINK, 0, n[PER_LINK]) &&
           indices_in_range(problem, flat, GEOM_MATERIAL, -1, materials) &&
           meshes_in_range(problem, flat) &&
           indices_in_range(problem, flat, GEAR_FOLLOWER, 0, n[PER_JOINT]) &&
           indices_in_range(problem, flat, GEAR_LEADER, 0, n[PER_JOINT]) &&
           joint_ends_in_range(problem, flat) && gears_in_range(problem, flat);
}
