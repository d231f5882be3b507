// SPDX-License-Identifier: MIT
// Device memory, streams, events and graphs. A stream is a list of closures
// that run as late as the program allows: when it synchronises. So a host that
// reads a result too early, or a stream that waits for no event, is found out.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "emu.h"
#include "warm.h"
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, bytes)
#define ASAN_UNPOISON_MEMORY_REGION(p, bytes)
#endif

using namespace emu;
using op = std::function<void()>;

static std::recursive_mutex mutex;
#define LOCK const std::lock_guard<std::recursive_mutex> lock(mutex)

static size_t setting(const char *name, size_t otherwise)
{
    const char *s = getenv(name);
    return s && *s ? strtoull(s, nullptr, 0) : otherwise;
}

// ---- errors: each is delivered once, by the first call that may report it

static cudaError_t last_error, late_error; // late: of work that ran in a queue
static int draining;

cudaError_t emu::set_error(cudaError_t error)
{
    cudaError_t &e = draining ? late_error : last_error;
    if (error && !e)
        e = error;
    return error;
}

static cudaError_t delivered(cudaError_t &e) { return std::exchange(e, cudaSuccess); }
cudaError_t cudaGetLastError(void) { LOCK; return delivered(last_error); }
cudaError_t cudaPeekAtLastError(void) { LOCK; return last_error; }

#define CASE_NAME(name, value, text) case value: return #name;
#define CASE_TEXT(name, value, text) case value: return text;
const char *cudaGetErrorName(cudaError_t error)
{
    switch (error) { EMU_ERRORS(CASE_NAME) }
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) { EMU_ERRORS(CASE_TEXT) }
    return "unrecognized error code";
}

// ---- memory: every allocation ends at a page that faults, and no address is used twice

struct arena {
    size_t reserved = 256ul << 30;
    char *base = (char *) mmap(nullptr, reserved, PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char *next = base + PAGE;
    std::deque<memory> all;
    std::vector<memory *> page_owner;
    bool has(const void *p) const { return (size_t) ((const char *) p - base) < reserved; }
};
static arena device, pinned;
static std::set<memory *> live_device; // accessible only while the device works
static size_t device_used;
static const size_t device_total = setting("EMU_MEMORY", 8ul << 30);

bool emu::in_arena(const void *p) { return device.has(p) || pinned.has(p); }

const memory *emu::owner(const void *p)
{
    const arena &a = device.has(p) ? device : pinned;
    const size_t page = ((const char *) p - a.base) / PAGE;
    return page < a.page_owner.size() ? a.page_owner[page] : nullptr;
}

bool emu::inside(const void *p, size_t bytes)
{
    const memory *m = in_arena(p) ? owner(p) : nullptr;
    return m && m->live && p >= m->begin && (const char *) p + bytes <= m->begin + m->bytes;
}

std::string emu::describe(const void *p)
{
    const memory *m = in_arena(p) ? owner(p) : nullptr;
    if (!m)
        return "no device memory";
    const ptrdiff_t at = (const char *) p - m->begin, over = at - (ptrdiff_t) m->bytes;
    const std::string where = over >= 0 ? std::to_string(over) + " bytes past the end of "
                              : at < 0  ? std::to_string(-at) + " bytes ahead of "
                                        : "byte " + std::to_string(at) + " of ";
    return where + (m->live ? "" : "freed ") + (m->pinned ? "pinned" : "device") + " memory of " +
           std::to_string(m->bytes) + " bytes";
}

enum { LARGE = 4 << 20 };

static void *allocate(arena &a, size_t bytes)
{
    const size_t rounded = (bytes + 255) & -(size_t) 256,
                 mapped = (rounded + PAGE - 1) & -(size_t) PAGE;
    a.all.push_back(
        { a.next + mapped - rounded, a.next, bytes, mapped, true, &a == &pinned, nullptr, nullptr });
    memory *m = &a.all.back();
    m->context = current();
    a.next += mapped + PAGE;
    a.page_owner.resize((a.next - a.base) / PAGE, m);
    mprotect(m->map, mapped, PROT_READ | PROT_WRITE);
    if (mapped >= LARGE) // the fewer pages, the quicker is access given and taken
        madvise(m->map, mapped, MADV_HUGEPAGE);
    if (!plans()) // else numbers that never come are zeros
        memset(m->map, 0xff, mapped); // NaN in every float type; in the slack it shows writes
    ASAN_POISON_MEMORY_REGION(m->map, mapped);
    ASAN_UNPOISON_MEMORY_REGION(m->begin, bytes);
    m->shadow = mmap(nullptr, shadow_bytes(bytes), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!m->pinned) {
        live_device.insert(m);
        device_used += bytes;
        if (!draining)
            mprotect(m->map, mapped, PROT_NONE);
    }
    return m->begin;
}

// Of slack, which was filled when it was taken; nullptr: all is as it was.
static const char *find_written(const char *from, const char *to)
{
    while (from < to && *from == (char) 0xff)
        from++;
    return from < to ? from : nullptr;
}

static bool release(arena &a, void *p)
{
    memory *m = a.has(p) ? (memory *) owner(p) : nullptr;
    if (!m || !m->live || p != m->begin)
        return false;
    mprotect(m->map, m->mapped, PROT_READ);
    ASAN_UNPOISON_MEMORY_REGION(m->map, m->mapped);
    const char *written = plans() ? nullptr : find_written(m->map, m->begin);
    if (!written && !plans())
        written = find_written(m->begin + m->bytes, m->map + m->mapped);
    if (written)
        finding(nullptr, "someone wrote %s", describe(written).c_str());
    mprotect(m->map, m->mapped, PROT_NONE);
    madvise(m->map, m->mapped, MADV_DONTNEED);
    munmap(m->shadow, shadow_bytes(m->bytes));
    m->live = false;
    if (live_device.erase(m))
        device_used -= m->bytes;
    return true;
}

// While one of these lives the device may touch its memory, else nobody.
struct device_access {
    device_access()
    {
        for (memory *m : live_device)
            if (!draining)
                mprotect(m->map, m->mapped, PROT_READ | PROT_WRITE);
        draining++;
    }
    ~device_access()
    {
        if (!--draining)
            mprotect(device.base, device.next - device.base, PROT_NONE);
    }
};

// ---- streams

struct CUgraph_st {
    std::vector<op> ops;
    int overlaps; // of the launches among them
    cudaStream_t origin;
    cudaStreamCaptureMode mode;
    bool invalid;
    unsigned number = 0; // among all captures
};
struct CUgraphExec_st {
    std::vector<op> ops;
    unsigned number;
};
struct CUstream_st {
    bool blocking = true; // orders itself with the legacy stream
    bool legacy = false;
    CUcontext context = current();
    std::deque<op> queue;
    CUgraph_st *capture = nullptr;
    size_t captured = 0,
           joined = 0; // operations since it joined the capture; of these, waited for by others
};
struct event_state {
    cudaStream_t stream = nullptr;
    uint64_t recorded = 0, done = 0;
    timespec when;
    CUgraph_st *capture = nullptr;
    size_t captured = 0;
};
struct CUevent_st {
    bool timed;
    std::shared_ptr<event_state> state = std::make_shared<event_state>();
};

static std::map<CUcontext, CUstream_st> legacies; // the default stream of each
static std::set<CUstream_st *> streams;
static std::set<CUgraph_st *> captures;

static CUstream_st &legacy_of(CUcontext context)
{
    CUstream_st &s = legacies[context];
    s.legacy  = true;
    s.context = context;
    return s;
}

static CUstream_st &stream_of(cudaStream_t s)
{
    return s <= cudaStreamPerThread ? legacy_of(current()) : *s;
}

template <class F> static void drain(CUstream_st &s, F enough)
{
    if (s.queue.empty())
        return;
    const device_access access;
    while (!s.queue.empty() && !enough()) {
        const op next = std::move(s.queue.front());
        s.queue.pop_front();
        next();
    }
}

static void drain(CUstream_st &s) { drain(s, [] { return false; }); }

static void drain_blocking(CUcontext context)
{
    for (CUstream_st *s : streams)
        if (s->blocking && s->context == context)
            drain(*s);
}

static void drain_all()
{
    for (CUstream_st *s : streams)
        drain(*s);
    for (auto &s : legacies)
        drain(s.second);
}

void emu::release_all(CUcontext context)
{
    LOCK;
    drain_all();
    std::vector<memory *> its;
    for (memory *m : live_device)
        if (m->context == context)
            its.push_back(m);
    for (memory *m : its)
        release(device, m->begin);
    for (memory &m : pinned.all)
        if (m.live && m.context == context)
            release(pinned, m.begin);
    for (auto s = streams.begin(); s != streams.end();)
        if ((*s)->context == context) {
            delete *s;
            s = streams.erase(s);
        } else {
            s++;
        }
}

static cudaError_t spoil(CUgraph_st *capture, cudaError_t error)
{
    capture->invalid = true;
    return set_error(error);
}

// What may not be done while a capture is under way, unless that is a relaxed one.
static cudaError_t not_in_capture()
{
    for (CUgraph_st *g : captures)
        if (g->mode != cudaStreamCaptureModeRelaxed)
            return spoil(g, cudaErrorStreamCaptureUnsupported);
    return cudaSuccess;
}

cudaError_t emu::enqueue(cudaStream_t stream, op next)
{
    LOCK;
    CUstream_st &s = stream_of(stream);
    if (s.context != current())
        return set_error(cudaErrorInvalidResourceHandle);
    if (s.capture) {
        if (s.capture->invalid)
            return set_error(cudaErrorStreamCaptureInvalidated);
        s.captured++;
        s.capture->ops.push_back(std::move(next));
        return cudaSuccess;
    }
    if (s.legacy) {
        for (CUstream_st *other : streams)
            if (other->blocking && other->context == s.context && other->capture)
                return spoil(other->capture, cudaErrorStreamCaptureImplicit);
        drain_blocking(s.context);
    } else if (s.blocking) {
        drain(legacy_of(s.context));
    }
    s.queue.push_back(std::move(next));
    return cudaSuccess;
}

static cudaError_t synchronise(CUstream_st &s)
{
    if (s.capture)
        return spoil(s.capture, cudaErrorStreamCaptureUnsupported);
    if (s.legacy)
        drain_blocking(s.context);
    drain(s);
    return delivered(late_error);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    LOCK;
    *stream = new CUstream_st;
    (*stream)->blocking = !(flags & cudaStreamNonBlocking);
    streams.insert(*stream);
    return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *stream) { return cudaStreamCreateWithFlags(stream, 0); }

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    LOCK;
    if (!streams.count(stream))
        return set_error(cudaErrorInvalidResourceHandle);
    drain(*stream);
    streams.erase(stream);
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    LOCK;
    return synchronise(stream_of(stream));
}

cudaError_t cudaDeviceSynchronize(void)
{
    LOCK;
    if (cudaError_t e = not_in_capture())
        return e;
    drain_all();
    return delivered(late_error);
}

cudaError_t cudaStreamQuery(cudaStream_t stream) // each call lets one operation happen
{
    LOCK;
    CUstream_st &s = stream_of(stream);
    if (s.capture)
        return spoil(s.capture, cudaErrorStreamCaptureUnsupported);
    bool ran = false;
    drain(s, [&ran] { return std::exchange(ran, true); });
    return s.queue.empty() ? delivered(late_error) : cudaErrorNotReady;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *priv)
{
    return enqueue(stream, [fn, priv] { fn(priv); });
}

// ---- events

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    *event = new CUevent_st { !(flags & cudaEventDisableTiming) };
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) { delete event; return cudaSuccess; }

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    LOCK;
    CUstream_st &s = stream_of(stream);
    const auto e = event->state;
    e->stream   = &s;
    e->capture  = s.capture;
    e->captured = s.captured;
    if (s.capture)
        return cudaSuccess;
    const uint64_t turn = ++e->recorded;
    return enqueue(stream, [e, turn] {
        e->done = turn;
        clock_gettime(CLOCK_MONOTONIC, &e->when);
    });
}

static void run_until(event_state &e, uint64_t turn)
{
    if (e.done < turn)
        drain(*e.stream, [&] { return e.done >= turn; });
}

static cudaError_t captured(const event_state &e) // an event of a capture tells the host nothing
{
    return captures.count(e.capture) ? spoil(e.capture, cudaErrorCapturedEvent)
                                     : set_error(cudaErrorCapturedEvent);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    LOCK;
    event_state &e = *event->state;
    if (e.capture)
        return captured(e);
    run_until(e, e.recorded);
    return delivered(late_error);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    LOCK;
    event_state &e = *event->state;
    if (e.capture)
        return captured(e);
    if (e.done < e.recorded)
        cudaStreamQuery(e.stream);
    return e.done < e.recorded ? cudaErrorNotReady : delivered(late_error);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    LOCK;
    const event_state &a = *start->state, &b = *end->state;
    if (!start->timed || !end->timed || !a.recorded || !b.recorded)
        return set_error(cudaErrorInvalidResourceHandle);
    *ms = 1e3f * (b.when.tv_sec - a.when.tv_sec) + 1e-6f * (b.when.tv_nsec - a.when.tv_nsec);
    return a.done < a.recorded || b.done < b.recorded ? cudaErrorNotReady : cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
    LOCK;
    CUstream_st &s = stream_of(stream);
    const auto e = event->state;
    if (e->capture) { // s joins the capture, or waits there for another of its streams
        if (!captures.count(e->capture))
            return captured(*e);
        if (s.capture && s.capture != e->capture)
            return spoil(s.capture, cudaErrorStreamCaptureIsolation);
        if (!s.capture)
            s.captured = s.joined = 0;
        s.capture = e->capture;
        e->stream->joined = std::max(e->stream->joined, e->captured);
        return cudaSuccess;
    }
    if (s.capture && e->recorded)
        return spoil(s.capture, cudaErrorStreamCaptureIsolation);
    const uint64_t turn = e->recorded;
    return e->done >= turn ? cudaSuccess : enqueue(stream, [e, turn] { run_until(*e, turn); });
}

// ---- graphs

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode)
{
    LOCK;
    CUstream_st &s = stream_of(stream);
    if (s.legacy || s.capture)
        return set_error(s.legacy ? cudaErrorStreamCaptureUnsupported : cudaErrorIllegalState);
    static unsigned captures_begun;
    s.capture = new CUgraph_st { {}, 0, stream, mode, false, captures_begun++ };
    captures.insert(s.capture);
    plan("capture %u", s.capture->number);
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *status)
{
    LOCK;
    const CUgraph_st *g = stream_of(stream).capture;
    *status = !g           ? cudaStreamCaptureStatusNone
              : g->invalid ? cudaStreamCaptureStatusInvalidated
                           : cudaStreamCaptureStatusActive;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    LOCK;
    CUgraph_st *g = stream_of(stream).capture;
    *graph = nullptr;
    if (!g)
        return set_error(cudaErrorIllegalState);
    if (g->origin != stream)
        return spoil(g, cudaErrorStreamCaptureUnmatched);
    cudaError_t error = g->invalid ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
    for (CUstream_st *s : streams) {
        if (s->capture != g)
            continue;
        if (s != stream && s->joined < s->captured && !error)
            error = cudaErrorStreamCaptureUnjoined;
        s->capture = nullptr;
    }
    captures.erase(g);
    plan("captured %zu", g->ops.size());
    if (error)
        delete g;
    else
        *graph = g;
    return set_error(error);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long)
{
    *exec = new CUgraphExec_st { graph->ops, graph->number };
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    LOCK;
    plan("replay %u", exec->number);
    for (const op &o : exec->ops)
        if (cudaError_t e = enqueue(stream, o))
            return e;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) { delete exec; return cudaSuccess; }
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { delete graph; return cudaSuccess; }

// ---- allocation and copies

static cudaError_t new_memory(arena &a, void **p, size_t bytes)
{
    LOCK;
    *p = nullptr;
    if (cudaError_t e = not_in_capture())
        return e;
    if (&a == &device && bytes > device_total - device_used)
        return set_error(cudaErrorMemoryAllocation);
    *p = bytes ? allocate(a, bytes) : nullptr;
    return cudaSuccess;
}

static cudaError_t free_memory(arena &a, void *p)
{
    LOCK;
    if (cudaError_t e = not_in_capture())
        return e;
    if (!p)
        return cudaSuccess;
    drain_all();
    return release(a, p) ? delivered(late_error) : set_error(cudaErrorInvalidValue);
}

cudaError_t cudaMalloc(void **p, size_t bytes) { return new_memory(device, p, bytes); }
cudaError_t cudaFree(void *p) { return free_memory(device, p); }
cudaError_t cudaMallocHost(void **p, size_t bytes) { return new_memory(pinned, p, bytes); }
cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned) { return new_memory(pinned, p, bytes); }
cudaError_t cudaFreeHost(void *p) { return free_memory(pinned, p); }

cudaError_t cudaMallocAsync(void **p, size_t bytes, cudaStream_t stream)
{
    LOCK;
    return stream_of(stream).capture ? set_error(cudaErrorNotSupported)
                                     : new_memory(device, p, bytes);
}

cudaError_t cudaFreeAsync(void *p, cudaStream_t stream)
{
    return enqueue(
        stream, [p] { set_error(!p || release(device, p) ? cudaSuccess : cudaErrorInvalidValue); });
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
    LOCK;
    *total = device_total;
    *free  = device_total - device_used;
    return cudaSuccess;
}

__thread bool emu_is_idle;
static struct emu_copied copied; // counted when asked for
struct emu_copied emu_copied(void) { LOCK; return copied; }

static cudaError_t copy(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                        size_t height, cudaMemcpyKind kind, cudaStream_t stream, bool wait)
{
    LOCK;
    CUstream_st &s = stream_of(stream);
    if (!width || !height)
        return cudaSuccess;
    const bool to   = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if ((kind != cudaMemcpyDefault && (to != device.has(dst) || from != device.has(src))) ||
        width > dpitch || width > spitch ||
        (in_arena(dst) && !inside(dst, (height - 1) * dpitch + width)) ||
        (in_arena(src) && !inside(src, (height - 1) * spitch + width)))
        return set_error(cudaErrorInvalidValue);

    size_t none = 0, &count = !device.has(dst) ? device.has(src) ? copied.to_host : none
                          : device.has(src) ? copied.within
                                            : copied.to_device;
    count += width * height;

    if (plans()) {
        plan("copy %zu", width * height);
        return enqueue(stream, [] {});
    }

    // Memory that is not pinned is staged: read, or written, before the call returns.
    std::shared_ptr<std::vector<char>> stage;
    if (!in_arena(src) && !s.capture) {
        stage = std::make_shared<std::vector<char>>(width * height);
        for (size_t y = 0; y < height; y++)
            memcpy(stage->data() + y * width, (const char *) src + y * spitch, width);
    }
    const bool is_result = device.has(src) && !device.has(dst);
    const cudaError_t e = enqueue(stream, [=] {
        for (size_t y = 0; y < height && emu_is_idle && is_result; y++)
            memset((char *) dst + y * dpitch, 0, width);
        for (size_t y = 0; y < height && !(emu_is_idle && is_result); y++)
            memmove((char *) dst + y * dpitch,
                    stage ? stage->data() + y * width : (const char *) src + y * spitch, width);
    });
    return !e && (wait || (!in_arena(dst) && !s.capture)) ? synchronise(s) : e;
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind)
{
    return copy(dst, bytes, src, bytes, bytes, 1, kind, nullptr, true);
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    return copy(dst, bytes, src, bytes, bytes, 1, kind, stream, false);
}

cudaError_t cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                         size_t height, cudaMemcpyKind kind)
{
    return copy(dst, dpitch, src, spitch, width, height, kind, nullptr, true);
}

cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
                              size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream)
{
    return copy(dst, dpitch, src, spitch, width, height, kind, stream, false);
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t bytes,
                                    size_t offset, cudaMemcpyKind, cudaStream_t stream)
{
    const std::string value((const char *) src, bytes); // as of memory that is not pinned
    return enqueue(stream, [=] { memcpy((char *) symbol + offset, value.data(), bytes); });
}

cudaError_t cudaMemsetAsync(void *dst, int value, size_t bytes, cudaStream_t stream)
{
    LOCK;
    if (bytes && !inside(dst, bytes))
        return set_error(cudaErrorInvalidValue);
    plan("set %zu", bytes);
    return enqueue(stream, [=] {
        if (!plans())
            memset(dst, value, bytes);
    });
}

cudaError_t cudaMemset(void *dst, int value, size_t bytes)
{
    return cudaMemsetAsync(dst, value, bytes, nullptr);
}

// ---- the device and launches

static const int sm = (int) setting("EMU_SM", 90), sms = (int) setting("EMU_SMS", 4);
static const int built = 13000, driver = (int) setting("EMU_DRIVER", built);
static const size_t most_shared = sm == 80 ? 163 << 10 : sm < 90 ? 99 << 10 : MAX_SHARED;
static std::map<const void *, size_t> allowed_shared;

size_t emu::shared_limit(const void *kernel)
{
    return std::max<size_t>(48 << 10, allowed_shared.count(kernel) ? allowed_shared[kernel] : 0);
}

cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute attr, int value)
{
    LOCK;
    if (attr == cudaFuncAttributeMaxDynamicSharedMemorySize) {
        if (value < 0 || (size_t) value > most_shared)
            return set_error(cudaErrorInvalidValue);
        allowed_shared[kernel] = value;
    }
    return cudaSuccess;
}

static std::set<const void *> loaded;
static int late_loads;
int emu_late_loads(void) { LOCK; return late_loads; }

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attr, const void *kernel)
{
    LOCK;
    *attr = {};
    attr->maxThreadsPerBlock = MAX_THREADS;
    attr->ptxVersion = sm;
    loaded.insert(kernel);
    return cudaSuccess;
}

int emu_overlaps(cudaGraph_t graph) { LOCK; return graph->overlaps; }

cudaError_t emu::submit(const launch &l, cudaStream_t stream)
{
    LOCK;
    if (CUgraph_st *g = stream_of(stream).capture)
        g->overlaps += l.overlaps;
    late_loads += loaded.insert(l.kernel).second;
    const dim3 &g = l.grid, &b = l.block;
    const uint64_t threads = (uint64_t) b.x * b.y * b.z;
    if (threads < 1 || threads > MAX_THREADS || b.x > 1024 || b.y > 1024 || b.z > 64 || !g.x ||
        g.x > 0x7fffffff || !g.y || g.y > 65535 || !g.z || g.z > 65535)
        return set_error(cudaErrorInvalidConfiguration);
    if (l.shared > shared_limit(l.kernel))
        return set_error(cudaErrorInvalidValue);
    if (plans()) {
        plan_launch(l);
        return enqueue(stream, [] {});
    }
    return enqueue(stream, [l, context = current()] {
        if (emu_is_idle)
            return;
        // An address space each: what belongs to another context is not there.
        const auto allow = [context](int access) {
            for (memory *m : live_device)
                if (m->context != context)
                    mprotect(m->map, m->mapped, access);
        };
        allow(PROT_NONE);
        run_grid(l);
        allow(PROT_READ | PROT_WRITE);
    });
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = (int) setting("EMU_DEVICES", 1);
    return *count ? cudaSuccess : set_error(driver < built ? cudaErrorInsufficientDriver
                                                           : cudaErrorNoDevice);
}

cudaError_t cudaDriverGetVersion(int *version) { *version = driver; return cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int *version) { *version = built; return cudaSuccess; }
cudaError_t cudaGetDevice(int *which) { *which = 0; return cudaSuccess; }
cudaError_t cudaSetDevice(int which)
{
    return which ? set_error(cudaErrorInvalidDevice) : cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *prop, int which)
{
    *prop = {};
    snprintf(prop->name, sizeof(prop->name), "emulated sm_%d", sm);
    prop->major                      = sm / 10;
    prop->minor                      = sm % 10;
    prop->totalGlobalMem             = device_total;
    prop->sharedMemPerBlock          = 48 << 10;
    prop->sharedMemPerBlockOptin     = most_shared;
    prop->sharedMemPerMultiprocessor = most_shared + 1024;
    prop->multiProcessorCount        = sms;
    prop->maxThreadsPerBlock         = MAX_THREADS;
    prop->warpSize                   = 32;
    prop->regsPerBlock               = 65536;
    prop->l2CacheSize                = 4 << 20;
    prop->unifiedAddressing          = 1;
    return cudaSetDevice(which);
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attr, int which)
{
    switch (attr) {
    case cudaDevAttrMaxThreadsPerBlock:           *value = MAX_THREADS; break;
    case cudaDevAttrMaxSharedMemoryPerBlock:      *value = 48 << 10; break;
    case cudaDevAttrMultiProcessorCount:          *value = sms; break;
    case cudaDevAttrComputeCapabilityMajor:       *value = sm / 10; break;
    case cudaDevAttrComputeCapabilityMinor:       *value = sm % 10; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = (int) most_shared; break;
    default:                                      return set_error(cudaErrorInvalidValue);
    }
    return cudaSetDevice(which);
}

cudaError_t cudaDeviceReset(void)
{
    LOCK;
    drain_all();
    last_error = late_error = cudaSuccess;
    return cudaSuccess;
}
