/** The location of the built package; `BENCH_LIB` measures another build. */
export const libRoot = new URL(`${process.env['BENCH_LIB'] ?? '../dist'}/`, import.meta.url);
