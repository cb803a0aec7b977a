/* Copies the dynamic state of a body to arrays and back, to the last bit. */
#include "_core.h"

#include <math.h>

static const struct { const char *name; char type; int per_group, width; } SAVED[SAVED_FIELDS] = {
    [SAVED_P] = {"p", 'd', 1, 3},         [SAVED_QUATERNION] = {"quaternion", 'd', 1, 4},
    [SAVED_R] = {"R", 'd', 1, 9},         [SAVED_V] = {"v", 'd', 1, 3},
    [SAVED_W] = {"w", 'd', 1, 3},         [SAVED_Q] = {"q", 'd', 0, 1},
    [SAVED_DQ] = {"dq", 'd', 0, 1},       [SAVED_TURNS] = {"turns", 'i', 0, 1},
    [SAVED_ACTIVE] = {"active", 'i', 0, 1},
};

/* A new member of these structures must be saved here, too. */
_Static_assert(sizeof(JointState) == 2 * sizeof(dReal) + 2 * sizeof(int), "save new members");
_Static_assert(sizeof(GroupState) == 25 * sizeof(dReal), "save new members");

/* Hold the arrays of a SavedBody. Returns -1 with an exception set; saved_release is due then,
 * too. */
int saved_fetch(const Body *body, PyObject *owner, int writable, Saved *saved)
{
    saved->held = 0;
    for (int field = 0; field < SAVED_FIELDS; field++) {
        Py_ssize_t rows = SAVED[field].per_group ? body->groups : body->joints;
        if (fetch_array(owner, SAVED[field].name, SAVED[field].type, rows * SAVED[field].width,
                        writable, &saved->views[field]))
            return -1;
        saved->held = field + 1;
    }
    return 0;
}

void saved_release(Saved *saved)
{
    while (saved->held > 0)
        PyBuffer_Release(&saved->views[--saved->held]);
}

static double *reals(const Saved *saved, SavedField field, int row)
{
    return (double *)saved->views[field].buf + row * SAVED[field].width;
}

static int *integers(const Saved *saved, SavedField field)
{
    return (int *)saved->views[field].buf;
}

/* Whether all numbers are finite; sets an exception if not. */
int saved_check(const Saved *saved)
{
    for (int field = 0; field < SAVED_FIELDS; field++) {
        const double *values = saved->views[field].buf;
        Py_ssize_t count = saved->views[field].len / (Py_ssize_t)sizeof(double);
        for (Py_ssize_t i = 0; SAVED[field].type == 'd' && i < count; i++)
            if (!isfinite(values[i])) {
                PyErr_SetString(PyExc_ValueError, "a saved state must be finite");
                return 0;
            }
    }
    return 1;
}

/* Write the dynamic state of a body into the arrays. */
void saved_read(const Body *body, const Saved *saved)
{
    for (int g = 0; g < body->groups; g++) {
        GroupState state;
        group_save(body->group[g], &state);
        memcpy(reals(saved, SAVED_P, g), state.p, sizeof state.p);
        memcpy(reals(saved, SAVED_QUATERNION, g), state.quaternion, sizeof state.quaternion);
        for (int i = 0; i < 3; i++)
            memcpy(reals(saved, SAVED_R, g) + 3 * i, state.R + 4 * i, sizeof(dReal) * 3);
        memcpy(reals(saved, SAVED_V, g), state.v, sizeof state.v);
        memcpy(reals(saved, SAVED_W, g), state.w, sizeof state.w);
    }
    for (int j = 0; j < body->joints; j++) {
        const JointState *now = &body->joint[j].now;
        *reals(saved, SAVED_Q, j) = now->q;
        *reals(saved, SAVED_DQ, j) = now->dq;
        integers(saved, SAVED_TURNS)[j] = now->turns;
        integers(saved, SAVED_ACTIVE)[j] = now->active;
    }
}

/* Set the state of a body from checked arrays. */
void saved_write(Body *body, const Saved *saved)
{
    for (int g = 0; g < body->groups; g++) {
        GroupState state;
        memcpy(state.p, reals(saved, SAVED_P, g), sizeof state.p);
        memcpy(state.quaternion, reals(saved, SAVED_QUATERNION, g), sizeof state.quaternion);
        to_matrix12(state.R, reals(saved, SAVED_R, g));
        memcpy(state.v, reals(saved, SAVED_V, g), sizeof state.v);
        memcpy(state.w, reals(saved, SAVED_W, g), sizeof state.w);
        group_restore(body->group[g], &state);
    }
    for (int j = 0; j < body->joints; j++) {
        body->joint[j].now = (JointState){
            .q = *reals(saved, SAVED_Q, j),
            .dq = *reals(saved, SAVED_DQ, j),
            .turns = integers(saved, SAVED_TURNS)[j],
            .active = integers(saved, SAVED_ACTIVE)[j],
        };
        joint_set_stops(&body->joint[j]);
    }
    motion_write_at_rest(body);
}
