import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { evictionLine, parseEvictionLine } from './eviction-line.ts';
import type { Place, PlaceId } from './place.ts';

const GiB = 2 ** 30;
const place = (id: PlaceId, isOnNodeDisk: boolean): Place => ({ id, isOnNodeDisk, title: '', survivesPod: 'no', why: '' });
const disk = { totalBytes: 100 * GiB, totalInodes: 1000, hasImageDisk: false };

describe('parseEvictionLine', () => {
  it.each([
    ['auto', { kind: 'auto' }],
    ['none', { kind: 'none' }],
    ['10%', { kind: 'share', share: 0.1 }],
    ['7.5 %', { kind: 'share', share: 0.075 }],
    ['8GiB', { kind: 'bytes', bytes: 8 * GiB }],
    ['500Mi', { kind: 'bytes', bytes: 500 * 2 ** 20 }],
  ])('reads %s', (text, value) => {
    expect(parseEvictionLine(text)).toEqual({ ok: true, value });
  });

  it.each(['', '10', '-5%', '100%', 'ten', '8 apples'])('refuses "%s" with the rule', (text) => {
    expect(parseEvictionLine(text)).toMatchObject({ ok: false, reason: expect.stringContaining('the line is auto, none, a share') });
  });
});

describe('parseEvictionLine, for all texts', () => {
  it('gives a line or a reason, and reads back any share', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const read = parseEvictionLine(text);
        expect(read.ok ? 'line' : read.reason).not.toBe('');
      }),
    );
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 99 }), (percent) => {
        expect(parseEvictionLine(`${percent}%`)).toEqual({ ok: true, value: { kind: 'share', share: percent / 100 } });
      }),
    );
  });
});

describe('evictionLine', () => {
  it('is 10 % of the disk and 5 % of its inodes by default, on the disk of a node', () => {
    expect(evictionLine({ kind: 'auto' }, { place: place('empty-dir', true), ...disk })).toEqual({
      signal: 'nodefs.available',
      bytes: 10 * GiB,
      inodes: 50,
      text: '10 %',
    });
  });

  it('is 15 % for the layer of a container if images have their own disk', () => {
    const line = evictionLine({ kind: 'auto' }, { place: place('container-layer', true), ...disk, hasImageDisk: true });
    expect(line).toMatchObject({ signal: 'imagefs.available', bytes: 15 * GiB });
  });

  it('is off by default outside the disk of the node, but can be set anywhere', () => {
    const volume = { place: place('volume', false), ...disk };
    expect(evictionLine({ kind: 'auto' }, volume)).toBeNull();
    expect(evictionLine({ kind: 'share', share: 0.2 }, volume)).toMatchObject({ bytes: 20 * GiB, text: '20 %' });
    expect(evictionLine({ kind: 'bytes', bytes: GiB }, volume)).toMatchObject({ bytes: GiB, text: '1 GiB' });
  });

  it('can be switched off', () => {
    expect(evictionLine({ kind: 'none' }, { place: place('empty-dir', true), ...disk })).toBeNull();
  });
});
