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

/* What follows computes for four groups at once. */

#define UNROLLED _Pragma("GCC unroll 4")

INLINE Quad dot(const Quad a[3], const Quad b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Whether all squares are at most a limit for sure. */
INLINE int are_small(Quad squares, dReal limit)
{
    return (squares[0] + squares[2]) + (squares[1] + squares[3]) <= limit;
}

/* Read the numbers of four groups at one place. */
INLINE Quad numbers_at(dReal *const from[SPIN_LANES], int i)
{
    return (Quad){from[0][i], from[1][i], from[2][i], from[3][i]};
}

INLINE void multiply_matrix(Quad out[3], const Quad A[3][3], const Quad v[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = dot(A[i], v);
}

INLINE void multiply_transposed(Quad out[3], const Quad A[3][3], const Quad v[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = A[0][i] * v[0] + A[1][i] * v[1] + A[2][i] * v[2];
}

/* Multiply two quaternions (w, x, y, z). */
INLINE void multiply(Quad out[4], const Quad a[4], const Quad b[4])
{
    out[0] = a[0] * b[0] - (a[1] * b[1] + a[2] * b[2] + a[3] * b[3]);
    out[1] = a[0] * b[1] + b[0] * a[1] + (a[2] * b[3] - a[3] * b[2]);
    out[2] = a[0] * b[2] + b[0] * a[2] + (a[3] * b[1] - a[1] * b[3]);
    out[3] = a[0] * b[3] + b[0] * a[3] + (a[1] * b[2] - a[2] * b[1]);
}

/* Compute sin(x) / x and cos(x) of the square of x. */
INLINE void sine_cosine(Quad square, Quad *ratio, Quad *cosine)
{
    *ratio = 1.0 - square * (1.0 / 6.0 - square * (1.0 / 120.0 - square * (1.0 / 5040.0)));
    *cosine = 1.0 - square * (1.0 / 2.0 - square * (1.0 / 24.0 - square * (1.0 / 720.0 -
                                                                           square * (1.0 / 40320.0))));
    if (are_small(square, SMALL_ANGLE * SMALL_ANGLE))
        return;
    for (int lane = 0; lane < SPIN_LANES; lane++)
        if (!(square[lane] <= SMALL_ANGLE * SMALL_ANGLE)) {
            const dReal x = sqrt(square[lane]);
            (*ratio)[lane] = sin(x) / x;
            (*cosine)[lane] = cos(x);
        }
}

/* Return the components of a vector in axes that turn from y to z by twice an angle, of which the
 * sine and cosine are given. */
INLINE void components_turn(Quad *y, Quad *z, Quad sine, Quad cosine)
{
    const Quad s = 2.0 * sine * cosine, c = (cosine - sine) * (cosine + sine), before = *y;
    *y = c * before + s * *z;
    *z = c * *z - s * before;
}

/* Compute how groups with momentum P in their principal axes deviate within a time from spherical
 * tops: quaternions, in these axes, to which P turns, too. */
INLINE void deviation(const Spin *spin, Quad P[3], dReal time, Quad out[4])
{
    Quad a, b, c, sa, ca, sb, cb, sc, cc; /* halves of the three angles */
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
    components_turn(&P[1], &P[2], sc, cc);
    out[0] = cb * (ca * cc - sa * sc);
    out[1] = cb * (sa * cc + ca * sc);
    out[2] = sb * (ca * sc - sa * cc);
    out[3] = sb * (ca * cc + sa * sc);
}

/* By what angle each group turns further, about which of its principal axes. */
typedef struct {
    dReal angle[SPIN_LANES];
    int axis[SPIN_LANES], is_any;
} Lag;

/* Limit the precession of groups that joints hold: of half its angle, the square and the ratio to
 * the momentum. By as much the groups are to turn about their own axes instead. */
static void precession_limit(const Spin *spin, const dBodyID group[SPIN_LANES], const Quad P[3],
                             Quad *square, Quad *ratio, Lag *lag)
{
    for (int lane = 0; lane < SPIN_LANES; lane++) {
        lag->angle[lane] = lag->axis[lane] = 0;
        if (!(4.0 * (*square)[lane] > MAX_PRECESSION * MAX_PRECESSION) || is_sphere(spin, lane) ||
            dBodyGetNumJoints(group[lane]) == 0)
            continue;
        const dReal angle = 2.0 * sqrt((*square)[lane]);
        const int fastest = fabs(P[0][lane]) > fabs(P[2][lane]) ? 0 : 2;
        lag->is_any = 1;
        lag->axis[lane] = fastest;
        lag->angle[lane] = (angle - MAX_PRECESSION) * P[fastest][lane] / sqrt(dot(P, P)[lane]);
        (*ratio)[lane] *= MAX_PRECESSION / angle;
        (*square)[lane] = MAX_PRECESSION * MAX_PRECESSION / 4.0;
    }
}

/* Turn groups further. */
static void turn_further(const Lag *lag, Quad P[3], Quad own[4])
{
    Quad before[4], about[4] = {{1.0, 1.0, 1.0, 1.0}};
    memcpy(before, own, sizeof before);
    for (int lane = 0; lane < SPIN_LANES; lane++) {
        const dReal angle = lag->angle[lane], s = sin(angle), c = cos(angle);
        Quad *y = &P[(lag->axis[lane] + 1) % 3], *z = &P[(lag->axis[lane] + 2) % 3];
        const dReal y_before = (*y)[lane];
        (*y)[lane] = c * y_before + s * (*z)[lane];
        (*z)[lane] = c * (*z)[lane] - s * y_before;
        about[0][lane] = cos(angle / 2.0);
        about[1 + lag->axis[lane]][lane] = sin(angle / 2.0);
    }
    multiply(own, before, about);
}

/* Give quaternions unit length; rounding has left them close to it. */
INLINE void normalize(Quad q[4])
{
    const Quad square = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    Quad scale = 1.5 - 0.5 * square;
    if (!are_small((square - 1.0) * (square - 1.0), NEARLY_UNIT * NEARLY_UNIT))
        for (int lane = 0; lane < SPIN_LANES; lane++)
            scale[lane] = 1.0 / sqrt(square[lane]);
    for (int i = 0; i < 4; i++)
        q[i] *= scale;
}

INLINE void rotation_of(Quad R[3][3], const Quad q[4])
{
    const Quad x = 2.0 * q[1], y = 2.0 * q[2], z = 2.0 * q[3];
    const Quad xx = x * q[1], yy = y * q[2], zz = z * q[3];
    const Quad xy = x * q[2], xz = x * q[3], yz = y * q[3];
    const Quad wx = x * q[0], wy = y * q[0], wz = z * q[0];
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

/* Where the numbers of groups that turn are. */
typedef struct {
    dReal *R[SPIN_LANES], *quaternion[SPIN_LANES], *w[SPIN_LANES];
    dBodyID group[SPIN_LANES];
} Turning;

/* Turn groups freely for a time.
 *
 * The energy of a spin with the momentum P in principal axes is, with moments A <= B <= C,
 *
 *     P.P / 2B + (1/A - 1/B) P_1^2 / 2 + (1/C - 1/B) P_3^2 / 2.
 *
 * Each term alone gives a rotation, of the first about the momentum, of the others about a
 * principal axis. They are composed symmetrically, which is symplectic, of second order, and exact
 * if two moments are equal. There is nothing to iterate, and no spin is too fast. The angular
 * velocity is computed from the momentum, which the last two terms turn in the principal axes, as
 * the first one does not.
 *
 * Joints hold the axis of a fast wheel by a velocity in each middle of a step, which must not have
 * turned too far in the next: where joints hold a body, the precession is limited, and the body
 * turns about its own axis by the rest.
 */
WIDE static void turn_freely(const Spin *spin, const Turning *at, dReal time)
{
    Quad R[3][3], v[3], w[3], P[3], q[4], turned[4], own[4], turn[4], sine;
    const int are_spheres = are_small(spin->first * spin->first + spin->last * spin->last, 0.0);
    for (int i = 0; i < 3; i++) {
        w[i] = numbers_at(at->w, i);
        for (int k = 0; k < 3; k++)
            R[i][k] = numbers_at(at->R, 4 * i + k);
    }
    for (int i = 0; i < 4; i++)
        q[i] = numbers_at(at->quaternion, i);
    multiply_transposed(v, R, w);
    multiply_matrix(P, spin->axis, v);
    for (int i = 0; i < 3; i++)
        P[i] *= spin->moment[i];
    Quad ratio = time / 2.0 * spin->inverse[1], square = dot(P, P) * ratio * ratio;
    Lag lag = {.is_any = 0};
    if (!are_small(4.0 * square, MAX_PRECESSION * MAX_PRECESSION))
        precession_limit(spin, at->group, P, &square, &ratio, &lag);
    sine_cosine(square, &sine, &turn[0]);
    for (int i = 0; i < 3; i++)
        turn[1 + i] = sine * ratio * P[i];
    if (are_spheres)
        memcpy(turned, turn, sizeof turned);
    else {
        deviation(spin, P, time, own);
        if (lag.is_any)
            turn_further(&lag, P, own);
        multiply(turned, turn, own);
    }
    multiply_transposed(v, spin->axis, turned + 1);
    memcpy(turned + 1, v, sizeof v); /* from the principal axes to the frames of the groups */
    memcpy(own, q, sizeof own);
    multiply(q, own, turned);
    normalize(q);
    rotation_of(R, q);
    if (!are_spheres) {
        for (int i = 0; i < 3; i++)
            P[i] *= spin->inverse[i];
        multiply_transposed(v, spin->axis, P);
        multiply_matrix(w, R, v);
    }
    UNROLLED for (int lane = 0; lane < SPIN_LANES; lane++)
    {
        for (int i = 0; i < 4; i++)
            at->quaternion[lane][i] = q[i][lane];
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++)
                at->R[lane][4 * i + k] = R[i][k][lane];
        for (int i = 0; i < 3 && !is_sphere(spin, lane); i++) /* that of a sphere stays */
            at->w[lane][i] = w[i][lane];
    }
}

/* Move the groups of a body freely for a time. */
static void groups_drift(const Body *body, dReal time)
{
    for (int g = 0; g < body->groups; g++)
        for (int i = 0; i < 3; i++)
            body->motion[g].p[i] += body->motion[g].v[i] * time;
    for (int first = 0; first < body->groups; first += SPIN_LANES) {
        Turning at;
        for (int lane = 0; lane < SPIN_LANES; lane++) { /* the last one fills the rest */
            const int g = first + lane < body->groups ? first + lane : body->groups - 1;
            const Motion *motion = &body->motion[g];
            at.R[lane] = motion->R;
            at.quaternion[lane] = motion->quaternion;
            at.w[lane] = motion->w;
            at.group[lane] = body->group[g];
        }
        turn_freely(&body->spin[first / SPIN_LANES], &at, time);
    }
}

void hrp_drift_to_middle(World *world, Body *body)
{
    const dReal half = world->step / 2.0;
    hrp_joints_begin(body);
    groups_drift(body, half);
    for (int g = 0; g < body->groups && !world->system; g++)
        hrp_pose_save(&body->motion[g], &body->middle[g]);
    for (int j = 0; j < body->joints; j++) {
        const int child = body->joint[j].child;
        if (body->joint[j].watched)
            hrp_pose_save(&body->motion[child], &body->middle[child]);
    }
    hrp_joints_drift(body, half);
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
    const dReal half = world->step / 2.0;
    for (int g = 0; g < body->groups && !world->system; g++) /* ODE has moved them */
        hrp_pose_restore(&body->motion[g], &body->middle[g]);
    hrp_joints_accelerate(body);
    groups_drift(body, half);
    hrp_joints_end(world, body, half, is_last);
}
