/* Free motion of rigid bodies, half a step before and half a step after the forces of the step.
 *
 * A step from t to t + h moves the bodies freely to t + h/2, changes their momenta there by all
 * forces and constraints, and moves them freely to t + h (Verlet's method, or SHAKE with joints).
 * This is symplectic Euler on the midpoints of the steps, as stable, but of second order. Forces
 * act in one posture, and no gyroscopic torque is among them: free motion conserves the angular
 * momentum, not the angular velocity. So angular momentum is conserved up to rounding, also of
 * bodies connected by joints. (J.-P. Ryckaert et al., J. Comput. Phys. 23, 1977; for the turning,
 * A. Dullweber et al., Symplectic splitting methods for rigid body molecular dynamics, J. Chem.
 * Phys. 107, 1997.)
 */
#include "free_motion.h"
#include "drive.h"
#include "state.h"

#include <math.h>
#include <string.h>

#define SAME_MOMENTS 1e-9  /* relative difference up to which moments of inertia are equal */
#define MAX_PRECESSION 0.5 /* of a body with joints in half a step, in [rad] */
#define FAST_TURN 0.2      /* of a hinge in a step, in [rad] */
#define SMALL_ANGLE 0.05   /* up to which a short series has no error, in [rad] */
#define NEARLY_UNIT 1e-8   /* difference of a square from 1 up to which a root is linear */

/* Zero one product of inertia by a rotation of axes i and j: a step of Jacobi's method. */
static void jacobi_rotate(dReal A[3][3], dReal axis[3][3], int i, int j)
{
    if (A[i][j] == 0.0)
        return;
    dReal ratio = (A[j][j] - A[i][i]) / (2.0 * A[i][j]);
    dReal t = copysign(1.0, ratio) / (fabs(ratio) + hypot(ratio, 1.0));
    dReal c = 1.0 / hypot(t, 1.0), s = t * c;
    for (int k = 0; k < 3; k++) {
        dReal at_i = A[k][i], at_j = A[k][j], of_i = axis[i][k], of_j = axis[j][k];
        A[k][i] = c * at_i - s * at_j;
        A[k][j] = s * at_i + c * at_j;
        axis[i][k] = c * of_i - s * of_j;
        axis[j][k] = s * of_i + c * of_j;
    }
    for (int k = 0; k < 3; k++) {
        dReal at_i = A[i][k], at_j = A[j][k];
        A[i][k] = c * at_i - s * at_j;
        A[j][k] = s * at_i + c * at_j;
    }
    A[i][j] = A[j][i] = 0.0;
}

/* Exchange two principal axes. */
static void axes_swap(dReal A[3][3], dReal axis[3][3], int i, int j)
{
    dReal moment = A[i][i], before[3];
    A[i][i] = A[j][j];
    A[j][j] = moment;
    memcpy(before, axis[i], sizeof before);
    memcpy(axis[i], axis[j], sizeof before);
    memcpy(axis[j], before, sizeof before);
}

/* The difference of two inverse moments, exactly zero if the moments are nearly equal. */
static dReal excess(dReal moment, dReal middle)
{
    return fabs(moment - middle) <= SAME_MOMENTS * middle ? 0.0 : 1.0 / moment - 1.0 / middle;
}

void hrp_spin_init(Spin *spin, int lane, const dMass *mass)
{
    dReal A[3][3], axis[3][3];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            A[i][k] = mass->I[4 * i + k];
            axis[i][k] = i == k;
        }
    for (int sweep = 0; sweep < 8; sweep++) /* converges quadratically, so 5 are enough */
        for (int i = 0; i < 3; i++)
            jacobi_rotate(A, axis, i / 2, 1 + (i + 1) / 2);
    for (int i = 0; i < 3; i++)
        if (A[i % 2][i % 2] > A[i % 2 + 1][i % 2 + 1])
            axes_swap(A, axis, i % 2, i % 2 + 1);
    cross3(axis[2], axis[0], axis[1]);
    spin->first[lane] = excess(A[0][0], A[1][1]);
    spin->last[lane] = excess(A[2][2], A[1][1]);
    for (int i = 0; i < 3; i++) {
        spin->moment[i][lane] = A[i][i];
        spin->inverse[i][lane] = 1.0 / A[i][i];
        for (int k = 0; k < 3; k++)
            spin->axis[i][k][lane] = axis[i][k];
    }
}

static int is_sphere(const Spin *spin, int lane)
{
    return spin->first[lane] == 0.0 && spin->last[lane] == 0.0;
}

/* What follows computes for two groups at once. */

static inline Lanes dot(const Lanes a[3], const Lanes b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline void multiply_matrix(Lanes out[3], const Lanes A[3][3], const Lanes v[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = dot(A[i], v);
}

static inline void multiply_transposed(Lanes out[3], const Lanes A[3][3], const Lanes v[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = A[0][i] * v[0] + A[1][i] * v[1] + A[2][i] * v[2];
}

/* Multiply two quaternions (w, x, y, z). */
static inline void multiply(Lanes out[4], const Lanes a[4], const Lanes b[4])
{
    out[0] = a[0] * b[0] - (a[1] * b[1] + a[2] * b[2] + a[3] * b[3]);
    out[1] = a[0] * b[1] + b[0] * a[1] + (a[2] * b[3] - a[3] * b[2]);
    out[2] = a[0] * b[2] + b[0] * a[2] + (a[3] * b[1] - a[1] * b[3]);
    out[3] = a[0] * b[3] + b[0] * a[3] + (a[1] * b[2] - a[2] * b[1]);
}

/* Compute sin(x) / x and cos(x) of the square of x. */
static inline void sine_cosine(Lanes square, Lanes *ratio, Lanes *cosine)
{
    *ratio = 1.0 - square * (1.0 / 6.0 - square * (1.0 / 120.0 - square * (1.0 / 5040.0)));
    *cosine = 1.0 - square * (1.0 / 2.0 - square * (1.0 / 24.0 - square * (1.0 / 720.0 -
                                                                           square * (1.0 / 40320.0))));
    for (int lane = 0; lane < 2; lane++)
        if (!(square[lane] <= SMALL_ANGLE * SMALL_ANGLE)) {
            const dReal x = sqrt(square[lane]);
            (*ratio)[lane] = sin(x) / x;
            (*cosine)[lane] = cos(x);
        }
}

/* Return the components of a vector in axes that turn from y to z by twice an angle, of which the
 * sine and cosine are given. */
static inline void components_turn(Lanes *y, Lanes *z, Lanes sine, Lanes cosine)
{
    const Lanes s = 2.0 * sine * cosine, c = (cosine - sine) * (cosine + sine), before = *y;
    *y = c * before + s * *z;
    *z = c * *z - s * before;
}

/* Compute how groups with momentum P in their principal axes deviate within a time from spherical
 * tops: quaternions, in these axes. */
static inline void deviation(const Spin *spin, Lanes P[3], dReal time, Lanes out[4])
{
    Lanes a, b, c, sa, ca, sb, cb, sc, cc; /* halves of the three angles */
    a = spin->first * P[0] * (time / 4.0);
    sine_cosine(a * a, &sa, &ca);
    sa *= a;
    components_turn(&P[1], &P[2], sa, ca);
    b = spin->last * P[2] * (time / 2.0);
    sine_cosine(b * b, &sb, &cb);
    sb *= b;
    components_turn(&P[0], &P[1], sb, cb);
    c = spin->first * P[0] * (time / 4.0);
    sine_cosine(c * c, &sc, &cc);
    sc *= c;
    out[0] = cb * (ca * cc - sa * sc);
    out[1] = cb * (sa * cc + ca * sc);
    out[2] = sb * (ca * sc - sa * cc);
    out[3] = sb * (ca * cc + sa * sc);
}

/* By what angle each group turns further, about which of its principal axes. */
typedef struct {
    dReal angle[2];
    int axis[2];
} Lag;

/* Limit the precession of groups that joints hold: of half its angle, the square and the ratio to
 * the momentum. Returns by how much the groups are to turn about their own axes instead. */
static Lag precession_limit(const Spin *spin, const dBodyID groups[2], const Lanes P[3],
                            Lanes *square, Lanes *ratio)
{
    Lag lag = {.angle = {0.0}};
    for (int lane = 0; lane < 2; lane++) {
        if (!(4.0 * (*square)[lane] > MAX_PRECESSION * MAX_PRECESSION) || is_sphere(spin, lane) ||
            dBodyGetNumJoints(groups[lane]) == 0)
            continue;
        const dReal angle = 2.0 * sqrt((*square)[lane]);
        const int fastest = fabs(P[0][lane]) > fabs(P[2][lane]) ? 0 : 2;
        lag.axis[lane] = fastest;
        lag.angle[lane] = (angle - MAX_PRECESSION) * P[fastest][lane] / sqrt(dot(P, P)[lane]);
        (*ratio)[lane] *= MAX_PRECESSION / angle;
        (*square)[lane] = MAX_PRECESSION * MAX_PRECESSION / 4.0;
    }
    return lag;
}

/* Turn groups further. */
static void turn_further(Lanes own[4], const Lag *lag)
{
    Lanes before[4], about[4] = {{1.0, 1.0}};
    memcpy(before, own, sizeof before);
    for (int lane = 0; lane < 2; lane++) {
        about[0][lane] = cos(lag->angle[lane] / 2.0);
        about[1 + lag->axis[lane]][lane] = sin(lag->angle[lane] / 2.0);
    }
    multiply(own, before, about);
}

/* Give quaternions unit length; rounding has left them close to it. */
static inline void normalize(Lanes q[4])
{
    const Lanes square = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    Lanes scale = 1.5 - 0.5 * square;
    for (int lane = 0; lane < 2; lane++)
        if (!(fabs(square[lane] - 1.0) < NEARLY_UNIT))
            scale[lane] = 1.0 / sqrt(square[lane]);
    for (int i = 0; i < 4; i++)
        q[i] *= scale;
}

static inline void rotation_of(Lanes R[3][3], const Lanes q[4])
{
    const Lanes x = 2.0 * q[1], y = 2.0 * q[2], z = 2.0 * q[3];
    const Lanes xx = x * q[1], yy = y * q[2], zz = z * q[3];
    const Lanes xy = x * q[2], xz = x * q[3], yz = y * q[3];
    const Lanes wx = x * q[0], wy = y * q[0], wz = z * q[0];
    R[0][0] = 1.0 - yy - zz;
    R[0][1] = xy - wz;
    R[0][2] = xz + wy;
    R[1][0] = xy + wz;
    R[1][1] = 1.0 - xx - zz;
    R[1][2] = yz - wx;
    R[2][0] = xz - wy;
    R[2][1] = yz + wx;
    R[2][2] = 1.0 - xx - yy;
}

/* Turn two groups freely for a time.
 *
 * The energy of a spin with the momentum P in principal axes is, with moments A <= B <= C,
 *
 *     P.P / 2B + (1/A - 1/B) P_1^2 / 2 + (1/C - 1/B) P_3^2 / 2.
 *
 * Each term alone gives a rotation, of the first about the momentum, of the others about a
 * principal axis. They are composed symmetrically, which is symplectic, of second order, and exact
 * if two moments are equal. There is nothing to iterate, and no spin is too fast. The momentum L
 * in W remains exactly, since the angular velocity is computed from it.
 *
 * Joints hold the axis of a fast wheel by a velocity in each middle of a step, which must not have
 * turned too far in the next: where joints hold a body, the precession is limited, and the body
 * turns about its own axis by the rest.
 */
static void turn_freely(const Motion *const motion[2], const Spin *spin, const dBodyID groups[2],
                        const GroupState *const from[2], dReal time)
{
    Lanes R[3][3], v[3], P[3], L[3], q[4], own[4], turn[4];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            R[i][k] = (Lanes){from[0]->R[4 * i + k], from[1]->R[4 * i + k]};
    for (int i = 0; i < 3; i++)
        L[i] = (Lanes){motion[0]->w[i], motion[1]->w[i]};
    for (int i = 0; i < 4; i++)
        q[i] = (Lanes){from[0]->quaternion[i], from[1]->quaternion[i]};
    multiply_transposed(v, R, L);
    multiply_matrix(P, spin->axis, v);
    for (int i = 0; i < 3; i++)
        P[i] *= spin->moment[i];
    multiply_transposed(v, spin->axis, P);
    multiply_matrix(L, R, v);
    Lanes ratio = time / 2.0 * spin->inverse[1], square = dot(P, P) * ratio * ratio, sine;
    const Lag lag = precession_limit(spin, groups, P, &square, &ratio);
    sine_cosine(square, &sine, &turn[0]);
    for (int i = 0; i < 3; i++)
        turn[1 + i] = sine * ratio * L[i];
    deviation(spin, P, time, own);
    if (lag.angle[0] != 0.0 || lag.angle[1] != 0.0)
        turn_further(own, &lag);
    multiply_transposed(v, spin->axis, own + 1);
    memcpy(own + 1, v, sizeof v); /* from the principal axes to the frames of the groups */
    Lanes turned[4];
    multiply(turned, q, own);
    multiply(q, turn, turned);
    normalize(q);
    rotation_of(R, q);
    multiply_transposed(v, R, L);
    multiply_matrix(P, spin->axis, v);
    for (int i = 0; i < 3; i++)
        P[i] *= spin->inverse[i];
    multiply_transposed(v, spin->axis, P);
    multiply_matrix(L, R, v);
    for (int lane = 0; lane < 2; lane++) {
        const Motion *to = motion[lane];
        for (int i = 0; i < 4; i++)
            to->quaternion[i] = q[i][lane];
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++)
                to->R[4 * i + k] = R[i][k][lane];
        for (int i = 0; i < 3 && !is_sphere(spin, lane); i++)
            to->w[i] = L[i][lane]; /* now the velocity; that of a sphere stays */
    }
}

/* Move the groups of a body freely from their poses for a time, with their current velocities. */
static void groups_drift(const Body *body, const GroupState *from, dReal time)
{
    for (int g = 0; g < body->groups; g += 2) {
        const int other = g + 1 < body->groups ? g + 1 : g;
        const Motion *const motion[2] = {&body->motion[g], &body->motion[other]};
        const GroupState *const poses[2] = {from + g, from + other};
        const dBodyID groups[2] = {body->group[g], body->group[other]};
        for (int i = 0; i < 3; i++) {
            motion[0]->p[i] = poses[0]->p[i] + motion[0]->v[i] * time;
            motion[1]->p[i] = poses[1]->p[i] + motion[1]->v[i] * time;
        }
        turn_freely(motion, &body->spin[g / 2], groups, poses, time);
    }
}

void hrp_drift_to_middle(World *world, Body *body)
{
    dReal half = world->step / 2.0;
    for (int j = 0; j < body->joints; j++)
        body->joint[j].drift = -hrp_joint_rate(body, &body->joint[j]);
    groups_drift(body, body->saved, half);
    for (int g = 0; g < body->groups; g++)
        hrp_pose_save(&body->motion[g], &body->middle[g]);
    for (int j = 0; j < body->joints; j++) {
        Joint *joint = &body->joint[j];
        joint->drift += hrp_joint_rate(body, joint);
        hrp_joint_read_position(body, joint, half);
    }
}

/* Move a body from the middle of a step, with the velocities that result from the step, to its
 * end.
 *
 * The rate of a joint at the end is taken to differ from that in the middle by as much as the one
 * at the start did. Rotors and drives refer to it: their impulses in the step are then exactly
 * those of the rates reported.
 */
void hrp_drift_to_end(World *world, Body *body, int is_last)
{
    dReal half = world->step / 2.0;
    for (int g = 0; g < body->groups && !world->system; g++) { /* ODE has moved them */
        const GroupState *middle = &body->middle[g];
        memcpy(body->motion[g].p, middle->p, sizeof middle->p);
        memcpy(body->motion[g].R, middle->R, sizeof middle->R);
    }
    for (int j = 0; j < body->joints; j++)
        body->joint[j].now.dq = hrp_joint_rate(body, &body->joint[j]) + body->joint[j].drift;
    groups_drift(body, body->middle, half);
    for (int j = 0; j < body->joints; j++) {
        Joint *joint = &body->joint[j];
        if (is_last || !(fabs(joint->now.dq * world->step) < FAST_TURN))
            hrp_joint_read_position(body, joint, half);
        else
            joint->now.q += joint->now.dq * half;
    }
}
