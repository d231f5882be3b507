/* SPDX-License-Identifier: MIT */
/* The clocks of samtrack-live where a test lets hours pass: the system's, and what the test has
 * written into the file LIVE_CLOCK. Its first 8 bytes are nanoseconds of the clock that frames are
 * stamped with, the next 8 microseconds of the date, of either sign. Timers of the program and
 * clocks that GStreamer's own libraries obtain do not follow it. */

#include <fcntl.h>
#include <gst/gst.h>
#include <sys/mman.h>
#include <unistd.h>

GstClock *__wrap_gst_system_clock_obtain(void);
gint64 __wrap_g_get_real_time(void);
gint64 __real_g_get_real_time(void);

typedef struct {
    GstSystemClock parent;
} TestClock;

typedef struct {
    GstSystemClockClass parent;
} TestClockClass;

GType test_clock_get_type(void);
G_DEFINE_TYPE(TestClock, test_clock, GST_TYPE_SYSTEM_CLOCK)

/* The file's 16 bytes. */
static const guint64 *get_more(void)
{
    static gsize only;

    if (g_once_init_enter(&only)) {
        const gchar *path = g_getenv("LIVE_CLOCK");
        const int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        void *map = mmap(NULL, 2 * sizeof(guint64), PROT_READ, MAP_SHARED, file, 0);

        if (map == MAP_FAILED)
            g_error("LIVE_CLOCK is '%s', expected a file of 16 bytes", path ? path : "");
        close(file);
        g_once_init_leave(&only, (gsize) map);
    }
    return (const guint64 *) only;
}

static GstClockTime get_time(GstClock *clock)
{
    return GST_CLOCK_CLASS(test_clock_parent_class)->get_internal_time(clock) +
        __atomic_load_n(get_more(), __ATOMIC_RELAXED);
}

static void test_clock_class_init(TestClockClass *class)
{
    GST_CLOCK_CLASS(class)->get_internal_time = get_time;
}

static void test_clock_init(TestClock *clock)
{
}

gint64 __wrap_g_get_real_time(void)
{
    return __real_g_get_real_time() + (gint64) __atomic_load_n(get_more() + 1, __ATOMIC_RELAXED);
}

/* One for the whole program, as the system's is. */
GstClock *__wrap_gst_system_clock_obtain(void)
{
    static gsize only;

    if (g_once_init_enter(&only))
        g_once_init_leave(&only, (gsize) g_object_new(test_clock_get_type(), NULL));
    return gst_object_ref(GST_OBJECT(only));
}
