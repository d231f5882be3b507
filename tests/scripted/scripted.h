// SPDX-License-Identifier: MIT
// A tracker that answers at once, by a script, in the place of the engine's: for tests of elements
// and programs that are not about masks. A library of libsamtrack's name with the same calls: what
// is not a tracker in it is the engine's. It needs no weights, but the file must be there.
//
// An object is a box. A prompt's box, or that around its mask, is the object; a positive point adds
// SCRIPTED_WIDTH x SCRIPTED_HEIGHT of the frame around it, a negative one takes away all of the box
// on its side of the middle. From the last frame with a prompt on, the box moves to the right,
// SCRIPTED_STEP of the frame's width each frame, and after SCRIPTED_PERIOD frames is back: so masks
// tell on which frame a prompt was applied, and which frame they are of. Late prompts, undo, and
// files are as include/samtrack/samtrack.h has them; a click has no answers to choose from, and a
// preview is the box that its prompt would make. Beside an object, to the right and to the left of
// it, others are like it, where no object is.
#ifndef SCRIPTED_H
#define SCRIPTED_H

#include <samtrack/samtrack.h>

#define SCRIPTED_WIDTH 0.375
#define SCRIPTED_HEIGHT 0.5
#define SCRIPTED_STEP 0.015625
#define SCRIPTED_PERIOD 16
#define SCRIPTED_IOU 0.875f
#define SCRIPTED_LIKE 0.875f
#define SCRIPTED_LESS_LIKE 0.625f

enum scripted_call {
    SCRIPTED_OPEN,
    SCRIPTED_STEPS,
    SCRIPTED_DRAW,
    SCRIPTED_PREVIEW,
    SCRIPTED_CALLS,
};

// From now on such calls take `us` microseconds more, and the calls after the next `after` ones end
// with `status`. The environment says the same of a whole program: SAMTRACK_SCRIPT is
// "CALL,STATUS,US,AFTER;...", where CALL is one of open, step, draw, preview.
SAM_API void scripted_set(enum scripted_call call, int status, unsigned us, unsigned after);

#endif // SCRIPTED_H
