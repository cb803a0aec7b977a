/* The line search of Newton's method. */
#ifndef HRP_SIM_ODE_SEARCH_H
#define HRP_SIM_ODE_SEARCH_H

#include "solver.h"

/* Return the fraction of Newton's step that minimizes the function along it. Its derivative is
 * increasing and piecewise smooth: Newton's method within a bracket finds the zero. */
dReal hrp_line_search(const View *view);

#endif
