// SPDX-License-Identifier: MIT
// The emulated side of cuda/hopper.cuh.
#ifndef EMU_HOPPER_H
#define EMU_HOPPER_H

#include "cuda.h"
#include "emu.h"

inline uint32_t shared_address(const void *p) { return emu::shared_address(p); }

inline void mbarrier_init(uint64_t *b, int arrivals, EMU_SITE)
{
    emu::mbarrier_init(b, arrivals, file, line);
}
inline void mbarrier_arrive(uint64_t *b, EMU_SITE) { emu::mbarrier_arrive(b, 0, file, line); }
inline void mbarrier_arrive_expect(uint64_t *b, int bytes, EMU_SITE)
{
    emu::mbarrier_arrive(b, bytes, file, line);
}
inline bool mbarrier_try_wait(uint64_t *b, unsigned parity, EMU_SITE)
{
    return emu::mbarrier_try_wait(b, parity, file, line);
}
inline void fence_proxy_async() { emu::fence_proxy(emu::self); }

inline void tensor_copy(void *dst, const CUtensorMap *map, int x, int y, int z, uint64_t *b,
                        EMU_SITE)
{
    const int at[] = { x, y, z };
    emu::tensor_copy(dst, map, at, 3, b, file, line);
}

template <int N> void registers_shrink() { static_assert(N % 8 == 0 && N >= 24 && N <= 256); }
template <int N> void registers_grow() { static_assert(N % 8 == 0 && N >= 24 && N <= 256); }

inline void wgmma_fence(EMU_SITE) { emu::wgmma_fence(file, line); }
template <class T, int N> void wgmma_ready(T (&)[N]) {}
inline void wgmma_commit() { emu::wgmma_commit(); }
template <int PENDING, int N> void wgmma_wait(float (&)[N]) { emu::wgmma_wait(PENDING); }

inline void wgmma_m64n128k16(float (&d)[64], uint64_t a, uint64_t b, bool add, EMU_SITE)
{
    emu::wgmma({ d, 128, nullptr, a, b, add, false, false }, file, line);
}
inline void wgmma_m64n64k16(float (&d)[32], uint64_t a, uint64_t b, bool add, EMU_SITE)
{
    emu::wgmma({ d, 64, nullptr, a, b, add, false, false }, file, line);
}
inline void wgmma_m64n64k16(float (&d)[32], const uint32_t *a, uint64_t b, EMU_SITE)
{
    emu::wgmma({ d, 64, a, 0, b, true, false, true }, file, line);
}
inline void wgmma_m64n80k16(float (&d)[40], const uint32_t *a, uint64_t b, EMU_SITE)
{
    emu::wgmma({ d, 80, a, 0, b, true, false, true }, file, line);
}
inline void wgmma_m64n96k16(float (&d)[48], const uint32_t *a, uint64_t b, EMU_SITE)
{
    emu::wgmma({ d, 96, a, 0, b, true, false, true }, file, line);
}
inline void wgmma_m64n256k16(float (&d)[128], const uint32_t *a, uint64_t b, EMU_SITE)
{
    emu::wgmma({ d, 256, a, 0, b, true, false, true }, file, line);
}

#endif // EMU_HOPPER_H
