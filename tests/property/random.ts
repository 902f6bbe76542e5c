// tests/property/random.ts — chance that can be repeated: the same seed makes the same choices.

export interface Random {
  /** A whole number from `low` to `high`, both included. */
  integer(low: number, high: number): number
  /** True once in `times`. */
  oneIn(times: number): boolean
  pick<T>(from: readonly T[]): T
  many<T>(count: number, make: (index: number) => T): T[]
}

/** Mulberry32. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const integer = (low: number, high: number) => low + Math.floor(next() * (high - low + 1))
  return {
    integer,
    oneIn: (times) => integer(1, times) === 1,
    pick: (from) => from[integer(0, from.length - 1)]!,
    many: (count, make) => Array.from({ length: count }, (_, index) => make(index)),
  }
}
