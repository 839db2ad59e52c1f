import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRng, randomSeed } from './rng.ts';

const take = (seed: number, count: number): number[] => {
  const rng = createRng(seed);
  return Array.from({ length: count }, () => rng.next());
};

describe('createRng', () => {
  it('gives the same sequence for the same seed, on every machine and in every release', () => {
    const rng = createRng(42);
    expect(Array.from({ length: 4 }, () => rng.integer(0, 999))).toMatchInlineSnapshot(`
      [
        353,
        63,
        479,
        341,
      ]
    `);
    expect(take(7, 20)).toEqual(take(7, 20));
  });

  it('gives different sequences for neighbouring seeds', () => {
    expect(take(1, 4)).not.toEqual(take(2, 4));
  });

  it('stays inside the bounds it was given and reaches both ends', () => {
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: -1000, max: 1000 }), fc.nat({ max: 3 }), (seed, min, span) => {
        const rng = createRng(seed);
        const seen = new Set(Array.from({ length: 200 }, () => rng.integer(min, min + span)));
        expect([...seen].sort((x, y) => x - y)).toEqual(Array.from({ length: span + 1 }, (_, i) => min + i));
      }),
    );
  });

  it('spreads evenly: each of ten buckets gets a tenth of 100,000 draws, to within 3 %', () => {
    const buckets = Array.from({ length: 10 }, () => 0);
    for (const value of take(3, 100_000)) buckets[Math.floor(value * 10)]! += 1;
    for (const count of buckets) expect(Math.abs(count - 10_000)).toBeLessThan(300);
  });

  it('forks streams that do not depend on earlier draws', () => {
    const fresh = createRng(5);
    const used = createRng(5);
    used.next();
    expect(used.fork('disk').next()).toBe(fresh.fork('disk').next());
    expect(fresh.fork('disk').next()).not.toBe(fresh.fork('net').next());
  });

  it('forks different streams of neighbouring seeds, whatever short labels they have', () => {
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const forks = new Map<number, string>();
        for (let offset = 0; offset < 64; offset++)
          for (let label = 0; label < 20; label++) {
            const fork = createRng(seed + offset).fork(String(label));
            forks.set(fork.seed, `${offset} ${label}`);
          }
        // Of 1280 numbers of 32 bits two are the same once in 5000 times.
        expect(forks.size).toBeGreaterThan(1277);
      }),
    );
  });

  it('forks the same stream in every release', () => {
    expect([createRng(101).fork('1').seed, createRng(102).fork('2').seed, createRng(5).fork('disk').fork('0').seed]).toMatchInlineSnapshot(`
      [
        3270551329,
        455948756,
        409003778,
      ]
    `);
  });

  it('refuses to pick from nothing', () => {
    expect(() => createRng(1).pick([])).toThrow(RangeError);
  });

  it('accepts the seed that randomSeed returns', () => {
    const seed = randomSeed();
    expect(createRng(seed).seed).toBe(seed);
  });
});
